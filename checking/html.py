"""The prose of HTML: text outside code and scripts, and the attributes that people read."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from .blocks import NOWHERE, Piece, pieces_around

LEFT_OUT = {"code", "i18n", "kbd", "math", "pre", "samp", "script", "style", "svg", "tt", "var"}
_IN_SENTENCES = {"code", "kbd", "samp", "tt", "var"}  # of these; one that is not closed ends with its paragraph
_PARAGRAPHS = {"dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "td", "th"}
# Tags within a sentence; all others part blocks.
INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr b bdi bdo big cite del dfn em font i img ins mark q s small span strike strong sub sup time u wbr",
    )
)
_READ = {"alt", "aria-label", "placeholder", "title"}
_READ_META = {"description", "title"}  # also `og:title`, `twitter:description`
_ATTRIBUTE = re.compile(r"([^\s=>\"'/]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|[^\s>]+)")
_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
# Tags of Svelte and JSX, whose values have braces and in them `=>`, which would be an end.
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_START_TAG = re.compile(rf"<[a-zA-Z](?:[^<>\"'{{}}]|{_QUOTED}|{_BRACES})*+")
_VALUE = re.compile(rf"({_QUOTED})|{_BRACES}")


def html_pieces(source: str, start: int = 0) -> Iterator[list[Piece]]:
    """Yield the pieces of each block of a piece of HTML that begins at a place of the file."""
    reader = _Reader(source, start)
    # Places stay; only the tags are read from it.
    reader.feed(_START_TAG.sub(lambda tag: _VALUE.sub(_without_braces, tag.group()), source))
    reader.close()
    reader.end_block()
    yield from reader.blocks


class _Reader(HTMLParser):
    def __init__(self, source: str, start: int) -> None:
        super().__init__(convert_charrefs=False)
        self._source, self._start = source, start
        self._line_starts = [start, *(start + match.end() for match in re.finditer("\n", source))]
        self._open = 0  # elements that are left out and not closed
        self._open_in_sentence = 0
        self._paragraphs = 0  # that are open in one of these
        self._missing: set[str] = set()  # signs of which the rest of the file has none
        self._pieces: list[Piece] = []
        self.blocks: list[list[Piece]] = []

    def end_block(self) -> None:
        if self._pieces:
            self.blocks.append(self._pieces)
            self._pieces = []

    def parse_starttag(self, i: int) -> int:
        """Return the end of a tag, or -1; HTMLParser takes the square of the time if no tag of many has an end."""
        return -1 if self._end(">", i) == -1 else super().parse_starttag(i)

    def parse_comment(self, i: int, report: bool = True) -> int:
        """Return the end of a comment, or -1, as quickly."""
        return -1 if self._end(">", i) == -1 else super().parse_comment(i, report)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Return the end of `<![CDATA[…]]>` or `<![if …]>`, of which HTMLParser only knows some, or -1."""
        sign = "]]>" if self.rawdata.startswith("<![CDATA[", i) else ">"
        return self._end(sign, i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raw, place = self.get_starttag_text() or "", self._place()
        read = _READ
        if tag == "meta" and {(value or "").lower().rpartition(":")[2] for _, value in attrs} & _READ_META:
            read = {"content"}
        for match in _ATTRIBUTE.finditer(raw):
            group = 3 if match[2] is None else 2
            if match[1].lower() in read and match[group]:
                start = place + match.start(group)
                self.blocks.append([*pieces_around(_ENTITY, self._text(start, match[group]), start, html.unescape)])
        self._count(tag, 1)
        self._tag(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._count(tag, -1)

    def handle_endtag(self, tag: str) -> None:
        self._count(tag, -1)
        self._tag(tag)

    def handle_data(self, data: str) -> None:
        if self._is_read():
            self._pieces.append((self._text(self._place(), data), self._place()))

    def handle_entityref(self, name: str) -> None:
        text = html.unescape(f"&{name};")
        self._stand_in(f"&{name}" if text == f"&{name};" else text)  # P&D has no semicolon

    def handle_charref(self, name: str) -> None:
        self._stand_in(html.unescape(f"&#{name};"))

    def _tag(self, tag: str) -> None:
        if tag == "br" or tag in LEFT_OUT - {"pre"}:
            self._pieces.append((" ", NOWHERE))
        elif tag not in INLINE:
            self.end_block()

    def _count(self, tag: str, change: int) -> None:
        """Count an element that begins, 1, or ends, -1."""
        if tag in _IN_SENTENCES:
            self._open_in_sentence = max(0, self._open_in_sentence + change)
        elif tag in LEFT_OUT:
            self._open = max(0, self._open + change)
        elif tag in _PARAGRAPHS and self._open_in_sentence:
            self._paragraphs += change
            if self._paragraphs < 0:
                self._open_in_sentence = 0
        if not self._open_in_sentence:
            self._paragraphs = 0

    def _is_read(self) -> bool:
        return not (self._open or self._open_in_sentence)

    def _text(self, place: int, fed: str) -> str:
        """Return what the file has where a text was fed."""
        first = place - self._start
        return self._source[first : first + len(fed)]

    def _stand_in(self, text: str) -> None:
        if self._is_read():
            self._pieces.append((text, NOWHERE))

    def _end(self, sign: str, start: int) -> int:
        """Return where the next sign of a kind ends, or -1; one that is missing is looked for only once."""
        found = -1 if sign in self._missing else self.rawdata.find(sign, start)
        if found == -1:
            self._missing.add(sign)
            return -1
        return found + len(sign)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column


def _without_braces(value: re.Match[str]) -> str:
    return value[1] or re.sub(r"[^\n]", "x", value.group())
