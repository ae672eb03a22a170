"""Pictures of a run: its learning curve, and which labels were taken for which."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure  # no pyplot: no display is needed


def draw_learning_curve(path: Path, log_history: Sequence[Mapping[str, float]], metric: str) -> None:
    """Draw loss and validation metric against training steps as a PNG picture.

    Args:
        path: the picture's file.
        log_history: what transformers' Trainer logged (`trainer.state.log_history`).
        metric: name of the validation metric, without `eval_`; `loss` draws no second curve of it.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    lines = []
    for key, label in (("loss", "training loss"), ("eval_loss", "validation loss")):
        points = [(entry["step"], entry[key]) for entry in log_history if key in entry]
        lines += axes.plot(*zip(*points), marker=".", label=label) if points else []
    axes.set(xlabel="training step", ylabel="loss (nats)", yscale="log")
    points = [(entry["step"], entry[f"eval_{metric}"]) for entry in log_history if f"eval_{metric}" in entry]
    if points and metric != "loss":
        name = metric.replace("_", " ")
        right = axes.twinx()
        lines += right.plot(*zip(*points), marker="o", color="tab:green", label=f"validation {name}")
        right.set_ylabel(name)
    figure.legend(handles=lines, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=150)


def draw_confusion(path: Path, references: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> None:
    """Draw how many texts of each label (rows) were given each label (columns) as a PNG picture."""
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    side = 2.5 + 0.5 * len(labels)
    figure = Figure(figsize=(side + 0.5, side), layout="constrained")
    counts = confusion_matrix(references, predictions, labels=list(labels))
    ConfusionMatrixDisplay(counts, display_labels=list(labels)).plot(
        ax=figure.subplots(), cmap="Blues", colorbar=False, xticks_rotation="vertical" if len(labels) > 8 else 0
    )
    figure.savefig(path, dpi=150)
