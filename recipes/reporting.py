"""What a run leaves for people to look at: tables, figures, predictions and the learning curve."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Lay out `{row: {column: figure}}` as text, a line a row, with four decimals."""
    columns = list(next(iter(rows.values())))
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"{column.replace('_', ' '):>22}" for column in columns)]
    lines += [
        f"{name:<{width}}" + "".join(f"{row[column]:>22.4f}" for column in columns) for name, row in rows.items()
    ]
    return "\n".join(lines)


def write_metrics(path: Path, metrics: Mapping[str, Any]) -> None:
    """Write a run's figures as JSON."""
    path.write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_predictions(path: Path, columns: Mapping[str, Sequence[str]]) -> None:
    """Write texts side by side as tab-separated values, a column a name; a tab in a text is quoted, not lost."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def draw_learning_curve(path: Path, log_history: Sequence[Mapping[str, float]], metric: str) -> None:
    """Draw loss and validation metric against training steps as a PNG picture.

    Args:
        path: the picture's file.
        log_history: what transformers' Trainer logged (`trainer.state.log_history`).
        metric: name of the validation metric, without `eval_`.
    """
    from matplotlib.figure import Figure  # slow to import, and no display is needed

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    lines = []
    for key, label in (("loss", "training loss"), ("eval_loss", "validation loss")):
        points = [(entry["step"], entry[key]) for entry in log_history if key in entry]
        lines += axes.plot(*zip(*points), marker=".", label=label) if points else []
    axes.set(xlabel="training step", ylabel="loss (nats a character)", yscale="log")
    points = [(entry["step"], entry[f"eval_{metric}"]) for entry in log_history if f"eval_{metric}" in entry]
    if points:
        name = metric.replace("_", " ")
        right = axes.twinx()
        lines += right.plot(*zip(*points), marker="o", color="tab:green", label=f"validation {name}")
        right.set_ylabel(name)
    axes.legend(handles=lines, loc="center right")
    figure.savefig(path, dpi=150)
