"""Files as lines of UTF-8, and JSON texts, with what is malformed said clearly."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from atenta.recipes.reading.records import BadRow

_UNDECODED = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as `surrogateescape` reads it


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


@contextmanager
def opened(path: str | Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a file.

    Raises:
        OSError: If the file cannot be opened, or read; the message says which file.
    """
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
        return BadRow(where, "found a NUL character, as files in UTF-16 have; expected UTF-8: save the file as UTF-8")
    if byte := _UNDECODED.search(text):
        found = f"found byte 0x{ord(byte[0]) - 0xDC00:02X} after {text[: byte.start()]!r:.80}"
        return BadRow(where, f"{found}; expected UTF-8: save the file as UTF-8")
    return None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: If it is malformed, has a key twice in an object, or too many brackets in one another.
    """
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except RecursionError:
        raise ValueError("too many brackets in one another") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r:.80} more than once in an object")
    return fields
