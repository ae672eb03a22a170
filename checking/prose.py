"""What is prose in a file, by its name: blocks that a model may read, without code, keys and addresses."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from .blocks import NOWHERE, Block, Piece, make_block
from .html import html_pieces
from .markdown import FRONT_MATTER, markdown_pieces
from .source_code import code_pieces, message_pieces, names_of
from .structured_text import structured_pieces

Extract = Callable[[str, str], Iterator[list[Piece]]]

_PARAGRAPH = re.compile(r"(?:[^\r\n]*\S[^\r\n]*(?:\r\n|\r|\n|\Z))+")
# Lines of subtitles that nobody reads: numbers, times, and the head of a file.
_NO_SPEECH = re.compile(r"\s*(?:\d+|.*-->.*|WEBVTT.*|Kind:.*|Language:.*)?\s*", re.IGNORECASE)
_OTHER_BLOCKS = re.compile(r"(?:NOTE|STYLE|REGION)\b")
_SUBTITLE_MARKUP = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}")


class Prose(NamedTuple):
    """The prose of a file.

    Attributes:
        blocks: in the order in which they are found.
        names: identifiers of a file of code, which its comments may speak of.
    """

    blocks: list[Block]
    names: frozenset[str]


def find_prose(name: str, source: str) -> Prose:
    """Return the prose of a file.

    Args:
        name: of the file; its ending says what it is.
        source: its text.

    Raises:
        ValueError: If the ending is not known.
    """
    ending = ending_of(name)
    if ending not in ENDINGS:
        raise ValueError("unknown type")
    blocks = [make_block(pieces) for pieces in ENDINGS[ending](source, ending)]
    names = names_of(source, ending) if ENDINGS[ending] is code_pieces else frozenset()
    return Prose([block for block in blocks if _has_words(block)], names)


def _has_words(block: Block) -> bool:
    return any(place != NOWHERE and character.isalpha() for character, place in zip(block.text, block.places))


def ending_of(name: str) -> str:
    """Return the ending by which a file is read, such as `.md`."""
    return PurePath(name).suffix.lower()


def _markdown(source: str, ending: str) -> Iterator[list[Piece]]:
    if front := FRONT_MATTER.match(source):
        start = front.start(1)
        for pieces in code_pieces(front[1], ".yaml"):
            yield [(text, place if place == NOWHERE else place + start) for text, place in pieces]
    yield from markdown_pieces(source)


def _html(source: str, ending: str) -> Iterator[list[Piece]]:
    return html_pieces(source)


def _text(source: str, ending: str) -> Iterator[list[Piece]]:
    for match in _PARAGRAPH.finditer(source):
        yield [(match.group(), match.start())]


def _subtitles(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield all that is said as one block, because sentences go across cues."""
    pieces: list[Piece] = []
    for paragraph in _PARAGRAPH.finditer(source):
        if _OTHER_BLOCKS.match(paragraph.group()):
            continue
        for line in re.finditer(r"[^\r\n]+", paragraph.group()):
            if _NO_SPEECH.fullmatch(line.group()):
                continue
            start, last = paragraph.start() + line.start(), 0
            for markup in _SUBTITLE_MARKUP.finditer(line.group()):
                pieces.append((line.group()[last : markup.start()], start + last))
                last = markup.end()
            pieces += [(line.group()[last:], start + last), (" ", NOWHERE)]
    yield pieces


_CODE = (
    ".bash .c .cc .cjs .cpp .cs .css .dart .ex .exs .go .h .hpp .java .jl .js .jsx .kt .kts .lua .mjs .php .pl .ps1 "
    ".py .pyi .r .rb .rs .scala .scss .sh .sql .swift .toml .ts .tsx .zsh"
)
ENDINGS: dict[str, Extract] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd"), _markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".vue", ".svelte"), _html),
    **dict.fromkeys((".json", ".jsonl", ".yaml", ".yml"), code_pieces),
    **dict.fromkeys((".srt", ".vtt"), _subtitles),
    **dict.fromkeys(_CODE.split(), code_pieces),
    ".po": message_pieces,
    ".rst": structured_pieces,
    ".txt": _text,
}
