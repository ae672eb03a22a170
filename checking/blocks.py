"""Blocks of prose: a text as the model reads it, and the place in the file of each of its characters."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

NOWHERE = -1  # the place of what stands in for something else, such as `ã` for `&atilde;`
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
            if start == NOWHERE:
                places += [NOWHERE] * len(composed)
            elif len(composed) == len(part):
                places += range(start + at, start + at + len(part))
            else:  # letter and mark are one character, which has its mark already
                places += [NOWHERE] * len(composed)
    return Block("".join(texts).translate(_SPACES), places)


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> bytearray:
    """Return 1 for each place of a text that is in one of some spans, 0 for all others and for its end."""
    marked = bytearray(len(text) + 1)
    for start, end in spans:
        marked[start:end] = b"\1" * (end - start)
    return marked
