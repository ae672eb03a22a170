"""Figures and texts of a run as tables: on the screen, in metrics.json and in predictions.tsv."""

import csv
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from atenta.recipes.decoding.n_best import Hypothesis


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Lay out `{row: {column: figure}}` as text, a line a row, four decimals below 1,000; `-` where it has none."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    names = [column.replace("_", " ") for column in columns]
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"  {name:>8}" for name in names)]
    for label, row in rows.items():
        cells = [_figure(row.get(column)) for column in columns]
        lines.append(
            f"{label:<{width}}" + "".join(f"  {cell:>{max(8, len(name))}}" for name, cell in zip(names, cells))
        )
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 1000 else f"{value:,.0f}"


def write_metrics(path: Path, metrics: Mapping[str, Any]) -> None:
    """Write a run's figures as JSON, with the command, the machine, the versions and the day."""
    run = {
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_accelerators()}",
        "versions": {name: version(name) for name in ("atenta", "torch", "transformers", "accelerate")},
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }
    path.write_text(json.dumps({**metrics, "run": run}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_predictions(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write texts side by side as tab-separated values, a column a name; a tab in a text is quoted, not lost."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def n_best_columns(outputs: Sequence[Sequence[Hypothesis]]) -> dict[str, list[Any]]:
    """Return columns `output 1`, `score 1`, `output 2`, … of the best outputs for each source, best first."""
    columns = {}
    for number, hypotheses in enumerate(zip(*outputs), start=1):
        columns[f"output {number}"] = [hypothesis.text for hypothesis in hypotheses]
        columns[f"score {number}"] = [f"{hypothesis.score:.4f}" for hypothesis in hypotheses]
    return columns


def _accelerators() -> str:
    if not torch.cuda.is_available():
        return "no GPU"
    return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
