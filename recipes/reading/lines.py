"""Lines of UTF-8 files, one at a time, with their numbers."""

from collections.abc import Iterator
from pathlib import Path

from atenta.recipes.reading.records import BadRow

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: str | Path) -> Iterator[tuple[int, str | BadRow]]:
    """Yield each line's number, from 1, and its text without its end, or what is wrong with it.

    Lines end with a line feed, before which a carriage return may stand; other separators, such as U+2028, belong to
    the text. A byte order mark at the beginning is no part of it.

    Raises:
        OSError: if the file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            yield number, decode(line.removesuffix(b"\n").removesuffix(b"\r"), f"{path}, line {number}")


def decode(line: bytes, where: str) -> str | BadRow:
    """Return the text of UTF-8, or what is wrong with it: lone surrogates are no UTF-8 either."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadRow(
            where,
            f"found byte 0x{line[error.start]:02X} at byte {error.start + 1} ({error.reason}); expected UTF-8, which "
            "has no lone surrogates: save the file as UTF-8",
        )
