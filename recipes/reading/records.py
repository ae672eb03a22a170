"""The parts of all readers: rows and malformed rows, lines of UTF-8, JSON, checks of values; rows that are written."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

# What a terminal may obey instead of showing: control characters, line separators, directions; and lone surrogates.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNDECODED = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as `surrogateescape` reads it
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)  # brackets within strings are text
_LINE_END = "\r\n"  # `csv` quotes only the characters that end its lines, and readers end lines at both
_DEEPEST = 100  # brackets around a value; Python cannot read, or show in an error, more than some hundreds

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


def expect_any(rows: Iterable[Record | BadRow], problem: str) -> Iterator[Record | BadRow]:
    """Yield the rows, good and bad; raise ValueError with this message if there are none."""
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise ValueError(problem)


def good_rows(
    records: Iterable[Record | BadRow], check: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location of each record and the row that `check` makes of it; raise the first bad row."""
    for record in records:
        if isinstance(record, BadRow):
            raise record
        where, fields = record
        try:
            row = check(fields)
        except ValueError as error:
            raise BadRow(where, str(error)) from None
        yield where, row


# Files


@contextmanager
def opened(path: str | Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a file; an OSError, also one while it is read, says which file it is."""
    try:
        with Path(path).open(mode, **options) as file:
            yield file
    except OSError as error:
        raise type(error)(f"{path}: {error.strerror or error}; expected a file that can be read") from None


def open_text(path: str | Path) -> Any:
    """Open a file of lines that end with a line feed, whatever bytes are in them; see `wrong_encoding`."""
    return opened(path, "r", encoding="utf-8-sig", errors="surrogateescape", newline="\n")


def wrong_encoding(text: str, where: str) -> BadRow | None:
    """Return a bad row if a text from `open_text` was not UTF-8 or has a NUL."""
    if "\0" in text:
        return BadRow(
            where,
            "found a NUL character, as files in UTF-16 have; expected UTF-8: save it so, such as with "
            "`iconv -f utf-16 -t utf-8 OLD > NEW`",
        )
    if byte := _UNDECODED.search(text):
        found = f"found byte 0x{ord(byte[0]) - 0xDC00:02X} after {text[: byte.start()]!r:.80}"
        return BadRow(where, f"{found}; expected UTF-8: save it so, such as with `iconv -f latin1 -t utf-8 OLD > NEW`")
    return None


def read_lines(path: str | Path) -> Iterator[tuple[int, str | BadRow]]:
    """Yield the number of each line, from 1, and its text without the line end, or a bad row if it is not UTF-8.

    Lines end with a line feed or with a carriage return and a line feed. Other separators, such as U+2028, are part
    of the text. A byte order mark at the beginning of the file is skipped. A line with a NUL, as every line in UTF-16
    has, is a bad row.

    Raises:
        OSError: If the file cannot be read.
    """
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.removesuffix("\n").removesuffix("\r")
            yield number, wrong_encoding(text, f"{path}, line {number}") or text


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: If it is malformed, has a key twice in an object, or more than 100 brackets in one another.
    """
    if text.count("[") + text.count("{") > _DEEPEST:
        depth = 0
        for token in _JSON_TOKEN.finditer(text):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
            if depth > _DEEPEST:
                raise json.JSONDecodeError(f"more than {_DEEPEST} brackets in one another", text, token.start())
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r:.80} more than once in an object")
    return fields


# Values


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


def expect_texts(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the values of these names, each a text as in `expect_text`."""
    return {name: expect_text(fields.get(name), name) for name in names}


def expect_name(value: Any, name: str) -> str:
    """Return the name of a class or of a row: a text as in `expect_text`, or an integer, which becomes a text."""
    return expect_text(str(value) if isinstance(value, int) else value, name)


# Tables and terminals


def tab_separated(cells: Sequence[Any]) -> str:
    """Return a row of a table with its line feed; cells with tabs, quotes or any line end are quoted, as in CSV.

    Python's `csv` and pandas read the same cells from it, with a tab as the delimiter.
    """
    writer: Any = csv.writer(SimpleNamespace(write=str), delimiter="\t", lineterminator=_LINE_END)
    return writer.writerow(cells).removesuffix(_LINE_END) + "\n"


def printable(text: str) -> str:
    r"""Return a text for a terminal, with control characters and changes of direction as escapes such as `\x1b`.

    Line feeds and tabs stay.
    """
    return _COMMANDS.sub(lambda found: repr(found[0])[1:-1], text)


@contextmanager
def exit_on(*kinds: type[Exception], prefix: str = "") -> Iterator[None]:
    """End the process if there is an error of these kinds, with its message in one line, after a prefix."""
    try:
        yield
    except kinds as error:
        raise SystemExit(printable(f"{prefix}{error}").replace("\n", r"\n")) from None
