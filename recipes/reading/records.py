"""What a format reader yields for each row of a file: what it holds, or what is wrong with it."""

from collections.abc import Iterable, Iterator
from typing import Any

Record = tuple[str, dict[str, Any]]
"""Where a row stands, such as `train.tsv, line 3`, and its values by their columns."""


class BadRow(ValueError):
    """A malformed row: where it stands, what was found there and what was expected."""

    def __init__(self, where: str, problem: str):
        """Take both; the message is `train.tsv, line 3: found …; expected …`."""
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


def expect_any(rows: Iterable[Record | BadRow], problem: str) -> Iterator[Record | BadRow]:
    """Yield the rows, good and bad.

    Raises:
        ValueError: there are none; `problem` is the message.
    """
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise ValueError(problem)
