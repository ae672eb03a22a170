"""The prose of HTML: text outside code and scripts, and the attributes that people read."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from .blocks import NOWHERE, Piece, pieces_around

LEFT_OUT = {"code", "i18n", "kbd", "math", "pre", "samp", "script", "style", "svg", "tt", "var"}
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


def html_pieces(source: str, start: int = 0) -> Iterator[list[Piece]]:
    """Yield the pieces of each block of a piece of HTML that begins at a place of the file."""
    reader = _Reader(source, start)
    reader.feed(source)
    reader.close()
    reader.end_block()
    yield from reader.blocks


class _Reader(HTMLParser):
    def __init__(self, source: str, start: int) -> None:
        super().__init__(convert_charrefs=False)
        self._line_starts = [start, *(start + match.end() for match in re.finditer("\n", source))]
        self._open = 0  # elements that are left out and not closed
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
                self.blocks.append([*pieces_around(_ENTITY, match[group], start, html.unescape)])
        if tag in LEFT_OUT:
            self._open += 1
        self._tag(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in LEFT_OUT:
            self._open -= 1

    def handle_endtag(self, tag: str) -> None:
        if tag in LEFT_OUT:
            self._open = max(0, self._open - 1)
        self._tag(tag)

    def handle_data(self, data: str) -> None:
        if not self._open:
            self._pieces.append((data, self._place()))

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

    def _stand_in(self, text: str) -> None:
        if not self._open:
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
