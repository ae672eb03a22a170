"""The pictures of grids: differences from one line as dots, and figures against time as lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from results.result_chart import plain_number, wrap_label, write_svg
from results.result_table import number_text

_WORDS = {
    "difference": {
        "en": "percentage points; to the right is better →",
        "pt": "pontos percentuais; à direita é melhor →",
    },
    "minutes": {"en": "minutes of training, on a logarithmic scale", "pt": "minutos de treino, em escala logarítmica"},
    "best": {"en": "best at its time", "pt": "melhor de cada tempo"},
}
_LABEL, _TITLE = 30, 34  # characters of a line of the names, and of the titles
_MARKERS = "osD^vPX*"
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 13,
    "fillstyle": "none",
    "color": "black",
    "linestyle": "none",
}  # around the best


@dataclass(frozen=True)
class Panel:
    """Differences of a column.

    Attributes:
        title: what is measured, and the figure that the others are compared with.
        differences: by the place of a line, the difference with each seed.
        reference: the place of the line that the others are compared with.
    """

    title: str
    differences: Mapping[int, Sequence[float]]
    reference: int


@dataclass(frozen=True)
class Point:
    """A figure that was reached.

    Attributes:
        minutes: after how long.
        figure: its value.
        best: whether it is the best of that time.
    """

    minutes: float
    figure: float
    best: bool = False


@dataclass(frozen=True)
class Curve:
    """Figures of a line.

    Attributes:
        label: what it is.
        points: in the order of their minutes.
    """

    label: str
    points: Sequence[Point]


def draw_differences(path: Path, panels: Sequence[Panel], lines: Sequence[str], language: str) -> None:
    """Draw differences as dots, a panel for each column, and write them as SVG.

    Args:
        path: the file.
        panels: the columns, from left to right.
        lines: the names of the lines, from top to bottom.
        language: `en` or `pt`.
    """
    figure = Figure(figsize=(2.4 + 2.9 * len(panels), 1.4 + 0.46 * len(lines)), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels):
        _draw_panel(axes, panel, language)
        axes.set_yticks(range(len(lines)), [wrap_label(line, _LABEL) for line in lines], fontsize=8)
        axes.set_ylim(len(lines) - 0.5, -0.5)
    figure.supxlabel(_WORDS["difference"][language], fontsize=9)
    write_svg(figure, path, "differences")


def draw_curves(path: Path, curves: Sequence[Curve], label: str, language: str) -> None:
    """Draw figures against minutes on a logarithmic axis, with the best of each time marked, and write them as SVG.

    Args:
        path: the file.
        curves: the lines.
        label: what the figures are.
        language: `en` or `pt`.
    """
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    colours = [f"C{place}" for place in range(len(curves))]
    handles = []
    for curve, colour, marker in zip(curves, colours, _MARKERS * len(curves)):
        times, values = ([getattr(point, name) for point in curve.points] for name in ("minutes", "figure"))
        handles += axes.plot(times, values, color=colour, marker=marker, markersize=5, label=curve.label)
        for point in (point for point in curve.points if point.best):
            axes.plot(point.minutes, point.figure, **_RING)
            said = number_text(point.figure, language, 2)
            axes.annotate(
                said, (point.minutes, point.figure), (0, -16), textcoords="offset points", ha="center", fontsize=8
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value, language, 2)))
    axes.margins(x=0.08, y=0.12)
    axes.set_xlabel(_WORDS["minutes"][language])
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    # From top to bottom as the lines end.
    handles.sort(key=lambda handle: -float(handle.get_ydata()[-1]))
    figure.legend(
        handles=[*handles, Line2D([], [], label=_WORDS["best"][language], **_RING)],
        loc="outside right center",
        frameon=False,
        fontsize=8,
    )
    write_svg(figure, path, "curves")


def _draw_panel(axes: Axes, panel: Panel, language: str) -> None:
    axes.axvline(0, color="gray", linewidth=1)
    for place, values in panel.differences.items():
        middle, colour = mean(values), "gray" if place == panel.reference else "tab:red"
        if len(values) > 1:
            ends = [min(values), max(values)]
            axes.plot(ends, [place, place], color=colour, linewidth=3, alpha=0.4, solid_capstyle="round")
        axes.plot(middle, place, marker="o", markersize=7, color=colour)
        if place != panel.reference:
            said = f"{'−' if middle < 0 else '+'}{number_text(abs(middle), language, 2)}"
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}  # read also on the line of 0
            axes.annotate(said, (middle, place), (0, 6), textcoords="offset points", ha="center", fontsize=7, bbox=box)
    axes.set_title("\n".join(wrap_label(part, _TITLE) for part in panel.title.split("\n")), fontsize=8)
    axes.margins(x=0.18)
    axes.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=2, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value, language).replace("-", "−")))
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
