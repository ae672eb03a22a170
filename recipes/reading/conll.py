"""Tagged sentences: CoNLL (a word and its tag on a line) and CoNLL-U (the Universal Dependencies)."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow, Record, expect_any

_GAP = re.compile("[ \t]+")  # no other white space, which may stand within a word
_ID = re.compile(r"(?P<first>[0-9]+)(?:-(?P<last>[0-9]+)|(?P<empty>\.[0-9]+))?")
_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NONE = "{}: found no sentence; expected at least one"

Lines = list[tuple[int, str]]
"""Numbers and texts of the lines of a sentence."""


def read_conll(path: str | Path) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL file: `words`, and `tags` from the last column.

    Columns are parted by spaces or tabs, as many on all lines of a sentence, and sentences by blank lines;
    `-DOCSTART-` lines belong to none. A sentence with a malformed line is malformed, and named by that line.

    Raises:
        ValueError: the file has no sentence.
        OSError: the file cannot be read.
    """
    return expect_any(_sentences(path, _tagged_words), _NONE.format(path))


def read_conllu(path: str | Path, tag_column: str) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL-U file: `words` as they are written, and their `tags`.

    Of words that are written as one, such as `das` on the lines `4-5`, 4 (`de`) and 5 (`as`), the tags of the parts
    are joined by a plus: `ADP+DET`. Empty nodes (`8.1`) and comments are no words.

    Args:
        path: the file.
        tag_column: `upos`, `xpos`, `feats`, `lemma` or another column's name.

    Raises:
        ValueError: there is no such column, or the file has no sentence.
        OSError: the file cannot be read.
    """
    if tag_column not in _COLUMNS:
        raise ValueError(f"--tag_column {tag_column}: expected one of {', '.join(_COLUMNS)}")
    parse = partial(_written_words, column=_COLUMNS.index(tag_column))
    return expect_any(_sentences(path, parse), _NONE.format(path))


def _sentences(path: str | Path, parse: Callable[[Lines], tuple[list[str], list[str]]]) -> Iterator[Record | BadRow]:
    lines: Lines = []
    bad: BadRow | None = None
    for number, line in _with_end(path):
        if isinstance(line, BadRow):
            bad = bad or line
        elif line.strip():
            if not line.startswith("-DOCSTART-"):
                lines.append((number, line))
        elif bad:
            yield bad
            bad, lines = None, []
        elif lines:
            try:
                words, tags = parse(lines)
                yield f"{path}, line {lines[0][0]}", {"words": words, "tags": tags}
            except _BadLine as error:
                yield BadRow(f"{path}, line {error.number}", str(error))
            lines = []


def _with_end(path: str | Path) -> Iterator[tuple[int, str | BadRow]]:
    yield from read_lines(path)
    yield 0, ""  # the last sentence may end with the file


def _tagged_words(lines: Lines) -> tuple[list[str], list[str]]:
    rows = [_GAP.split(line.strip(" \t")) for _, line in lines]
    for (number, line), cells in zip(lines, rows):
        if len(cells) < 2:
            raise _BadLine(number, f"found {line!r:.200}; expected a word and its tag, parted by a space or a tab")
        if len(cells) != len(rows[0]):
            expected = f"expected {len(rows[0])}, as in the sentence's first line"
            raise _BadLine(number, f"found {len(cells)} columns in {line!r:.200}; {expected}")
    return [cells[0] for cells in rows], [cells[-1] for cells in rows]


def _written_words(lines: Lines, column: int) -> tuple[list[str], list[str]]:
    words: list[str] = []
    tags: list[list[str]] = []  # of each word those of its parts
    seen = last = 0  # the last word's number, and that of the last part of the last range such as 4-5
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(_COLUMNS):
            raise _BadLine(number, f"found {len(cells)} columns in {line!r:.200}; expected 10, parted by tabs")
        identifier, form = cells[0], cells[1]
        match = _ID.fullmatch(identifier)
        if not match:
            raise _BadLine(number, f"found the id {identifier!r}; expected one such as 4, 4-5 or 4.1")
        if match["empty"]:
            continue
        if int(match["first"]) != seen + 1 or (match["last"] and seen < last):
            raise _BadLine(number, f"found the id {identifier!r}; expected {seen + 1}")
        if match["last"]:
            last = int(match["last"])
        else:
            seen += 1
        if match["last"] or seen > last:
            words.append(form)
            tags.append([])
        if not match["last"]:
            tags[-1].append(cells[column])
    if seen < last:
        raise _BadLine(
            lines[-1][0], f"found a range up to {last} that ends at {seen}; expected all its words behind it"
        )
    return words, ["+".join(parts) for parts in tags]


class _BadLine(ValueError):
    def __init__(self, number: int, problem: str):
        super().__init__(problem)
        self.number = number
