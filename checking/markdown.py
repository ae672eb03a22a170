"""The prose of Markdown: paragraphs, headings and cells, without code, addresses, tags and front matter."""

import html
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline, entity, html_inline, image, link, text
from markdown_it.token import Token

from .blocks import LINE_END, NOWHERE, Piece, line_starts
from .html import LEFT_OUT, html_pieces

FRONT_MATTER = re.compile(  # in YAML or TOML
    r"\A(?P<fence>---|\+\+\+)[ \t]*(?:\r\n|\r|\n)(?P<fields>.*?)(?<=[\r\n])(?:(?P=fence)|\.\.\.)[ \t]*(?=[\r\n]|\Z)",
    re.DOTALL,
)
_FORMULAS = {"$$": "$$", r"\[": r"\]"}
_LONGEST = 100  # lines of a formula
_LEFT_ALONE = re.compile(  # formulas, pages of wikis and shortcodes
    r"\$\$.{1,500}?\$\$|\\\(.{1,500}?\\\)|\\\[.{1,500}?\\\]|\[\[[^\[\]\n]{1,200}\]\](?![(\[])|\{\{[<%].{1,500}?[>%]\}\}",
    re.DOTALL,
)
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]")
_HIGHLIGHTED = re.compile(  # blocks of code of Jekyll, Hexo and Hugo
    r"\{%-?\s*(highlight|codeblock)\b(?:(?!\{%-?\s*\1\b).)*?\{%-?\s*end\1\s*-?%\}|"
    r"\{\{[<%]\s*highlight\b(?:(?!\{\{[<%]\s*highlight\b).)*?\{\{[<%]\s*/highlight\s*[>%]\}\}",
    re.DOTALL,
)
# Directives of MyST between colons: those that have no prose, and the options of all.
_NO_FENCE = r"(?:(?![ \t>]*(?:```|~~~)).*\n){,500}?"  # lines of which none begins or ends a block of code
_DIRECTIVE = re.compile(
    r"^[ \t>]*(:{3,})\{(?:code[\w-]*|eval-rst|math|mermaid|raw|sourcecode|toctree)\}.*\n"
    rf"{_NO_FENCE}[ \t>]*\1[ \t]*$",
    re.MULTILINE,
)
_OPTIONS = re.compile(
    r"^([ \t>]*:{3,}\{[^{}\n]+\}.*\n)"
    rf"((?:[ \t>]*:[\w-]+:.*\n?)+|[ \t>]*---\n{_NO_FENCE}[ \t>]*---$)",
    re.MULTILINE,
)
_UNREAD_OPTION = re.compile(r"^(?![ \t>]*:(?:alt|caption):).+", re.MULTILINE)
# What begins an admonition or a tab of MkDocs, whose content is indented.
_INDENTING = re.compile(r"( *)(?:(?:!!!|\?\?\?\+?) +[a-z][\w -]*|===[!+]? +(?=\"))(?:\"[^\"]*\")?\s*")
_DEEPEST = 5  # of these, one in the other
# What leads to a heading: `(#um-dois)`, `href="#um-dois"` or `[a]: #um-dois`.
_ANCHOR = re.compile(r"""\(#([^\s()]+)\)|\bhref=["']#([^"']+)|^[ \t]*\[[^\]\n]+\]:[ \t]*#(\S+)""", re.MULTILINE)
_TAG = re.compile(rf"<(/?)(?:{'|'.join(sorted(LEFT_OUT))})(?:\s.*)?(?<!/)>", re.IGNORECASE | re.DOTALL)
_SIGNS = re.compile(r"[^\w\s`\[\]()*_~\\]+")  # that are not markup


def markdown_pieces(source: str) -> Iterator[list[Piece]]:
    """Yield the pieces of each block. Front matter is left out, and headings to which a link in the file leads."""
    anchors = {unquote(each).lower() for found in _ANCHOR.finditer(source) for each in found.groups() if each}
    rest = source
    if front := FRONT_MATTER.match(source):  # as many empty lines keep the numbers of the others
        rest = "\n" * len(LINE_END.findall(front.group())) + source[front.end() :]
    rest = LINE_END.sub("\n", rest)
    for left_out in (_HIGHLIGHTED, _DIRECTIVE):
        rest = left_out.sub(lambda found: "\n" * found.group().count("\n"), rest)
    rest = _OPTIONS.sub(lambda found: found[1] + _UNREAD_OPTION.sub("", found[2]), rest)
    starts = line_starts(source)
    parser = _parser()
    references: dict = {}
    cursors: dict[int, int] = {}  # where to look on in lines that have several blocks: rows of a table
    before = kind = ""
    for token in parser.parse(_without_indents(parser, rest), references):
        before, kind = kind, token.type
        if token.map is None:
            continue
        if token.type == "html_block":
            first, last = (starts[line] if line < len(starts) else len(source) for line in token.map)
            yield from html_pieces(source[first:last], first)
        elif token.type == "inline":
            if before == "heading_open" and _anchor_of(token.content) in anchors:
                continue
            if before in ("td_open", "th_open"):
                token.content = token.content.replace("|", r"\|")  # as the file has it
            places = _line_places(token, source, starts, cursors)
            yield list(_inline_pieces(parser, token.content, places, references))


def _without_indents(parser: MarkdownIt, text: str) -> str:
    """Return a text with a heading for what begins an admonition or a tab of MkDocs, and its content not indented."""
    lines = text.split("\n")
    for _ in range(_DEEPEST):
        if not any(map(_INDENTING.fullmatch, lines)):
            break
        before = lines[:]
        tokens = parser.parse("\n".join(lines))  # by which a block of code that shows one is known
        paragraphs = [token.map for before, token in pairwise(tokens) if before.type == "paragraph_open" and token.map]
        end = 0
        for number in (line for first, last in paragraphs for line in range(first, last)):
            if number < end or not (opening := _INDENTING.fullmatch(lines[number])):
                continue
            lines[number] = re.sub(r"[!?=+]+", lambda sign: "#" * len(sign.group()), lines[number], count=1)
            content = re.compile(rf"({opening[1]})(?: {{4}}|\t)")
            end = number + 1
            while end < len(lines) and (content.match(lines[end]) or not lines[end].strip()):
                lines[end] = content.sub(r"\1", lines[end], count=1)
                end += 1
        if lines == before:
            break
    return "\n".join(lines)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks whose inline rules record what is text."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["inline", "text_join"])
    parser.block.ruler.before(
        "fence", "formula", _skip_formula, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("text", "left alone", _skip_left_alone)
    parser.inline.ruler.at("text", partial(_record, text))
    parser.inline.ruler.at("entity", partial(_record, entity))
    parser.inline.ruler.at("image", _enter_image)
    parser.inline.ruler.at("link", _enter_link)
    parser.inline.ruler.at("html_inline", _pass_tag)
    return parser


def _skip_formula(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Skip lines of a formula, from one that begins with its sign up to one that ends with it."""
    opening = state.bMarks[first] + state.tShift[first]
    sign = _FORMULAS.get(state.src[opening : opening + 2])
    if sign is None or state.is_code_block(first):
        return False
    for line in range(first, min(end, first + _LONGEST)):
        start = opening + 2 if line == first else state.bMarks[line] + state.tShift[line]
        _, found, rest = state.src[start : state.eMarks[line]].partition(sign)
        if found:
            if not silent and not rest.strip():
                state.line = line + 1
            return not rest.strip()
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            return False
    return False


def _skip_left_alone(state: StateInline, silent: bool) -> bool:
    found = _LEFT_ALONE.match(state.src, state.pos, state.posMax) or _FOOTNOTE.match(
        state.src, state.pos, state.posMax
    )
    if found:
        state.pos = found.end()
    return found is not None


def _record(rule: Callable[[StateInline, bool], bool], state: StateInline, silent: bool) -> bool:
    start = state.pos
    found = rule(state, silent)
    if found and not silent and not state.env["open"]:
        shift = state.env["shift"]
        stand_in = html.unescape(state.src[start : state.pos]) if rule is entity else None
        state.env["spans"].append((start + shift, state.pos + shift, stand_in))
    return found


def _enter_image(state: StateInline, silent: bool) -> bool:
    """Parse an image, whose alternative text is parsed as a text of its own, two characters after its start."""
    outside, first, before = state.env["shift"], state.pos + 2, len(state.env["spans"])
    state.env["shift"] += first
    try:
        found = image(state, silent)
    finally:
        state.env["shift"] = outside
    _keep_label(state, first, before)
    return found


def _enter_link(state: StateInline, silent: bool) -> bool:
    first, before = state.pos + 1, len(state.env["spans"])
    found = link(state, silent)
    _keep_label(state, first, before)
    return found


def _keep_label(state: StateInline, first: int, before: int) -> None:
    """Let a text that is also the label of its reference, as in `[um dois][]`, stay as it is."""
    label = state.src[first : state.pos].removesuffix("[]").removesuffix("]")
    if normalizeReference(label) in state.env.get("references", {}):
        state.env["spans"][before:] = [(start, end, "") for start, end, _ in state.env["spans"][before:]]


def _anchor_of(heading: str) -> str:
    """Return the name by which links lead to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _pass_tag(state: StateInline, silent: bool) -> bool:
    """Parse a tag; what is between `<code>` or its like and its end, or that of the block, is not recorded."""
    start = state.pos
    found = html_inline(state, silent)
    if found and not silent and (tag := _TAG.fullmatch(state.src, start, state.pos)):
        state.env["open"] = max(0, state.env["open"] + (-1 if tag[1] else 1))
    return found


def _line_places(token: Token, source: str, starts: list[int], cursors: dict[int, int]) -> list[tuple[int, int]]:
    """Return where each line of a token's content begins in it, and in the file; `NOWHERE` if it is not found."""
    places, begins = [], 0
    for number, line in enumerate(token.content.split("\n"), token.map[0] if token.map else 0):
        bare = line.strip()
        end = starts[number + 1] if number + 1 < len(starts) else len(source)
        found = source.find(bare, cursors.get(number, starts[number]), end)
        if found == -1:
            places.append((begins, NOWHERE))
        else:
            places.append((begins, found - line.index(bare)))
            cursors[number] = found + len(bare)
        begins += len(line) + 1
    return places


def _inline_pieces(
    parser: MarkdownIt, content: str, lines: list[tuple[int, int]], references: dict
) -> Iterator[Piece]:
    environment = {**references, "spans": [], "shift": 0, "open": 0}
    parser.inline.parse(content, parser, environment, [])
    last, line = 0, 0
    for start, end, entity_text in environment["spans"]:
        yield _between(content, last, start)
        while line + 1 < len(lines) and lines[line + 1][0] <= start:
            line += 1
        begins, place = lines[line]
        if entity_text is not None or place == NOWHERE:
            yield entity_text or content[start:end], NOWHERE
        else:
            yield content[start:end], place + start - begins
        last = end
    yield _between(content, last, len(content))


def _between(content: str, start: int, end: int) -> Piece:
    """Return what stands in for what is between two pieces of text: signs and code as they are, not links and tags."""
    gap = content[start:end]
    in_word = (
        gap.strip("_") == "" and content[max(0, start - 1) : start].isalnum() and content[end : end + 1].isalnum()
    )
    if "`" in gap or in_word or _SIGNS.fullmatch(gap.strip()) or _LEFT_ALONE.search(gap):
        return gap, NOWHERE
    return " " if "<" in gap or "\n" in gap else "", NOWHERE
