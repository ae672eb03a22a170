"""A matrix as colours, with a label on each row and column: what most of the pictures are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike

CELL = 0.2  # inches, so that a label of 8 points has room whatever the length of the text
FONT_SIZE = 8  # points


def heatmap_size(rows: int, columns: int) -> tuple[float, float]:
    """Return the width and height in inches that so many rows and columns need, with room for labels and title."""
    return max(CELL * columns, 1.6) + 0.9, max(CELL * rows, 1.6) + 0.9


def draw_heatmap(
    axes: Axes,
    matrix: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    **options: Any,
) -> AxesImage:
    """Draw a matrix.

    Args:
        axes: what to draw on.
        matrix: (rows, columns) of numbers.
        rows: a label for each row; numbers unless given.
        columns: a label for each column, written upright where it is longer than a character; numbers unless given.
        title: above the matrix.
        xlabel: what the columns are.
        ylabel: what the rows are.
        options: how values become colours (`cmap`, `norm`, `vmin`, `vmax`), and others of `Axes.imshow`.

    Returns:
        The image, which a colour bar needs.
    """
    image = axes.imshow(np.asarray(matrix), **{"interpolation": "nearest", "cmap": "Blues", **options})
    axes.set_title(title, fontsize=FONT_SIZE + 2)
    axes.set_xlabel(xlabel, fontsize=FONT_SIZE)
    axes.set_ylabel(ylabel, fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    text = {"fontsize": FONT_SIZE, "parse_math": False}  # a $ is a character
    if rows is not None:
        axes.set_yticks(range(len(rows)), rows, **text)
        axes.tick_params(axis="y", length=0)
    if columns is not None:
        axes.set_xticks(range(len(columns)), columns, **text)
        axes.tick_params(axis="x", length=0)
        for label in axes.get_xticklabels():
            label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    return image
