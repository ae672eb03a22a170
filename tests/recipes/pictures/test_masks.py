"""The masks that are drawn: padding, what comes later, and who sees what."""

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


@pytest.mark.parametrize("name", COLOURS)
def test_the_legend_explains_each_colour(name):
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="encoder")
    figure = draw_masks(tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer)), tokenizer, ["a"])
    (legend,) = figure.legends
    assert name in [text.get_text() for text in legend.get_texts()]
