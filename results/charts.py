"""The pictures of results as SVG: errors of tasks, differences from one line of a grid, and figures against time."""

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from statistics import mean
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from results.figures import number_text, plain_number, say

_STYLES: dict[str, dict[str, Any]] = {
    "model": {"marker": "o", "color": "tab:red", "markersize": 8},
    "without a model": {"marker": "s", "color": "gray", "markersize": 6},
    "published": {"marker": "D", "color": "tab:blue", "markersize": 10, "fillstyle": "none"},  # seen around a model's
}
_LEAST = 1e-4  # where no error is drawn: a logarithmic axis has no 0
_TASK_WIDTH, _LINE_WIDTH, _TITLE_WIDTH = 48, 30, 34  # characters of a line of the names
_MARKERS = "osD^vPX*"
_RING: dict[str, Any] = {  # around the best
    "marker": "o",
    "markersize": 13,
    "fillstyle": "none",
    "color": "black",
    "linestyle": "none",
}


class Measured(NamedTuple):
    """Errors of a task: those of the model with each seed, those without a model of each run, and those of others.

    Bits are not a share of all answers, and have an axis of their own.
    """

    name: str
    models: Sequence[float]
    baselines: Sequence[float] = ()
    published: Sequence[float] = ()
    in_bits: bool = False


class Panel(NamedTuple):
    """Differences of a column of a grid from one line, the reference, by the places of the lines."""

    title: str
    differences: Mapping[int, float]
    reference: int


class Curve(NamedTuple):
    """Figures of a line in the order of their minutes: (minutes, figure, whether it is the best of that time)."""

    label: str
    points: Sequence[tuple[float, float, bool]]


def draw_errors(path: Path, tasks: Sequence[Measured], language: str) -> None:
    """Draw the errors of tasks, from top to bottom, as dots on a logarithmic axis, and write them as SVG.

    Tasks that are measured in bits follow in a panel of their own.
    """
    groups = [group for in_bits in (False, True) if (group := [task for task in tasks if task.in_bits == in_bits])]
    figure = Figure(figsize=(9, 1.2 + 0.6 * len(tasks) + 0.4 * (len(groups) - 1)), layout="constrained")
    panels = figure.subplots(len(groups), height_ratios=[len(group) for group in groups], squeeze=False)[:, 0]
    for axes, group in zip(panels, groups):
        _draw_errors(axes, group, language)
    handles = [Line2D([], [], linestyle="none", label=say(kind, language), **_STYLES[kind]) for kind in _STYLES]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    _write_svg(figure, path, "errors")


def _draw_errors(axes: Axes, tasks: Sequence[Measured], language: str) -> None:
    in_bits = tasks[0].in_bits
    for place, task in enumerate(tasks):
        if len(task.models) > 1:
            low, high = (max(end(task.models), _LEAST) for end in (min, max))
            axes.plot([low, high], [place, place], color="tab:red", linewidth=3, alpha=0.4, solid_capstyle="round")
        kinds = {"without a model": task.baselines[:1], "published": task.published, "model": [mean(task.models)]}
        for kind, values in kinds.items():
            for value in values:
                axes.plot(max(value, _LEAST), place, linestyle="none", clip_on=in_bits, **_STYLES[kind])
    if in_bits:
        axes.margins(x=0.1)
        axes.set_xlabel(say("bits per character", language))
    else:
        axes.set_xscale("log")
        axes.set_xlim(right=1)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(say("error, on a logarithmic scale", language))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language)))
    axes.set_yticks(range(len(tasks)), [_wrap(task.name, _TASK_WIDTH) for task in tasks], fontsize=8)
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def draw_differences(path: Path, panels: Sequence[Panel], lines: Sequence[str], language: str) -> None:
    """Draw differences as dots, a panel for each column with the lines from top to bottom, and write them as SVG."""
    figure = Figure(figsize=(2.4 + 2.9 * len(panels), 1.4 + 0.46 * len(lines)), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels):
        _draw_panel(axes, panel, language)
        axes.set_yticks(range(len(lines)), [_wrap(line, _LINE_WIDTH) for line in lines], fontsize=8)
        axes.set_ylim(len(lines) - 0.5, -0.5)
    figure.supxlabel(say("percentage points; to the right is better →", language), fontsize=9)
    _write_svg(figure, path, "differences")


def _draw_panel(axes: Axes, panel: Panel, language: str) -> None:
    axes.axvline(0, color="gray", linewidth=1)
    for place, value in panel.differences.items():
        is_reference = place == panel.reference
        axes.plot(value, place, marker="o", markersize=7, color="gray" if is_reference else "tab:red")
        if not is_reference:
            number = f"{'−' if value < 0 else '+'}{number_text(abs(value), language, 2)}"
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}  # read also on the line of 0
            above = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
            axes.annotate(number, (value, place), fontsize=7, bbox=box, **above)
    axes.set_title(_wrap(panel.title, _TITLE_WIDTH), fontsize=8)
    axes.margins(x=0.18)
    axes.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=2, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language).replace("-", "−")))
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def draw_curves(path: Path, curves: Sequence[Curve], label: str, language: str) -> None:
    """Draw figures against minutes on a logarithmic axis, with the best of each time marked, and write them as SVG."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    handles = []
    for place, (curve, marker) in enumerate(zip(curves, _MARKERS * len(curves))):
        times, values, are_best = zip(*curve.points)
        handles += axes.plot(times, values, color=f"C{place}", marker=marker, markersize=5, label=curve.label)
        for minutes, value in compress(zip(times, values), are_best):
            axes.plot(minutes, value, **_RING)
            below = {"xytext": (0, -16), "textcoords": "offset points", "ha": "center"}
            axes.annotate(number_text(value, language, 2), (minutes, value), fontsize=8, **below)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value, language, 2)))
    axes.margins(x=0.08, y=0.12)
    axes.set_xlabel(say("minutes of training, on a logarithmic scale", language))
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    # From top to bottom as the lines end.
    handles.sort(key=lambda handle: -float(handle.get_ydata()[-1]))
    handles.append(Line2D([], [], label=say("best at its time", language), **_RING))
    figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=8)
    _write_svg(figure, path, "curves")


def _wrap(text: str, width: int) -> str:
    return "\n".join(fill(line, width) for line in text.split("\n"))


def _write_svg(figure: Figure, path: Path, salt: str) -> None:
    """Write a figure as SVG; the same figure gives the same file: no date, and names that are not drawn by chance."""
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(path, format="svg", metadata={"Date": None})
