"""Tests of the parts that pictures share: readable labels, heatmaps and saving."""

import warnings
from io import BytesIO

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.image import imread
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from atenta import AtentaTokenizer
from atenta.recipes.pictures import drawing
from atenta.recipes.pictures.drawing import (
    draw_heatmap,
    end_of,
    readable_text,
    readable_tokens,
    save_picture,
    start_of,
)

MATRIX = torch.tensor([[0.0, 0.25, 1.0], [0.5, 0.75, 0.125]])


@pytest.fixture
def axes():
    return Figure().subplots()


def texts(labels):
    return [label.get_text() for label in labels]


@pytest.mark.parametrize(
    ("alphabet", "text", "labels"),
    [
        ("Não é", "Não é", [*"Não", "␣", "é"]),
        ("ab\t\n", "a\tb\n", ["a", "⇥", "b", "↵"]),
        ("x\u0303", "x\u0303", ["x", "◌\u0303"]),  # a combining mark
        ("a\u00a0\u200b", "a\u00a0\u200b", ["a", "U+00A0", "U+200B"]),
        ("a", "a<\né", ["a", "<", "↵", "0xC3", "0xA9"]),  # bytes, unless they are a character
        ("a", "<PL>a<mask>", ["⟨PL⟩", "a", "⟨mask⟩"]),
    ],
)
def test_characters_have_visible_labels(alphabet, text, labels):
    tokenizer = AtentaTokenizer.from_texts([alphabet], family="encoder", tags=["<PL>"])
    assert readable_tokens(tokenizer, tokenizer(text).input_ids) == ["⟨bos⟩", *labels, "⟨eos⟩"]


def test_words_are_shown_as_words_texts_of_special_tokens_as_texts_and_long_texts_shortened():
    words = Tokenizer(WordLevel({"[UNK]": 0, "ação": 1, "um dia": 2}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    assert readable_tokens(tokenizer, [1, 2, 0]) == ["ação", "um␣dia", "⟨UNK⟩"]
    tokenizer = AtentaTokenizer.from_texts(["<eos> \n\a"], family="decoder")
    spelled = tokenizer.convert_tokens_to_ids([*"<eos>", " ", "\n", "\a"])
    shown = readable_text(tokenizer, [tokenizer.bos_token_id, *spelled, tokenizer.eos_token_id])
    assert shown == "⟨bos⟩<eos>␣↵U+0007⟨eos⟩"
    assert [(start_of(text, 4), end_of(text, 4)) for text in ("abcd", "abcde")] == [("abcd",) * 2, ("abc…", "…cde")]


def test_a_heatmap_has_values_labels_and_colours(axes):
    labels = {"title": "t", "xlabel": "key", "ylabel": "query"}
    image = draw_heatmap(axes, MATRIX, ["a", "⟨eos⟩"], ["b", "␣", "ação"], **labels, cmap="RdBu", vmin=-1, vmax=2)
    np.testing.assert_array_equal(image.get_array(), MATRIX.numpy())
    assert texts(axes.get_yticklabels()) == ["a", "⟨eos⟩"]
    assert texts(axes.get_xticklabels()) == ["b", "␣", "ação"]
    assert [label.get_rotation() for label in axes.get_xticklabels()] == [0, 0, 90]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("t", "key", "query")
    assert (image.get_cmap().name, image.get_clim()) == ("RdBu", (-1, 2))


def test_every_label_has_glyphs_and_none_is_read_as_a_formula(axes):
    draw_heatmap(axes, MATRIX, ["$x$", "⟨bos⟩"], ["␣↵⇥", "çãéô", "◌\u0303\\alpha"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that its font lacks
        axes.figure.savefig(BytesIO())
    assert not any(label.get_parse_math() for label in [*axes.get_xticklabels(), *axes.get_yticklabels()])


def test_a_large_picture_has_a_lower_resolution(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(drawing, "_MAX_DOTS", 200)
    figure = Figure(figsize=(4, 1))
    figure.subplots().plot([1, 2])
    path = tmp_path / "new" / "picture.png"
    save_picture(figure, path)
    assert capsys.readouterr().out == f"{path}\n"
    _, width, _ = imread(path).shape
    assert 150 < width <= 210  # the margins are not part of the figure
