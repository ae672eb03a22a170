"""The picture of how a decoding step grows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from benchmarks.results import LIMIT, OURS

STYLES = {OURS: {"color": "tab:red", "linewidth": 2.2}, LIMIT: {"color": "black", "linestyle": "--"}}


def draw_growth(path: Path, curves: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], title: str) -> None:
    """Draw milliseconds a step against sizes on logarithmic axes, a panel a kind of size, as a PNG picture.

    Args:
        path: the picture's file.
        curves: for each kind of size, and each contestant, its points: size, milliseconds.
        title: above all.
    """
    figure = Figure(figsize=(4 * len(curves), 4.2), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axes, (kind, points_of) in zip(panels, curves.items()):
        for contestant, points in points_of.items():
            axes.plot(*zip(*points), marker="o", markersize=4, label=contestant, **STYLES.get(contestant, {}))
        axes.set(xscale="log", yscale="log", xlabel=kind)
        sizes = sorted({size for points in points_of.values() for size, _ in points})
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(which="both", alpha=0.25)
    panels[0].set_ylabel("milliseconds a step")
    figure.suptitle(title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(points_of))
    figure.savefig(path, dpi=150)
