"""Rows of tab-separated tables, as the recipes and the command write them."""

import csv
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

_LINE_END = "\r\n"  # `csv` quotes only the characters that end its lines, and readers end lines at both


def tab_separated(cells: Sequence[Any]) -> str:
    """Return a row with its line feed; quotes, as in CSV, are around cells with tabs, quotes or any line end.

    Python's `csv` and pandas read the same cells from it, with a tab as the delimiter.
    """
    writer: Any = csv.writer(SimpleNamespace(write=str), delimiter="\t", lineterminator=_LINE_END)
    return writer.writerow(cells).removesuffix(_LINE_END) + "\n"
