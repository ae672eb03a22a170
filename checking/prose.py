"""The prose of a file, by its name: blocks that a model may read, without code, keys and addresses."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from .blocks import NOWHERE, Block, Piece, make_block, pieces_around
from .html import html_pieces
from .markdown import FRONT_MATTER, markdown_pieces
from .source_code import code_pieces, message_pieces, names_of
from .structured_text import structured_pieces

Extract = Callable[[str, str], Iterator[list[Piece]]]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MODULE = re.compile(r"(?:import|export)\b")  # a paragraph of MDX that is code
# Fields of front matter of which sites make addresses, with all lines of their values.
_OF_SITES = re.compile(
    r"(?<![^\r\n])[\"']?(?:alias(?:es)?|categor(?:y|ies|ias?)|layout|permalink|redirect_from|series|slug|tags?|url)"
    r"[\"']?[ \t]*[:=][^\r\n]*(?:[\r\n]+(?:[ \t]+|[-\]])[^\r\n]*)*",
    re.IGNORECASE,
)
_FOR_PROGRAMS = re.compile(r"(?:cmakelists|constraints|robots|[\w.-]*requirements[\w.-]*)\.txt", re.IGNORECASE)
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
    """Return the prose of a file with a name, whose ending is one of `ENDINGS` and says what it is, and a text."""
    ending = ending_of(name)
    blocks = [make_block(pieces) for pieces in ENDINGS[ending](source, ending)]
    names = names_of(source, ending) if ending in _CODE else frozenset()
    return Prose([block for block in blocks if _has_words(block)], names)


def _has_words(block: Block) -> bool:
    return any(place != NOWHERE and character.isalpha() for character, place in zip(block.text, block.places))


def ending_of(name: str) -> str:
    """Return the ending by which a file is read, such as `.md`; none for a `.txt` that a program reads by its name."""
    return "" if _FOR_PROGRAMS.fullmatch(name) else PurePath(name).suffix.lower()


def _markdown(source: str, ending: str) -> Iterator[list[Piece]]:
    if front := FRONT_MATTER.match(source):
        start = front.start("fields")
        fields = _OF_SITES.sub(lambda field: re.sub(r"[^\r\n]", "#", field.group()), front["fields"])
        for pieces in code_pieces(fields, ".yaml" if front["fence"] == "---" else ".toml"):
            yield [(text, place if place == NOWHERE else place + start) for text, place in pieces]
    for pieces in markdown_pieces(source):
        if not (ending == ".mdx" and _MODULE.match("".join(text for text, _ in pieces))):
            yield pieces


def _text(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield the lines of each paragraph."""
    lines: list[Piece] = []
    for line in _LINE.finditer(source):
        if line.group().isspace():
            yield lines
            lines = []
        else:
            lines.append((line.group(), line.start()))
    yield lines


def _subtitles(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield all that is said as one block, because sentences go across cues."""
    pieces: list[Piece] = []
    for lines in _text(source, ending):
        if lines and _OTHER_BLOCKS.match(lines[0][0]):
            continue
        for line, start in lines:
            if not _NO_SPEECH.fullmatch(line):
                pieces += pieces_around(_SUBTITLE_MARKUP, line, start)
    yield pieces


_CODE = frozenset(
    re.findall(
        r"\S+",
        ".bash .c .cc .cjs .cpp .cs .css .dart .ex .exs .go .h .hpp .java .jl .js .jsx .kt .kts .lua .mjs .php .pl "
        ".ps1 .py .pyi .r .rb .rs .scala .scss .sh .sql .swift .toml .ts .tsx .zsh",
    )
)
ENDINGS: dict[str, Extract] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd"), _markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".vue", ".svelte"), lambda source, ending: html_pieces(source)),
    **dict.fromkeys((".json", ".jsonl", ".yaml", ".yml"), code_pieces),
    **dict.fromkeys((".srt", ".vtt"), _subtitles),
    **dict.fromkeys(_CODE, code_pieces),
    ".po": message_pieces,
    ".rst": structured_pieces,
    ".txt": _text,
}
