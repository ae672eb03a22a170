"""Records that readers yield, and checks of their values."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

# What a terminal may obey instead of showing: control characters, line separators, directions; and lone surrogates.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Record = tuple[str, dict[str, Any]]
"""The location of a row, such as `train.tsv, line 3`, and its values by column."""


class BadRow(ValueError):
    """A malformed row; its message is `train.tsv, line 3: found …; expected …`.

    Args:
        where: The location of the row.
        problem: What was found there and what was expected.
    """

    def __init__(self, where: str, problem: str):
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


def printable(text: str) -> str:
    r"""Return a text for a terminal, with control characters and changes of direction as escapes such as `\x1b`.

    Line feeds and tabs stay.
    """
    return _COMMANDS.sub(lambda found: repr(found[0])[1:-1], text)


def expect_any(rows: Iterable[Record | BadRow], problem: str) -> Iterator[Record | BadRow]:
    """Yield the rows, good and bad.

    Raises:
        ValueError: If there are no rows; `problem` is the message.
    """
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise ValueError(problem)


def expect_text(value: Any, name: str) -> str:
    """Return the value if it is a string that is not blank and has no lone surrogates.

    Args:
        value: The value.
        name: What the value is, for the message.

    Raises:
        ValueError: If it is anything else.
    """
    if value is None:
        raise ValueError(f"found no {name}; expected a text")
    if not isinstance(value, str):
        raise ValueError(f"found {value!r:.80} ({type(value).__name__}) as the {name}; expected a text")
    if not value.strip():
        raise ValueError(f"found an empty {name}; expected at least one character that is not white space")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"found the lone surrogate {value[error.start]!r} at position {error.start} of the {name}; "
            "expected complete characters: write the file again from its source, in UTF-8"
        ) from None
    return value


def expect_name(value: Any, name: str) -> str:
    """Return the name of a class or of a row: a text, or an integer, which is converted to a text.

    Raises:
        ValueError: As in `expect_text`.
    """
    return expect_text(str(value) if isinstance(value, int) else value, name)
