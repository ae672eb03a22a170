"""Tests of learning curves and of the confusion matrix."""

import pytest

from atenta.recipes.pictures.run_charts import (
    draw_confusion,
    draw_learning_curve,
    draw_learning_curves,
    draw_reliability,
)

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


def test_a_learning_curve_shows_losses_and_the_metric():
    figure = draw_learning_curve(HISTORY, "exact_match")
    above, below = figure.axes
    assert points(above) == {"training loss": [(1, 3.0), (2, 2.0)], "validation loss": [(2, 2.5), (4, 1.5)]}
    assert points(below) == {"validation exact match": [(2, 0.5), (4, 0.75)]}
    assert legend(figure) == {"training loss", "validation loss", "validation exact match"}
    for history, metric in (([], "exact_match"), (HISTORY, "loss")):  # without another metric, only losses
        assert len(draw_learning_curve(history, metric).axes) == 1


def test_steps_are_whole_numbers():
    runs = draw_learning_curves({"run": HISTORY}, "exact_match")
    for figure in (runs, *(draw_learning_curve(history, "exact_match") for history in (HISTORY, HISTORY[:1]))):
        figure.draw_without_rendering()
        labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
        assert "1" in labels or "2" in labels
        assert all(label.lstrip("−-").isdigit() for label in labels)


@pytest.mark.parametrize("losses", [(0.5, 0.47), (5.0, 0.03), (0.4998, 0.4996)])
def test_losses_have_labels_that_differ(losses):
    figure = draw_learning_curve([{"step": step, "loss": loss} for step, loss in enumerate(losses)], "loss")
    figure.draw_without_rendering()
    labels = [each.get_text() for each in figure.axes[0].get_yticklabels(which="both") if each.get_text()]
    assert len({*labels}) == len(labels) > 1
    assert "e" not in "".join(labels)


def test_several_runs_are_drawn_in_one_picture():
    figure = draw_learning_curves({"short": HISTORY[:3], "long": HISTORY}, "exact_match")
    (axes,) = figure.axes
    assert points(axes) == {"short": [(2, 0.5)], "long": [(2, 0.5), (4, 0.75)]}
    assert legend(figure) == {"short", "long"}
    assert axes.get_ylabel() == "validation exact match"
    for history, found in ((HISTORY, "exact_match, loss"), (HISTORY[:1], "none")):
        with pytest.raises(ValueError, match=f"other has no validation metric 'accuracy'; it has: {found}"):
            draw_learning_curves({"other": history}, "accuracy")


def test_the_confusion_matrix_has_correct_labels_on_rows():
    correct, predicted = ["fra", "fra", "fra", "ita", "por"], ["fra", "ita", "ita", "ita", "fra"]
    (axes,) = draw_confusion(correct, predicted, ["fra", "ita", "por"]).axes
    assert [text.get_text() for text in axes.texts] == ["1", "2", "0", "0", "1", "0", "1", "0", "0"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fra", "ita", "por"]
    many = [f"language {number}" for number in range(40)]
    figure = draw_confusion(many, many, many)
    assert not figure.axes[0].texts
    assert max(figure.get_size_inches()) < 25


def test_reliability_is_the_share_right_by_confidence():
    confidence = [0.3] * 9 + [0.52] * 10 + [0.97] * 20
    figure = draw_reliability(confidence, [True] * 9 + [True, False] * 5 + [True, True, True, False] * 5, "marks")
    upper, lower = figure.axes
    (curve,) = (line for line in upper.get_lines() if line.get_label() == "marks")
    # Nine answers are too few for a point.
    assert curve.get_xdata() == pytest.approx([0.52, 0.97])
    assert curve.get_ydata() == pytest.approx([0.5, 0.75])
    assert sum(bar.get_height() for bar in lower.patches) == 39
    for ends in (upper.get_xlim(), upper.get_ylim()):
        assert ends == pytest.approx((0.28, 1.02))  # the histogram, with the same x-axis, begins at 0.3
    low = draw_reliability([0.9] * 20, [True] + [False] * 19, "marks").axes[0]
    assert low.get_ylim()[0] < 1 / 20
