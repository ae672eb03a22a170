"""Pictures: what is drawn in them, and that they are pictures."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atenta.recipes.reporting.pictures import draw_confusion, draw_learning_curve
from support.recipes import assert_picture

HISTORY = [
    {"step": 1, "loss": 3.0},
    {"step": 2, "loss": 2.0},
    {"step": 2, "eval_loss": 2.5, "eval_exact_match": 0.5},
    {"step": 4, "eval_loss": 1.5, "eval_exact_match": 0.75},
]


@pytest.fixture
def axes(monkeypatch):
    """The axes of each picture that is saved."""
    saved: list[Axes] = []
    save = Figure.savefig

    def remember(figure, *arguments, **options):
        saved.extend(figure.axes)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", remember)
    return saved


def points(axes):
    return {line.get_label(): list(zip(*map(list, line.get_data()))) for line in axes.get_lines()}


def test_the_learning_curve_shows_losses_and_the_metric(tmp_path, axes):
    draw_learning_curve(tmp_path / "curve.png", HISTORY, "exact_match")
    assert_picture(tmp_path / "curve.png", colours=10)
    left, right = axes
    assert points(left) == {"training loss": [(1, 3.0), (2, 2.0)], "validation loss": [(2, 2.5), (4, 1.5)]}
    assert points(right) == {"validation exact match": [(2, 0.5), (4, 0.75)]}
    shown = {text.get_text() for text in left.figure.legends[0].get_texts()}
    assert shown == {"training loss", "validation loss", "validation exact match"}


@pytest.mark.parametrize("history", [[], HISTORY[:1]], ids=["nothing logged", "one loss"])
def test_a_run_without_evaluations_has_a_picture_too(tmp_path, axes, history):
    draw_learning_curve(tmp_path / "curve.png", history, "exact_match")
    assert_picture(tmp_path / "curve.png")
    assert len(axes) == 1


def test_the_loss_is_not_drawn_twice_where_it_is_the_metric(tmp_path, axes):
    draw_learning_curve(tmp_path / "curve.png", HISTORY, "loss")
    assert len(axes) == 1


def test_the_confusion_counts_gold_labels_in_rows(tmp_path, axes):
    gold, output = ["fra", "fra", "fra", "ita", "por"], ["fra", "ita", "ita", "ita", "fra"]
    draw_confusion(tmp_path / "confusion.png", gold, output, ["fra", "ita", "por"])
    assert_picture(tmp_path / "confusion.png", colours=10)
    assert [text.get_text() for text in axes[0].texts] == ["1", "2", "0", "0", "1", "0", "1", "0", "0"]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["fra", "ita", "por"]
