"""Tests of the words of pictures: all are translated and used; Portuguese pictures have no English and no point."""

import ast
import re
from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text

from atenta import (
    AtentaDecoderConfig,
    AtentaEncoderDecoderModel,
    AtentaPairVotesConfig,
    AtentaPairVotesForCausalLM,
    AtentaTokenizer,
)
from atenta.recipes import pictures
from atenta.recipes.decoding.steps import Candidate, DecodingStep, Finished, Hypothesis
from atenta.recipes.measure_gender import Noun, draw_gender
from atenta.recipes.metrics import METRICS
from atenta.recipes.pictures.attention_maps import AttentionMap, draw_attention, draw_heads, draw_masks
from atenta.recipes.pictures.decoding_charts import draw_decoding
from atenta.recipes.pictures.drawing import draw_heatmap, set_decimal_signs
from atenta.recipes.pictures.position_maps import draw_positions
from atenta.recipes.pictures.run_charts import (
    draw_confusion,
    draw_learning_curve,
    draw_learning_curves,
    draw_reliability,
    draw_scores_by_length,
)
from atenta.recipes.pictures.votes import draw_votes
from atenta.recipes.pictures.words import PORTUGUESE, say, say_name, say_number, set_language
from atenta.recipes.source_metrics import SOURCE_METRICS
from support.models import tiny_config, tiny_model

PICTURES = Path(pictures.__file__).parent
WORDS = PICTURES / "words.py"
HISTORY = [
    {"step": 10, "loss": 3.0},
    {"step": 20, "loss": 0.02},
    {"step": 10, "eval_loss": 2.5, "eval_word_accuracy": 0.5},
    {"step": 20, "eval_loss": 0.15, "eval_word_accuracy": 0.75},
]
BY_LENGTH = {
    "1–20": {"texts": 92462, "model": {"exact_match": 0.5}, "most frequent": {"exact_match": 0.25}},
    "21–40": {"texts": 7, "model": {"exact_match": 0.75}, "most frequent": {"exact_match": 0.5}},
}


def attention_map():
    weights = torch.rand(1, 2, 2, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMap(
        name="cross-attention", weights=weights, query_labels=["a", "."], key_labels=["a", ".", "⟨eos⟩"]
    )


def masks():
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="encoder-decoder")
    model = tiny_model(AtentaEncoderDecoderModel, vocab_size=len(tokenizer))
    return draw_masks(model, tokenizer, ["a", "abc"], ["abc", "a"])


def votes(max_distance=None):
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="decoder")
    config = AtentaPairVotesConfig(vocab_size=len(tokenizer), max_distance=max_distance)
    model = AtentaPairVotesForCausalLM(config).fit([tokenizer(text).input_ids for text in ("abc", "cbc", "bba")])
    return draw_votes(model, tokenizer, "ab", [0.5, 0.25, 1])


def decoding():
    """Draw two steps with two hypotheses, in which each legend occurs."""
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="decoder")
    bos, a, b, c, eos = tokenizer.convert_tokens_to_ids(["<bos>", "a", "b", "c", "<eos>"])
    first = Candidate(a, 0.5, 0.75, -0.3, True), Candidate(b, 0.3, 0.25, -1.4, True), Candidate(c, 0.2, 0.0, -9, False)
    second = Candidate(eos, 0.5, 0.5, -1.0, True), Candidate(b, 0.5, 0.5, -1.0, False)
    steps = [
        DecodingStep(1, (Hypothesis((bos,), 0.0, first),), ()),
        DecodingStep(
            2,
            (Hypothesis((bos, a), -0.3, second), Hypothesis((bos, b), -1.4, second)),
            (Finished((bos, a, eos), -0.5), Finished((bos, b, eos), -0.7)),
        ),
    ]
    return draw_decoding(steps, tokenizer)


# The picture, and the words of its data.
DRAWN = {
    "one head": (lambda: draw_attention(attention_map(), 0, 1), {"⟨eos⟩"}),
    "all heads": (lambda: draw_heads(attention_map(), 0), {"⟨eos⟩"}),
    "masks": (masks, {"⟨bos⟩", "⟨eos⟩", "⟨pad⟩", "“abc”\n"}),
    "positions": (lambda: draw_positions(tiny_config(AtentaDecoderConfig), 9), set()),
    "rotary positions": (
        lambda: draw_positions(tiny_config(AtentaDecoderConfig, position_embedding_type="rotary"), 9),
        set(),
    ),
    "learned positions": (
        lambda: draw_positions(
            tiny_config(AtentaDecoderConfig, position_embedding_type="learned"), 9, torch.ones(9, 8)
        ),
        set(),
    ),
    "votes": (votes, set()),
    "near votes": (lambda: votes(max_distance=1), set()),
    "decoding": (decoding, {"⟨eos⟩", "⟨bos⟩a⟨eos⟩"}),
    "learning curve": (lambda: draw_learning_curve(HISTORY, "word_accuracy"), set()),
    "learning curves": (lambda: draw_learning_curves({"run": HISTORY}, "loss"), {"run"}),
    "scores by length": (lambda: draw_scores_by_length(BY_LENGTH, "exact_match"), set()),
    "reliability": (lambda: draw_reliability([0.4, 0.6, 0.9] * 20, [True, False, True] * 20, "letras"), {"letras"}),
    "gender": (
        lambda: draw_gender({Noun("juiz", "juíza", "two forms"): 1.5, Noun("casa", "casa", "feminine"): -0.5}),
        {"juiz / juíza", "casa"},
    ),
    "confusion": (lambda: draw_confusion(["fra", "por"], ["por", "por"], ["fra", "por"]), {"fra", "por"}),
}


def texts(figure):
    """Return all texts of a figure, those of ticks included."""
    figure.draw_without_rendering()
    return {text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_portuguese_picture_has_no_english_and_no_decimal_point(name, portuguese):
    draw, data = DRAWN[name]
    shown = texts(draw())
    set_language("en")
    english = {text for text in texts(draw()) if "mathdefault" not in text}
    assert {text for text in shown & english if re.search(r"[^\W\d_]{2}", text)} == data
    thousands = {"1–20\n92.462 textos"}
    assert not {text for text in shown - thousands if re.search(r"\d\.\d", text)}
    assert any(re.search(r"\d,\d", text) for text in shown) or name in ("masks", "confusion")


def test_numbers_of_axes_have_commas_and_labels_that_are_texts_do_not(portuguese):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    draw_heatmap(left, torch.zeros(2, 2), ["0.5", "."], ["a", "1.5"])
    right.plot([130, 200], [1.15, 1.25])
    right.set_xscale("log")
    set_decimal_signs(figure)
    figure.draw_without_rendering()
    assert [label.get_text() for label in left.get_yticklabels()] == ["0.5", "."]
    assert [label.get_text() for label in left.get_xticklabels()] == ["a", "1.5"]
    numbers = [label.get_text() for axis in (right.xaxis, right.yaxis) for label in axis.get_ticklabels(which="both")]
    assert not [number for number in numbers if "." in number]
    assert "1,20" in numbers
    assert any("{,}" in number for number in numbers)  # 1,4 × 10²: in a formula a bare comma has a space after it


def test_what_is_said_is_translated_and_what_is_translated_is_said():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PICTURES.parent.rglob("*.py") if path != WORDS]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    said = {
        node.args[0].value
        for node in nodes
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "say"
        and isinstance(node.args[0], ast.Constant)
    }
    said.update(re.findall(r'say\("([^"]+)"\)', (PICTURES / "attention_page.html").read_text(encoding="utf-8")))
    written = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert len(said) > 40
    assert said <= PORTUGUESE.keys() <= said | written


def test_translations_have_the_same_parts_to_fill_in():
    for english, portuguese in PORTUGUESE.items():
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", portuguese))


def test_names_and_numbers_are_those_of_the_language(portuguese):
    with pytest.raises(KeyError, match="new text"):
        say("new text")
    several_figures = {"entity_f1", "squad"}
    names = {name: say_name(name) for name in {*METRICS, *SOURCE_METRICS} - several_figures}
    unnamed = {name for name, portuguese_name in names.items() if portuguese_name == name.replace("_", " ")}
    assert not unnamed, f"{', '.join(unnamed)}: name them in hub/card_words.py"
    assert (say_name("loss"), say_name("macro_f1"), say_name("my_own")) == ("perda", "F1 macro", "my own")
    assert say_number(1234.5, ",.2f") == "1.234,50"
    set_language("en")
    assert say("new text") == "new text"
    assert (say_number(0.5, ".2f"), say_number(92462, ",")) == ("0.50", "92,462")
