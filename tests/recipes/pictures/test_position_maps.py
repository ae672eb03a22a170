"""Tests of position vectors and their pictures."""

import numpy as np
import pytest
import torch
from transformers import GPT2Config

from atenta import AtentaDecoderConfig
from atenta.modeling.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, apply_rotary
from atenta.recipes.pictures.position_maps import draw_positions, position_vectors
from support.models import assert_close, tiny_config


def config_of(kind):
    return tiny_config(AtentaDecoderConfig, position_embedding_type=kind)


def test_vectors_are_those_of_the_model():
    config = config_of("sinusoidal")
    assert_close(position_vectors(config, 20), SinusoidalPositions(config)(torch.arange(20)[None])[0])
    table = LearnedPositions(config_of("learned")).weight
    assert torch.equal(position_vectors(config_of("learned"), 20, table), table[:20])


def test_the_dot_product_of_rotary_vectors_is_the_score_of_equal_queries_and_keys():
    config = config_of("rotary")
    ones = torch.full((1, 1, 20, config.head_dim), 0.5**0.5)  # length 1 in each plane
    rotated = apply_rotary(ones, *RotaryPositions(config)(torch.arange(20)[None], torch.float32))[0, 0]
    vectors = position_vectors(config, 20)
    assert_close(vectors @ vectors.T, rotated @ rotated.T)


@pytest.mark.parametrize(
    ("config", "table", "message"),
    [
        (config_of("learned"), None, "learned positions need a table"),
        (config_of("rotary"), torch.ones(9, 32), "rotary positions have no table"),
        (config_of("learned"), torch.ones(9, 32), "length=20; expected at most 9, the number of learned positions"),
        (GPT2Config(), None, "gpt2 has position_embedding_type=None; expected sinusoidal, learned, rotary"),
    ],
)
def test_unsuitable_positions_are_refused(config, table, message):
    with pytest.raises(ValueError, match=message):
        draw_positions(config, 20, table)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_vectors_and_their_similarity_are_drawn(kind):
    config = config_of(kind)
    figure = draw_positions(config, 20)
    left, middle, right, *_ = figure.axes
    vectors = position_vectors(config, 20).numpy()
    np.testing.assert_array_equal(left.get_images()[0].get_array(), vectors)
    similarity = middle.get_images()[0].get_array()
    expected = vectors @ vectors.T / (vectors**2).sum(1)  # all have one length
    np.testing.assert_allclose(similarity, expected, atol=1e-5)
    (line,) = right.get_lines()
    np.testing.assert_allclose(line.get_ydata(), expected[0], atol=1e-5)  # it depends on the distance alone
    assert figure.get_suptitle() == f"{kind} positions"
