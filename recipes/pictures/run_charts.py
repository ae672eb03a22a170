"""Charts of a training run: learning curves, scores by length, reliability and the confusion matrix."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter, MaxNLocator

from atenta.recipes.pictures.drawing import set_decimal_signs
from atenta.recipes.pictures.words import say, say_name, say_number

_FEWEST_ANSWERS = 10  # of a point in the picture of reliability

_LogHistory = Sequence[Mapping[str, float]]


def draw_learning_curve(log_history: _LogHistory, metric: str) -> Figure:
    """Draw the losses of a run against training steps and, below them, a validation metric.

    Args:
        log_history: `trainer.state.log_history` of transformers' Trainer, or `training` in `metrics.json`.
        metric: Name of the metric, without `eval_`. With `loss`, only the losses are drawn.
    """
    points = _points(log_history, f"eval_{metric}") if metric != "loss" else []
    figure = Figure(figsize=(7, 6 if points else 4), layout="constrained")
    axes, *below = figure.subplots(2 if points else 1, sharex=True, squeeze=False)[:, 0]
    lines: list[Line2D] = []
    loss = say("validation {metric}").format(metric=say_name("loss"))
    for key, label in (("loss", say("training loss")), ("eval_loss", loss)):
        losses = _points(log_history, key)
        lines += axes.plot(*zip(*losses), marker=".", label=label) if losses else []
    axes.set(ylabel=say("loss (nats), log scale"), yscale="log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_formatter("{x:g}")  # 1 and 2, not 10⁰ and 2 × 10⁰
    axes.yaxis.set_minor_formatter(_PlainLogFormatter())
    for lower in below:
        name = say_name(metric)
        label = say("validation {metric}").format(metric=name)
        lines += lower.plot(*zip(*points), marker="o", color="tab:green", label=label)
        lower.set_ylabel(name)
    figure.axes[-1].set_xlabel(say("training step"))
    figure.legend(handles=lines, loc="outside lower center", ncols=3)
    set_decimal_signs(figure)
    return figure


class _PlainLogFormatter(LogFormatter):
    """Labels of the ticks that LogFormatter chooses, in all their digits: 0.475 and not 5e-01."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def draw_learning_curves(log_histories: Mapping[str, _LogHistory], metric: str) -> Figure:
    """Draw one validation metric of several runs, by their names in the legend, against training steps.

    Arguments are as those of [`draw_learning_curve`].

    Raises:
        ValueError: If a run has no such metric. The message lists those that it has.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, log_history in log_histories.items():
        points = _points(log_history, f"eval_{metric}")
        if not points:
            measured = {key.removeprefix("eval_") for entry in log_history for key in entry if key.startswith("eval_")}
            raise ValueError(
                f"{name} has no validation metric {metric!r}; it has: {', '.join(sorted(measured)) or 'none'}"
            )
        axes.plot(*zip(*points), marker="o", markersize=4, label=name)
    title = say("validation {metric}").format(metric=say_name(metric))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set(xlabel=say("training step"), ylabel=f"{title} (nats)" if metric == "loss" else title)
    axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=2)
    set_decimal_signs(figure)
    return figure


def draw_scores_by_length(by_length: Mapping[str, Mapping[str, Any]], metric: str) -> Figure:
    """Draw a score of the model and of the baselines against the length of the texts.

    Args:
        by_length: For each range of lengths, such as `21–40`, the number of its `texts`, and by the name of each kind
            of answer its scores (`by_length` in `metrics.json`).
        metric: Name of the score.
    """
    figure = Figure(figsize=(max(7, len(by_length)), 4), layout="constrained")
    axes = figure.subplots()
    names = [name for name in next(iter(by_length.values())) if name != "texts"]
    for name, style in zip(names, cycle(("-", "--", "-.", ":"))):  # one line may lie on another
        points = [of_range[name][metric] for of_range in by_length.values()]
        axes.plot(range(len(points)), points, style, marker="o", label=say_name(name))
    labels = [
        f"{length}\n" + say("{number} texts").format(number=say_number(of_range["texts"], ","))
        for length, of_range in by_length.items()
    ]
    axes.set_xticks(range(len(labels)), labels)
    axes.set(xlabel=say("characters of the source"), ylabel=say_name(metric))
    axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=2)
    set_decimal_signs(figure)
    return figure


def draw_reliability(confidence: Sequence[float], is_right: Sequence[bool], title: str) -> Figure:
    """Draw the share of right answers against the confidence in them, and how many answers have each confidence.

    The share is not drawn where fewer than ten answers have a confidence.

    Args:
        confidence: The probability that the model gave to each of its answers.
        is_right: Whether each was right.
        title: What the answers are.
    """
    from sklearn.calibration import CalibrationDisplay  # slow to import

    counts, edges = np.histogram(confidence, bins=20, range=(0, 1))
    bins = np.clip(np.digitize(confidence, edges) - 1, 0, 19)
    enough = counts[bins] >= min(_FEWEST_ANSWERS, counts.max())
    figure = Figure(figsize=(5, 6), layout="constrained")
    upper, lower = figure.subplots(2, height_ratios=(3, 1), sharex=True)
    upper.plot([0, 1], [0, 1], "k:", label=say("Perfectly calibrated"))
    drawn = CalibrationDisplay.from_predictions(
        np.asarray(is_right)[enough], np.asarray(confidence)[enough], n_bins=20, ax=upper, name=title, ref_line=False
    )
    limits = (min(0.37, *confidence, *drawn.prob_true) - 0.02, 1.02)
    upper.set(xlabel="", ylabel=say("share that is right"), xlim=limits, ylim=limits)
    upper.legend(loc="lower right")
    upper.grid(alpha=0.25)
    lower.hist(confidence, bins=20, range=(0, 1), log=True)
    lower.set(xlabel=say("confidence"), ylabel=say("characters\n(log scale)"))
    set_decimal_signs(figure)
    return figure


def draw_confusion(references: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> Figure:
    """Draw the confusion matrix: correct labels on rows, predicted ones on columns, both in the order of `labels`.

    Beyond 30 labels the cells have colours without numbers, which would take minutes.
    """
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix  # slow to import

    side = min(2.5 + 0.5 * len(labels), 20.0)
    figure = Figure(figsize=(side + 0.5, side), layout="constrained")
    counts = confusion_matrix(references, predictions, labels=list(labels))
    axes = figure.subplots()
    ConfusionMatrixDisplay(counts, display_labels=list(labels)).plot(
        ax=axes,
        cmap="Blues",
        colorbar=False,
        include_values=len(labels) <= 30,
        xticks_rotation="vertical" if len(labels) > 8 else 0,
    )
    axes.set(xlabel=say("Predicted label"), ylabel=say("True label"))
    return figure


def _points(log_history: _LogHistory, key: str) -> list[tuple[float, float]]:
    return [(entry["step"], entry[key]) for entry in log_history if key in entry]
