"""Learning curves: what is drawn in them."""

import pytest

from atenta.recipes.pictures.learning_curve import draw_learning_curve, draw_learning_curves

HISTORY = [
    {"step": 1, "loss": 3.0},
    {"step": 2, "loss": 2.0},
    {"step": 2, "eval_loss": 2.5, "eval_exact_match": 0.5},
    {"step": 4, "eval_loss": 1.5, "eval_exact_match": 0.75},
]


def points(axes):
    return {line.get_label(): list(zip(*map(list, line.get_data()))) for line in axes.get_lines()}


def legend(figure):
    return {text.get_text() for text in figure.legends[0].get_texts()}


def test_it_shows_losses_and_the_metric():
    figure = draw_learning_curve(HISTORY, "exact_match")
    left, right = figure.axes
    assert points(left) == {"training loss": [(1, 3.0), (2, 2.0)], "validation loss": [(2, 2.5), (4, 1.5)]}
    assert points(right) == {"validation exact match": [(2, 0.5), (4, 0.75)]}
    assert legend(figure) == {"training loss", "validation loss", "validation exact match"}


@pytest.mark.parametrize("history", [[], HISTORY[:1]], ids=["nothing logged", "one loss"])
def test_a_run_without_evaluations_has_a_picture_too(history):
    assert len(draw_learning_curve(history, "exact_match").axes) == 1


def test_the_loss_is_not_drawn_twice_where_it_is_the_metric():
    assert len(draw_learning_curve(HISTORY, "loss").axes) == 1


def test_several_runs_stand_on_one_picture():
    figure = draw_learning_curves({"short": HISTORY[:3], "long": HISTORY}, "exact_match")
    (axes,) = figure.axes
    assert points(axes) == {"short": [(2, 0.5)], "long": [(2, 0.5), (4, 0.75)]}
    assert legend(figure) == {"short", "long"}
    assert axes.get_ylabel() == "validation exact match"


@pytest.mark.parametrize(("history", "found"), [(HISTORY, "exact_match, loss"), (HISTORY[:1], "nothing")])
def test_a_run_that_did_not_measure_the_metric_is_named(history, found):
    with pytest.raises(ValueError, match=f"other has no validation 'accuracy'; it has measured: {found}"):
        draw_learning_curves({"other": history}, "accuracy")
