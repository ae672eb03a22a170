"""The prose of code and data, by the tokens of Pygments: comments, strings and values; and translated messages."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename
from pygments.token import Comment, Literal, Name, String, _TokenType

from .blocks import NOWHERE, Piece, pieces_around
from .program_values import Token, is_for_programs, without_program_values

_YAML = (".yaml", ".yml")
_SHELL = (".bash", ".sh", ".zsh")  # whose here-documents begin with <<
_DATA = (".json", ".jsonl", *_YAML)
_NO_COMMENTS = (Comment.Hashbang, Comment.Preproc, Comment.PreprocFile, Comment.Special)
_NO_TEXT = (String.Affix, String.Char, String.Delimiter, String.Heredoc, String.Other, String.Regex, String.Symbol)
# What a line of code has and one of prose has not: `palavra(s)` is prose.
_CODE = re.compile(
    r"[=|\\]|[;{]\s*$|\w\((?!e?s\)|as?\))|\w\[|"
    r"^\W*(?<![@:\\])(?:import|from|def|class|return|if|elif|for|while|else|try|except|raise|assert|const|let|var|"
    r"function|public|private|static|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER)\b|"
    r"^\w+:\"[^\s\"]+\"(?:\s|$)"  # as a tag of Go
)
_EXAMPLE = re.compile(r"\s*[#*]*\s*(?:>>>|\.\.\.|\$) ")  # of a session
_MARKERS = re.compile(r"\s*(?:#+|//+!?|/\*+|\*+/?|--+|;+|%+|<!--)?\s*")
# What names a parameter: `@param nome`, `:param nome:`, `nome (str): `; or `@return`, which names none.
_PARAMETER = re.compile(
    r"(?:[@\\](?:returns?\b(?:\s*\{[^}]*\})?|\w+\s+(?:\{[^}]*\}\s*)?[\[\w.\]]+)|:\w+[^:]*:|"
    r"[\w*.]+(?:\s*\([^)]*\))?\s*:(?=\s|$))(?:\s+|$)"
)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_TRANSLATION = re.compile(rf"(?<![^\r\n])msgstr(?:\[\d+\])?((?:\s*{_STRING.pattern})+)")
_ESCAPES = re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|.))+", re.DOTALL)
_FILE = re.compile(
    r"\A[^.,:;!?]{,30}\w\.(?:csv|tsv|txt|xlsx?|ods|pdf|docx?|odt|pptx?|json|xml|ya?ml|html?|md|png|jpe?g|gif|svg|zip|sql|db|mp[34]|wav)\Z",
    re.IGNORECASE,
)
_LEXED_AS = {".r": ".R", ".pl": ".perl"}  # to Pygments .r is REBOL's, and .pl Prolog's
# What is between tags and braces in JSX: `<p>Bom dia, {nome}!</p>`, without signs that code has and prose seldom has.
_JSX_TEXT = re.compile(r"(?<![=-])>[^<>{}=;()]*(?=\{|<[/\w])|\}[^<>{}=;()]*(?=<[/\w])")
# A string that begins so, not with a capital alone, is for a database, whole or in part: *Join das tabelas* is prose.
_SQL = re.compile(
    r"\W*(?:select|from\s+\w+|where|having|insert\s+into|update\s+\S+\s+set|delete\s+from|and|or|merge\s+into|"
    r"(?:create|alter|drop|truncate)\s+(?:table|view|index)|(?:order|group)\s+by|with\s+\w+\s+as|"
    r"(?:(?:inner|left|right|full|cross)\s+(?:outer\s+)?)?join)\b",
    re.IGNORECASE,
)
# One of several lines. They alone would not show it.
_STATEMENT = re.compile(r"(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH|MERGE)\b")
# A comment that describes an interface in YAML: OpenAPI.
_INTERFACE = re.compile(r"@(?:swagger|openapi)\b|^[^\w\n]*(?:parameters|responses)[ \t]*:[ \t]*$", re.MULTILINE)
_QUOTES = re.compile(r"\"\"\"|\'\'\'|[\"\'`]")


def _is_sql(text: str) -> bool:
    found = _SQL.match(text)
    return found is not None and not found[0].strip().istitle()


def code_pieces(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield the pieces of each paragraph of comments, and of each string or value of several words.

    A string that is for programs in one place, such as a key, is left alone in all of the file.
    """
    runs = [(is_comment, pieces, _joined(pieces).strip(), span) for is_comment, pieces, span in _runs(source, ending)]
    for_programs = {
        text
        for is_comment, _, text, span in runs
        if not is_comment and ending not in _DATA and re.search(r"\s", text) and is_for_programs(source, *span)
    }
    for is_comment, pieces, text, _ in runs:
        if not is_comment and text in for_programs:
            continue
        if not is_comment and (_is_sql(text) or ("\n" in text and _STATEMENT.match(text))):
            continue
        if is_comment or ("\n" in text and not ending.startswith(".json")):  # whose strings have no lines
            yield from _paragraphs(pieces)
        elif " " in text and not _CODE.search(text) and not _FILE.search(text):
            yield pieces


def message_pieces(source: str, ending: str) -> Iterator[list[Piece]]:
    """Yield the pieces of each `msgstr` of a catalogue, without its header."""
    for entry in _TRANSLATION.finditer(source):
        strings = _STRING.finditer(source, *entry.span(1))
        pieces = [piece for string in strings for piece in _unescaped(string.group(), string.start())]
        if "Content-Type:" not in _joined(pieces):
            yield pieces


def names_of(source: str, ending: str) -> frozenset[str]:
    """Return the identifiers of a file of code. Words between the tags of JSX are none."""
    if ending in (".jsx", ".tsx"):
        source = _JSX_TEXT.sub("> ", source)
    return frozenset(value for _, kind, value in _tokens(source, ending) if kind in Name)


@cache
def _lexer(ending: str) -> Lexer:
    return find_lexer_class_for_filename(f"file{_LEXED_AS.get(ending, ending)}")()


def _tokens(source: str, ending: str) -> Iterator[Token]:
    """Yield place, kind and text of each token. Lexers know line feeds only, and need one at the end."""
    text = source.replace("\r\n", " \n").replace("\r", "\n") + "\n"
    tokens = _lexer(ending).get_tokens_unprocessed(text)
    for start, kind, value in (
        without_program_values(tokens, text, in_yaml=ending in _YAML) if ending in _DATA else tokens
    ):
        yield start, kind, value[: len(source) - start]


def _runs(source: str, ending: str) -> Iterator[tuple[bool, list[Piece], tuple[int, int]]]:
    """Yield comments that follow each other, and each string or value; whether it is a comment; its start and end."""
    pieces: list[Piece] = []
    of_comment = False
    inside = 0  # braces of expressions in a string that are open
    first = last = 0
    for start, kind, value in _tokens(source, ending):
        is_comment = kind in Comment and kind not in _NO_COMMENTS
        if kind in String.Interpol:
            inside = max(0, inside + value.count("{") - value.count("}"))
            pieces.append((" ", NOWHERE))
        elif inside or kind in String.Affix:
            continue
        elif is_comment or (_is_text(kind, ending) and not (ending in _SHELL and value.startswith("<<"))):
            if is_comment != of_comment:
                yield of_comment, pieces, (first, last)
                pieces, of_comment = [], is_comment
            if not pieces:
                first = start
            last = start + len(value)
            pieces += [(value, start)] if is_comment else _unescaped(value, start)
        elif value.strip():
            if value == ":" and ending in _YAML:  # before which a string of the same line is a key
                pieces = pieces[: max((at for at, (text, _) in enumerate(pieces) if "\n" in text), default=0)]
            yield of_comment, pieces, (first, last)
            pieces = []
        elif pieces:
            pieces.append((value, start))
    yield of_comment, pieces, (first, last)


def _is_text(kind: _TokenType, ending: str) -> bool:
    if kind in String:
        return not any(kind in other for other in _NO_TEXT)
    return kind in Literal.Scalar or (ending in _YAML and kind in (Name.Constant, Name.Variable))


def _unescaped(value: str, start: int) -> Iterator[Piece]:
    r"""Return the pieces of a string token without its quotes, with what stands in for escapes such as `\n`."""
    opening = _QUOTES.match(value)
    quotes = opening.group() if opening else ""
    both = len(value) > len(quotes) and value.endswith(quotes)
    bare = value[len(quotes) : -len(quotes)] if quotes and both else value.strip("\"'`") and value
    start += len(quotes) if both else 0
    return pieces_around(_ESCAPES, bare, start, _escaped)


def _escaped(escapes: str) -> str:
    try:
        text = json.loads(f'"{escapes}"')
    except ValueError:  # those of a letter by its number, which JSON does not have, are in the middle of words
        return "x" if escapes[-1] in "xuUN01234567" else " "
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _paragraphs(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Yield the paragraphs of a comment or long string, without markers, lines of code and names of parameters."""
    text = _joined(pieces)
    places = [NOWHERE if start == NOWHERE else start + at for part, start in pieces for at in range(len(part))]
    found: list[Piece] = []
    prints = False  # whether lines may be what an example prints
    is_interface = _INTERFACE.search(text) is not None
    for line in re.finditer(r"[^\n]*\n|[^\n]+", text):
        marker = _MARKERS.match(text, line.start(), line.end())
        first, last = marker.end() if marker else line.start(), line.end()
        bare = text[first:last]
        example = _EXAMPLE.match(line.group())
        prints = bool(bare.strip()) and (prints or (example is not None and ">>>" in example.group()))
        is_code = example or prints or _CODE.search(bare) or (is_interface and _is_field(bare))
        if is_code or not any(map(str.isalpha, bare)):
            yield found
            found = []
            continue
        if parameter := _PARAMETER.match(text, first, last):
            first = parameter.end()
        borders = [at for at in range(first + 1, last) if places[at] != places[at - 1] + 1]
        for start, end in pairwise([first, *borders, last]):
            found.append((text[start:end], places[start] if start < end else NOWHERE))
        found.append((" ", NOWHERE))
    yield found


def _is_field(line: str) -> bool:
    """Return whether a line of YAML has at most a key and one word, such as a name or a reference."""
    words = line.lstrip(" \t*-").split()
    return len(words) < 2 or (len(words) == 2 and words[0].endswith(":"))


def _joined(pieces: list[Piece]) -> str:
    return "".join(text for text, _ in pieces)
