"""The picture of errors: a line for each task, with what the models, a look-up and others reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from textwrap import fill

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

_WORDS = {
    "model": {"en": "model", "pt": "modelo"},
    "baseline": {"en": "without a model", "pt": "sem modelo"},
    "published": {"en": "published", "pt": "publicado"},
    "axis": {"en": "error, on a logarithmic scale", "pt": "erro, em escala logarítmica"},
}
_STYLES = {
    "model": {"marker": "o", "color": "tab:red", "markersize": 8},
    "baseline": {"marker": "s", "color": "gray", "markersize": 6},
    "published": {"marker": "D", "color": "tab:blue", "markersize": 10, "fillstyle": "none"},  # seen around a model's
}
_WIDTH = 48  # characters of a line of the names
_LEAST = 1e-4  # where no error is drawn: a logarithmic axis has no 0


@dataclass(frozen=True)
class Measured:
    """Errors of a task.

    Attributes:
        name: the task and its measure.
        models: the error with each seed.
        baselines: the error without a model, of each run.
        published: errors of others.
    """

    name: str
    models: Sequence[float]
    baselines: Sequence[float] = ()
    published: Sequence[float] = ()


def draw_errors(path: Path, tasks: Sequence[Measured], language: str) -> None:
    """Draw the errors of tasks as dots, on a logarithmic axis, and write them as SVG.

    Args:
        path: the file.
        tasks: the tasks, from top to bottom.
        language: `en` or `pt`.
    """
    figure = Figure(figsize=(9, 1.2 + 0.6 * len(tasks)), layout="constrained")
    axes = figure.subplots()
    for place, task in enumerate(tasks):
        if len(task.models) > 1:
            low, high = (max(end(task.models), _LEAST) for end in (min, max))
            axes.plot([low, high], [place, place], color="tab:red", linewidth=3, alpha=0.4, solid_capstyle="round")
        kinds = {"baseline": task.baselines[:1], "published": task.published, "model": [mean(task.models)]}
        for kind, values in kinds.items():
            for value in values:
                axes.plot(max(value, _LEAST), place, linestyle="none", clip_on=False, **_STYLES[kind])
    axes.set_xscale("log")
    axes.set_xlim(right=1)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language)))
    axes.set_xlabel(_WORDS["axis"][language])
    axes.set_yticks(
        range(len(tasks)), ["\n".join(map(wrap_label, task.name.split("\n"))) for task in tasks], fontsize=8
    )
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    handles = [Line2D([], [], linestyle="none", label=_WORDS[kind][language], **_STYLES[kind]) for kind in _STYLES]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    write_svg(figure, path, "errors")


def write_svg(figure: Figure, path: Path, salt: str) -> None:
    """Write a figure as SVG; the same figure gives the same file: no date, and names that are not drawn by chance."""
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def wrap_label(text: str, width: int = _WIDTH) -> str:
    """Return a text in lines of at most so many characters."""
    return fill(text, width)


def plain_number(value: float, language: str) -> str:
    """Return a number with no more digits than it needs, as the language writes it."""
    text = f"{value:g}"
    return text.replace(".", ",") if language == "pt" else text
