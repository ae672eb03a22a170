"""Readable labels for tokens, heatmaps, and saving: the parts that all pictures share."""

import os
import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import Formatter, LogFormatter, ScalarFormatter, StrMethodFormatter
from numpy.typing import ArrayLike
from transformers import PreTrainedTokenizerBase

from atenta.recipes.pictures.words import chosen_language

CELL = 0.2  # inches; a label of 8 points fits, so the size of a picture follows the length of the text
FONT_SIZE = 8  # points
_DOTS_PER_INCH = 150
_MAX_DOTS = 12_000  # per side; the maps of a page of text would otherwise not fit in memory

_FORMATTERS_OF_NUMBERS = (LogFormatter, ScalarFormatter, StrMethodFormatter)
_WHITE_SPACE = {" ": "␣", "\n": "↵", "\t": "⇥"}
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def readable_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Return a visible label for each token of a tokenizer of characters or of words.

    A space is shown as ␣, a line end as ↵ and `<bos>` as ⟨bos⟩. A byte of a character outside the alphabet is shown as
    0xF0, or as the character if the byte is all of it. A combining mark without its letter is shown on ◌, and an
    unprintable character as its code point.
    """
    special = set(tokenizer.all_special_tokens)
    return [
        f"⟨{token.strip('<>[]')}⟩" if token in special else _readable(token)
        for token in tokenizer.convert_ids_to_tokens(list(ids))
    ]


def readable_text(tokenizer: PreTrainedTokenizerBase, token_ids: Sequence[int]) -> str:
    """Return the text of tokens, with special tokens and invisible characters as in [`readable_tokens`]."""
    special = set(tokenizer.all_special_ids)
    return "".join(
        "".join(readable_tokens(tokenizer, list(run))) if are_special else _visible(tokenizer.decode(list(run)))
        for are_special, run in groupby(token_ids, key=special.__contains__)
    )


def start_of(text: str, length: int) -> str:
    """Return the text, shortened to `length` characters by replacing its end with …."""
    return text if len(text) <= length else text[: length - 1] + "…"


def end_of(text: str, length: int) -> str:
    """Return the text, shortened to `length` characters by replacing its start with …."""
    return text if len(text) <= length else "…" + text[1 - length :]


def heatmap_size(rows: int, columns: int) -> tuple[float, float]:
    """Return the width and height in inches of a heatmap, with room for labels and a title."""
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
        axes: The axes to draw on.
        matrix: (rows, columns) of numbers.
        rows: A label for each row; defaults to its number.
        columns: A label for each column, rotated if it is longer than a character; defaults to its number.
        title: Text above the matrix.
        xlabel: Label of the x axis, the columns.
        ylabel: Label of the y axis, the rows.
        options: Options of `Axes.imshow`, such as `cmap`, `norm`, `vmin` and `vmax`, which map values to colours.

    Returns:
        The image, from which a colour bar can be made.
    """
    image = axes.imshow(np.asarray(matrix), **{"interpolation": "nearest", "cmap": "Blues", **options})
    axes.set_title(title, fontsize=FONT_SIZE + 2)
    axes.set_xlabel(xlabel, fontsize=FONT_SIZE)
    axes.set_ylabel(ylabel, fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    text = {"fontsize": FONT_SIZE, "parse_math": False}  # a $ is a character, not the start of a formula
    if rows is not None:
        axes.set_yticks(range(len(rows)), rows, **text)
        axes.tick_params(axis="y", length=0)
    if columns is not None:
        axes.set_xticks(range(len(columns)), columns, **text)
        axes.tick_params(axis="x", length=0)
        for label in axes.get_xticklabels():
            label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    return image


def set_decimal_signs(figure: Figure) -> None:
    """Put decimal commas on all axes and colour bars of a figure if the chosen language is Portuguese.

    Labels that are texts, such as tokens, stay as they are.
    """
    if chosen_language() != "pt":
        return
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if isinstance(major := axis.get_major_formatter(), _FORMATTERS_OF_NUMBERS):
            axis.set_major_formatter(_DecimalComma(major))
        if isinstance(minor := axis.get_minor_formatter(), _FORMATTERS_OF_NUMBERS):
            axis.set_minor_formatter(_DecimalComma(minor))


def check_writable(folder: Path) -> None:
    """Check that files can be written into a folder, which need not exist yet.

    Raises:
        ValueError: If they cannot.
    """
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        found = "a folder that cannot be written to" if existing.is_dir() else "a file"
        raise ValueError(
            f"--output_dir {folder}: found {found}, {existing}; expected a folder, or a new one: give another"
        )


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file, create its folder if necessary, and print the path.

    The resolution is reduced if the longer side would exceed about 12,000 dots.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=min(_DOTS_PER_INCH, _MAX_DOTS / max(figure.get_size_inches())), bbox_inches="tight")
    print(path)


class _DecimalComma(Formatter):
    """The labels of another formatter with a decimal comma. (matplotlib's own follow the locale of the process.)"""

    def __init__(self, formatter: Formatter) -> None:
        self._formatter = formatter

    def __call__(self, value: float, pos: int | None = None) -> str:
        return _with_comma(self._formatter(value, pos))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return [_with_comma(label) for label in self._formatter.format_ticks(values)]

    def get_offset(self) -> str:
        return _with_comma(self._formatter.get_offset())


def _with_comma(number: str) -> str:
    return number.replace(".", "{,}" if "$" in number else ",")  # in a formula a bare comma has a space after it


def _readable(token: str) -> str:
    if byte := _BYTE.fullmatch(token):
        if int(byte[1], 16) >= 0x80:  # one byte of a longer character
            return f"0x{byte[1]}"
        token = chr(int(byte[1], 16))
    shown = _visible(token)
    return f"◌{shown}" if unicodedata.combining(shown[0]) else shown


def _visible(text: str) -> str:
    return "".join(
        _WHITE_SPACE.get(character) or (character if character.isprintable() else f"U+{ord(character):04X}")
        for character in text
    )
