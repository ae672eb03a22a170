"""Tagged sentences: CoNLL (a word and its tag on a line) and CoNLL-U (the Universal Dependencies)."""

from collections.abc import Callable, Iterator
from pathlib import Path

from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow, Record

_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
Lines = list[tuple[int, str]]
"""Numbers and texts of the lines of a sentence."""


def read_conll(path: str | Path) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL file: `words`, and `tags` from the last column.

    Columns are parted by white space and sentences by blank lines; `-DOCSTART-` lines belong to none. A sentence with
    a line that has no tag is malformed, and named by that line.

    Raises:
        OSError: the file cannot be read.
    """
    return _sentences(path, _tagged_words)


def read_conllu(path: str | Path, tag_column: str) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL-U file: `words` as they are written, and their `tags`.

    Of words that are written as one, such as `das` on the lines `4-5`, 4 (`de`) and 5 (`as`), the tags of the parts
    are joined by a plus: `ADP+DET`. Empty nodes (`8.1`) and comments are no words.

    Args:
        path: the file.
        tag_column: `upos`, `xpos`, `feats`, `lemma` or another column's name.

    Raises:
        ValueError: there is no such column.
        OSError: the file cannot be read.
    """
    if tag_column not in _COLUMNS:
        raise ValueError(f"--tag_column {tag_column}: expected one of {', '.join(_COLUMNS)}")
    return _sentences(path, lambda lines: _written_words(lines, _COLUMNS.index(tag_column)))


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
    words, tags = [], []
    for number, line in lines:
        cells = line.split()
        if len(cells) < 2:
            raise _BadLine(number, f"found {line!r}; expected a word and its tag, parted by white space")
        words.append(cells[0])
        tags.append(cells[-1])
    return words, tags


def _written_words(lines: Lines, column: int) -> tuple[list[str], list[str]]:
    words: list[str] = []
    tags: list[str] = []
    inside, last = False, 0  # of a range such as 4-5: whether its first part has been seen, and its last number
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(_COLUMNS):
            raise _BadLine(number, f"found {len(cells)} columns in {line!r:.200}; expected 10, parted by tabs")
        identifier, form = cells[0], cells[1]
        if "." in identifier:
            continue
        first, dash, end = identifier.partition("-")
        if not (first.isdecimal() and (end.isdecimal() or not dash)):
            raise _BadLine(number, f"found the id {identifier!r}; expected 4, 4-5 or 4.1")
        if dash:
            words.append(form)
            inside, last = False, int(end)
        elif int(first) <= last:
            tags.append(f"{tags.pop()}+{cells[column]}" if inside else cells[column])
            inside = True
        else:
            words.append(form)
            tags.append(cells[column])
    if len(words) != len(tags):
        raise _BadLine(lines[-1][0], "found a range such as 4-5 without the words it names; expected them behind it")
    return words, tags


class _BadLine(ValueError):
    def __init__(self, number: int, problem: str):
        super().__init__(problem)
        self.number = number
