"""The drawing that the pictures share."""

import warnings
from io import BytesIO

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from atenta.recipes.pictures.heatmap import draw_heatmap, heatmap_size

MATRIX = torch.tensor([[0.0, 0.25, 1.0], [0.5, 0.75, 0.125]])


@pytest.fixture
def axes():
    return Figure().subplots()


def texts(labels):
    return [label.get_text() for label in labels]


def test_rows_and_columns_carry_their_labels(axes):
    image = draw_heatmap(axes, MATRIX, ["a", "⟨eos⟩"], ["b", "␣", "ação"], title="t", xlabel="key", ylabel="query")
    np.testing.assert_array_equal(image.get_array(), MATRIX.numpy())
    assert texts(axes.get_yticklabels()) == ["a", "⟨eos⟩"]
    assert texts(axes.get_xticklabels()) == ["b", "␣", "ação"]
    assert [label.get_rotation() for label in axes.get_xticklabels()] == [0, 0, 90]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("t", "key", "query")


def test_without_labels_rows_and_columns_are_numbered(axes):
    draw_heatmap(axes, torch.zeros(30, 50))
    axes.figure.draw_without_rendering()
    assert {"0", "20"} <= set(texts(axes.get_yticklabels()))
    assert {"0", "40"} <= set(texts(axes.get_xticklabels()))


def test_options_decide_how_values_become_colours(axes):
    image = draw_heatmap(axes, MATRIX, cmap="RdBu", vmin=-1, vmax=2)
    assert (image.get_cmap().name, image.get_clim()) == ("RdBu", (-1, 2))


def test_every_sign_has_a_shape_and_none_is_read_as_a_formula(axes):
    draw_heatmap(axes, MATRIX, ["$x$", "⟨bos⟩"], ["␣↵⇥", "çãéô", "◌\u0303\\alpha"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that its font lacks
        axes.figure.savefig(BytesIO())
    assert not any(label.get_parse_math() for label in [*axes.get_xticklabels(), *axes.get_yticklabels()])


def test_a_longer_text_gets_a_larger_picture():
    (width, height), (wider, higher) = heatmap_size(20, 30), heatmap_size(21, 31)
    assert wider - width == pytest.approx(0.2)
    assert higher - height == pytest.approx(0.2)
