"""The vectors of positions are those that the model's own modules give."""

import numpy as np
import pytest
import torch

from atenta import AtentaDecoderConfig
from atenta.modeling.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, apply_rotary
from atenta.recipes.pictures.positions import draw_positions, position_vectors
from support.models import assert_close, tiny_config


def config_of(kind):
    return tiny_config(AtentaDecoderConfig, position_embedding_type=kind)


def test_sinusoidal_vectors_are_the_model_s():
    config = config_of("sinusoidal")
    assert_close(position_vectors(config, 20), SinusoidalPositions(config)(torch.arange(20)[None])[0])


def test_the_dot_product_of_rotary_vectors_is_the_score_of_equal_queries_and_keys():
    config = config_of("rotary")
    ones = torch.full((1, 1, 20, config.head_dim), 0.5**0.5)  # length 1 in each plane
    turned = apply_rotary(ones, *RotaryPositions(config)(torch.arange(20)[None], torch.float32))[0, 0]
    vectors = position_vectors(config, 20)
    assert_close(vectors @ vectors.T, turned @ turned.T)


def test_learned_vectors_are_the_table_s():
    config = config_of("learned")
    table = LearnedPositions(config).weight
    assert torch.equal(position_vectors(config, 20, table), table[:20])


@pytest.mark.parametrize(
    ("kind", "table", "message"),
    [
        ("learned", None, "learned positions need"),
        ("rotary", torch.ones(9, 32), "rotary positions have no table"),
        ("learned", torch.ones(9, 32), "length=20, but the model has learned 9"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(kind, table, message):
    with pytest.raises(ValueError, match=message):
        position_vectors(config_of(kind), 20, table)


def test_a_model_without_such_positions_is_refused():
    from transformers import GPT2Config

    with pytest.raises(
        ValueError, match="gpt2 has position_embedding_type=None, expected sinusoidal, learned, rotary"
    ):
        draw_positions(GPT2Config(), 20)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_vectors_likeness_and_its_course_are_drawn(kind):
    config = config_of(kind)
    figure = draw_positions(config, 20)
    left, middle, right, *_ = figure.axes
    vectors = position_vectors(config, 20).numpy()
    np.testing.assert_array_equal(left.get_images()[0].get_array(), vectors)
    likeness = middle.get_images()[0].get_array()
    expected = vectors @ vectors.T / (vectors**2).sum(1)  # all have one length
    np.testing.assert_allclose(likeness, expected, atol=1e-5)
    (line,) = right.get_lines()
    np.testing.assert_allclose(line.get_ydata(), expected[0], atol=1e-5)  # on distances alone it depends
    assert figure.get_suptitle() == f"{kind} positions"
