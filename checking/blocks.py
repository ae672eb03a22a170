"""Blocks of prose: a text as the model reads it, and the place in the file of each of its characters."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

NOWHERE = -1  # the place of what stands in for something else, such as `ã` for `&atilde;`
LINE_END = re.compile(r"\r\n|\r|\n")
_CLUSTER = re.compile(r"[^\u0300-\u036f][\u0300-\u036f]*|[\u0300-\u036f]+")  # a letter and the marks after it
_SPACES = dict.fromkeys(map(ord, "\n\r\t\v\f\u2028\u2029"), " ")

# A text, and the place in the file where it begins; `NOWHERE` for a text that is not in the file.
Piece = tuple[str, int]


class Block(NamedTuple):
    """A paragraph, heading, string or comment.

    Attributes:
        text: in NFC, in one line.
        places: the place in the file's text of each character, or `NOWHERE`.
    """

    text: str
    places: list[int]


def make_block(pieces: Iterable[Piece]) -> Block:
    """Join pieces of a file, and what stands in for others, as one text."""
    texts, places = [], []
    for text, start in pieces:
        for match in [None] if unicodedata.is_normalized("NFC", text) else _CLUSTER.finditer(text):
            at, part = (0, text) if match is None else (match.start(), match.group())
            composed = unicodedata.normalize("NFC", part)
            texts.append(composed)
            if start == NOWHERE or len(composed) != len(part):  # a letter that is one with its mark has it already
                places += [NOWHERE] * len(composed)
            else:
                places += range(start + at, start + at + len(part))
    return Block("".join(texts).translate(_SPACES), places)


def pieces_around(
    pattern: re.Pattern[str], text: str, start: int, stand_in: Callable[[str], str] = lambda found: ""
) -> Iterator[Piece]:
    """Yield what is around the matches of a pattern in a text that begins at a place, and what stands in for them."""
    last = 0
    for match in pattern.finditer(text):
        yield text[last : match.start()], start + last
        yield stand_in(match.group()), NOWHERE
        last = match.end()
    yield text[last:], start + last


def line_starts(source: str) -> list[int]:
    """Return where each line of a file begins."""
    return [0, *(match.end() for match in LINE_END.finditer(source))]


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> bytearray:
    """Return 1 for each place of a text that is in one of some spans, 0 for all others and for its end."""
    marked = bytearray(len(text) + 1)
    for start, end in spans:
        marked[start:end] = b"\1" * (end - start)
    return marked
