"""The prose of reStructuredText, by the tokens of Pygments: paragraphs, headings, some directives."""

import re
from collections.abc import Iterator
from itertools import chain

from pygments.lexers.markup import RstLexer
from pygments.token import Generic, Name, String, Text

from .blocks import NOWHERE, Piece, mark_spans

# Directives whose argument and content are prose, and those of which only the content is.
_PROSE = frozenset(
    re.findall(
        r"[\w-]+",
        "admonition attention caution danger deprecated epigraph error hint important list-table note "
        "pull-quote rubric seealso sidebar table tip topic versionadded versionchanged warning",
    )
)
_PROSE_INSIDE = frozenset(
    re.findall(
        r"[\w-]+",
        "attribute class cmdoption confval container data decorator describe envvar exception figure function method "
        "object option property",
    )
)
_DIRECTIVE = re.compile(
    r"^([ \t]*)(?:[-*][ \t]+)?\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w:.+-]+?)::(.*\n?)((?:[ \t]*\n|\1[ \t]+.*\n?)*)",
    re.MULTILINE,
)
_OPTION = re.compile(r"^[ \t]*:[\w-]+:.*", re.MULTILINE)
_READ_OPTION = re.compile(r"[ \t]*:(?:alt|caption):[ \t]+(.*)")
# A link with a text: `um dois <alvo>` after one of these roles, or the beginning of `um dois <http://alvo>`_.
_TITLED = {":any:", ":doc:", ":download:", ":numref:", ":ref:", ":term:"}
_TITLE = re.compile(r"`([^`<>\n]+ )(?:<[^`<>\n]+>`)?")
_EXAMPLE = re.compile(r"^[ \t]*>>> .*\n(?:[ \t]*\S.*\n)*", re.MULTILINE)  # of a session, with what it prints
# What follows a paragraph that ends with `::`; the lexer does not know it in items, nor before a carriage return.
_LITERAL = re.compile(
    r"^(?![ \t]*(?:[-*+][ \t]+)?\.\.[ \t]).*::[ \t]*\n(?:[ \t]*\n)+([ \t]+)\S.*\n(?:[ \t]*\n|\1.*\n)*", re.MULTILINE
)
_HEADING = re.compile(r"^[ \t]*(\S.*)\n([!-/:-@\[-`{-~])\2+[ \t]*$", re.MULTILINE)
# What may lead to one: `Um dois`_, `texto <Um dois_>`_, :ref:`guia:Um dois` and Um_.
_REFERENCE = re.compile(
    r"(?<!`)`(?!`)((?:[^`\n]|\n(?![ \t]*\n))+)`(?!`)|"
    r"(?<!\w)(?<!\w[-._+:])([^\W_]+(?:[-._+:][^\W_]+)*)__?(?!\w)"
)


def structured_pieces(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield the pieces of each paragraph, heading, item and cell."""
    text = source.replace("\r\n", " \n").replace("\r", "\n") + "\n"
    for start, end in _read_options(text, 0, len(text)):
        yield [(text[start:end], start)]
    examples = (match.span() for match in _EXAMPLE.finditer(text))
    literals = ((match.start(1), match.end()) for match in _LITERAL.finditer(text))
    references = [*_REFERENCE.finditer(text)]
    of_lines = (found.span() for found in references if found[1] and "\n" in found[1] and "<" not in found[1])
    names = {_name_of(part) for found in references for part in _parts(found[1] or found[2])}
    headings = (match.span(1) for match in _HEADING.finditer(text) if _name_of(match[1]) in names)
    left_out = mark_spans(text, chain(_left_out(text, 0, len(text)), examples, literals, of_lines, headings))
    pieces: list[Piece] = []
    for start, kind, value in RstLexer(handlecodeblocks=False).get_tokens_unprocessed(text):
        if kind in Text or kind in Generic:
            for part in re.finditer(r"\n[ \t]*(?=\n)|[^\n]+|\n", value[: len(source) - start]):
                at = start + part.start()
                paragraph_ends = part.group().startswith("\n") and (
                    len(part.group()) > 1 or text[at + 1 : at + 2] == "\n"
                )
                if paragraph_ends or left_out[at] or (kind in Generic.Heading and part.group() == "\n"):
                    yield pieces
                    pieces = []
                else:
                    pieces.append((part.group(), at))
        elif kind in (Name.Attribute, Name.Variable) or (kind in String and "\n" not in value):
            title = _TITLE.fullmatch(value)
            if title and not left_out[start] and (kind in String or (pieces and pieces[-1][0] in _TITLED)):
                pieces += [(" ", NOWHERE), (title[1], start + 1)]
            elif kind not in String.Interpol and value.strip("_") != "`":  # targets, and ends of links
                pieces.append((value, NOWHERE))  # roles and code between words are their context
        else:
            yield pieces
            pieces = []
    yield pieces


def _parts(reference: str) -> list[str]:
    """Return what may be the name that a reference has: all of it, what is in its brackets or after its colon."""
    return [reference, *re.split("[<>:]", reference)]


def _name_of(title: str) -> str:
    """Return the name by which references lead to a heading."""
    return " ".join(re.sub(r"[*`]|_+$", "", title).split()).lower()


def _left_out(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of what is not prose in the directives of a text."""
    for match in _DIRECTIVE.finditer(text, start, end):
        name = match[2].rpartition(":")[2]
        first, last = match.span(4)
        if name in _PROSE or name in _PROSE_INSIDE:
            if name in _PROSE_INSIDE:
                yield match.start(), match.end(3)
            yield from (option.span() for option in _OPTION.finditer(text, first, last))
            yield from _left_out(text, first, last)
        else:
            yield match.span()


def _read_options(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each alternative text and caption in the directives of a text."""
    for match in _DIRECTIVE.finditer(text, start, end):
        first, last = match.span(4)
        while option := _OPTION.match(text, first, last):  # options stand first
            if read := _READ_OPTION.match(text, first, last):
                yield read.span(1)
            first = option.end() + 1
        if match[2].rpartition(":")[2] in _PROSE | _PROSE_INSIDE:
            yield from _read_options(text, first, last)
