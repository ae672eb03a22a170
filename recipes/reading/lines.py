"""Files as lines of UTF-8, and JSON texts, with what is malformed said clearly."""

import codecs
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from atenta.recipes.reading.records import BadRow

_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DEEPEST_JSON = 100  # brackets in brackets; Python's own limit depends on where it is called


def read_lines(path: str | Path) -> Iterator[tuple[int, str | BadRow]]:
    """Yield the number of each line, from 1, and its text without the line end, or a bad row if it is not UTF-8.

    Lines end with a line feed or with a carriage return and a line feed. Other separators, such as U+2028, are part
    of the text. A byte order mark at the beginning of the file is skipped. A line with a NUL, as every line in UTF-16
    has, is a bad row.

    Raises:
        OSError: If the file cannot be read.
    """
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            yield number, decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), f"{path}, line {number}")


@contextmanager
def opened(path: str | Path) -> Iterator[BufferedReader]:
    """Open a file at its beginning, after a byte order mark.

    Raises:
        OSError: If the file cannot be opened, or read; the message says which file.
    """
    try:
        with Path(path).open("rb") as file:
            if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            yield file
    except OSError as error:
        raise type(error)(f"{path}: {error.strerror or error}; expected a file that can be read") from None


def decode_line(line: bytes, where: str) -> str | BadRow:
    """Return the text of a line, or a bad row at `where` if it is not UTF-8 or has a NUL."""
    if b"\0" in line or line.startswith(_UTF_16_MARKS):
        found = "the byte order mark" if line.startswith(_UTF_16_MARKS) else "a NUL character, probably"
        return BadRow(where, f"found {found} of UTF-16; expected UTF-8, without NUL: save the file as UTF-8")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadRow(
            where,
            f"found byte 0x{line[error.start]:02X} at byte {error.start + 1} ({error.reason}); expected UTF-8, which "
            "has no lone surrogates: save the file as UTF-8",
        )


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: If it is malformed, has a key twice in an object, a number that JSON does not have (NaN, Infinity)
            or one too long for Python, or more than 100 brackets in one another.
    """
    too_deep = ValueError(f"more than {_DEEPEST_JSON} brackets in one another")
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse, parse_int=_integer)
    except RecursionError:
        raise too_deep from None
    values = [value]
    for _ in range(_DEEPEST_JSON + 1):
        containers = [inner for inner in values if isinstance(inner, dict | list)]
        values = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    if values:
        raise too_deep
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated = next(name for name in fields if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {repeated!r:.80} more than once in an object")
    return fields


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is no number in JSON")


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"a number of {len(digits):,} digits, {digits:.20}…") from None
