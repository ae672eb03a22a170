"""The masks that are drawn: padding, what comes later, and who sees what."""

from io import BytesIO

import pytest

from atenta import AtentaTokenizer
from atenta.modeling import AtentaDecoderModel, AtentaEncoderDecoderModel, AtentaEncoderModel
from atenta.recipes.pictures.masks import COLOURS, draw_masks
from support.models import tiny_model

SIGNS = {"seen": "#", "hidden: padding": "_", "hidden: a later character": "."}


def masks(model_class, family, targets=None):
    """Each panel that is drawn for a short text beside a long one, as lines of signs."""
    tokenizer = AtentaTokenizer.from_texts(["abc"], family=family)
    model = tiny_model(model_class, vocab_size=len(tokenizer))
    figure = draw_masks(model, tokenizer, ["a", "abc"], targets)
    signs = [SIGNS[name] for name in COLOURS]
    return [
        (axes.get_title(), ["".join(signs[cell] for cell in row) for row in axes.get_images()[0].get_array()])
        for axes in figure.axes
    ]


def test_an_encoder_hides_padding_alone():
    short, long = masks(AtentaEncoderModel, "encoder")
    assert short == ("self-attention", ["###__"] * 5)
    assert long == ("self-attention", ["#####"] * 5)


def test_a_decoder_hides_padding_and_what_comes_later():
    short, long = masks(AtentaDecoderModel, "decoder")  # padded on the left
    assert short == ("self-attention", ["__..", "__..", "__#.", "__##"])
    assert long == ("self-attention", ["#...", "##..", "###.", "####"])


def test_an_encoder_decoder_hides_the_source_s_padding_and_the_target_s_future():
    panels = masks(AtentaEncoderDecoderModel, "encoder-decoder", ["abc", "a"])
    assert panels == [
        ("encoder self-attention", ["##__"] * 4),
        ("decoder self-attention", ["#...", "##..", "###.", "####"]),
        ("cross-attention", ["##__"] * 4),
        ("encoder self-attention", ["####"] * 4),
        ("decoder self-attention", ["#.._", "##._", "###_", "####"]),
        ("cross-attention", ["####"] * 4),
    ]


def row_titles(model_class, family, texts, targets=None):
    tokenizer = AtentaTokenizer.from_texts(["abc $\n"], family=family)
    model = tiny_model(model_class, vocab_size=len(tokenizer))
    figure = draw_masks(model, tokenizer, texts, targets)
    figure.savefig(BytesIO())  # a $ begins no formula
    return [axes.get_title(loc="left").strip() for axes in figure.axes]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b\n", "“a␣b↵”"),
        ("$ab", "“$ab”"),
        ("a" * 24, f"“{'a' * 24}”"),
        ("a" * 25, f"“{'a' * 23}…”"),
    ],
    ids=["space", "dollar", "as long as there is room for", "too long"],
)
def test_each_row_is_named_by_its_text(text, shown):
    assert row_titles(AtentaDecoderModel, "decoder", ["c", text]) == ["“c”", shown]


def test_the_source_stands_above_the_first_panel_of_a_row():
    titles = row_titles(AtentaEncoderDecoderModel, "encoder-decoder", ["a", "bc"], ["b", "c"])
    assert titles == ["“a”", "", "", "“bc”", "", ""]


@pytest.mark.parametrize("name", COLOURS)
def test_the_legend_explains_each_colour(name):
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="encoder")
    figure = draw_masks(tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer)), tokenizer, ["a"])
    (legend,) = figure.legends
    assert name in [text.get_text() for text in legend.get_texts()]
