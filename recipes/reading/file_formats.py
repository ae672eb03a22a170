"""Readers of file formats: tsv, csv, jsonl, parquet, CoNLL, CoNLL-U and SQuAD JSON."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet

from atenta.recipes.reading.lines import decode_line, opened, parse_json, read_lines
from atenta.recipes.reading.records import BadRow, Record, expect_any, printable

# Python's reader takes both for a line end, which the first one may not be.
_TWO_RETURNS = "found two carriage returns at the end of the row; expected one, or a cell in quotes"
_PARQUET_BATCH = 1_000  # rows in memory at once
_CONLL_GAP = re.compile("[ \t]+")  # other white space, such as a no-break space, may be part of a word
_CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_CONLLU_ID = re.compile(r"(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9})|(?P<empty>\.[0-9]+))?")
_DOCUMENT_START = "-DOCSTART-"
_PARQUET_ERRORS = (pyarrow.ArrowException, OSError, ValueError, OverflowError)
_NO_SENTENCE = "{}: found no sentence; expected at least one"

_Line = TypeVar("_Line", str, list[str])
_Cells = tuple[int, list[str] | BadRow]
"""The number of a row's first line, and its cells."""
_Lines = list[tuple[int, str]]
"""The numbers and texts of the lines of a sentence."""


# Tables


def read_table(path: str | Path, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Record | BadRow]:
    """Return the records of a table by its suffix: .tsv and .txt (separated by tabs), .csv, .jsonl or .parquet.

    Pipes of the shell, such as `<(…)` and /dev/stdin, have no suffix, and are separated by tabs.

    The first row of a tsv or csv file is a header if it names all of `columns`, and an error if it names only some, or
    only some of `optional`. Without a header the cells are the values of `columns` and then of `optional`, and every
    row has as many cells as the first. As it says how the others are read, a malformed first row is an error and never
    a bad row. Quotes have a meaning only in csv files.

    A part of a parquet file that cannot be read is one bad row, with the numbers of the rows in it.

    Args:
        path: The file.
        columns: Columns that every row must have.
        optional: Further columns that a table may have.

    Raises:
        ValueError: If the suffix is unknown, the file has no rows, the first row of a tsv or csv file is malformed or
            a header with names that are missing, misspelt or repeated, or a parquet file lacks or repeats a column.
        OSError: If the file cannot be read.
    """
    suffix = Path(path).suffix
    if rows := _rows_of_cells(path):
        records = _from_cells(path, rows, columns, optional)
    elif suffix == ".jsonl":
        records = _read_jsonl(path, columns)
    elif suffix == ".parquet":
        records = _read_parquet(path, columns, optional)
    else:
        raise ValueError(f"{path}: found the suffix {suffix!r}; expected .tsv, .txt, .csv, .jsonl or .parquet")
    return expect_any(records, f"{path}: found no rows; expected rows of {', '.join(columns)}")


def is_pipe(path: str | Path) -> bool:
    """Return whether a path is one that the shell gives, such as `/dev/fd/63` or `/dev/stdin`: it has no suffix."""
    return str(path).startswith("/dev/")


def lacks_header(path: str | Path, columns: Sequence[str]) -> bool:
    """Return whether the file is a tsv or csv file whose first row names none of `columns`, and so is data.

    Raises:
        OSError: If the file cannot be read.
    """
    rows = _rows_of_cells(path)
    _, first = next(rows, (0, None)) if rows else (0, None)
    return isinstance(first, list) and not _spelt(first) & set(columns)


def _rows_of_cells(path: str | Path) -> Iterator[_Cells] | None:
    """Return the rows of a tsv or csv file; None for another file."""
    if Path(path).suffix in (".tsv", ".txt") or is_pipe(path):
        return _split_at_tabs(path)
    return _without_blank_end(path, _read_csv(path)) if Path(path).suffix == ".csv" else None


def _from_cells(
    path: str | Path, rows: Iterator[_Cells], columns: Sequence[str], optional: Sequence[str]
) -> Iterator[Record | BadRow]:
    names: list[str] = []
    for number, cells in rows:
        where = f"{path}, line {number}"
        if not names:
            names, is_header = _names(cells, columns, optional, where)
            if is_header:
                continue
        if isinstance(cells, BadRow):
            yield cells
        elif len(cells) == len(names):
            yield where, dict(zip(names, cells))
        else:
            found = f"found {len(cells)} column(s) in {cells!r:.200}"
            yield BadRow(where, f"{found}; expected {len(names)}, as in the first row: {names!r:.200}")


def _names(
    first: list[str] | BadRow, columns: Sequence[str], optional: Sequence[str], where: str
) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first row is a header that has them.

    Raises:
        BadRow: If the first row is malformed: it may be a header, without which columns would be taken for others.
    """
    if isinstance(first, BadRow):
        raise first
    if set(columns) <= _spelt(first):
        if other := [name for name in (*columns, *optional) if name in _spelt(first) and name not in first]:
            expected = f"expected {', '.join(other)}, in small letters and without spaces around"
            raise BadRow(where, f"found the header {first!r:.200}; {expected}")
        _expect_distinct(first, "column", where)
        return first, True
    expected = ", ".join([*columns, *(f"optionally {name}" for name in optional)])
    if named := [name for name in (*columns, *optional) if name in _spelt(first)]:
        missing = ", ".join(name for name in columns if name not in named)
        problem = f"found {', '.join(named)} without {missing} in {first!r:.200}; expected a header of {expected}"
        raise BadRow(where, f"{problem}: rename its columns or, if it is a row of data, put such a header above it")
    if not len(columns) <= len(first) <= len(columns) + len(optional):
        raise BadRow(where, f"found {len(first)} column(s) in {first!r:.200}; expected {expected}")
    return [*columns, *optional][: len(first)], False


def _spelt(cells: Sequence[str]) -> set[str]:
    return {cell.strip().casefold() for cell in cells}


def _expect_distinct(names: Sequence[str], kind: str, where: str) -> None:
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise BadRow(where, f"found the {kind} {repeated!r} {names.count(repeated)} times; expected it once")


def _without_blank_end(
    path: str | Path, lines: Iterable[tuple[int, _Line | BadRow]]
) -> Iterator[tuple[int, _Line | BadRow]]:
    """Leave out the blank lines at the end of the file; any other blank line is a bad row."""
    blank: list[int] = []
    for number, line in lines:
        if not line:
            blank.append(number)
            continue
        for earlier in blank:
            problem = "found a blank line; expected blank lines only at the end of the file: remove it"
            yield earlier, BadRow(f"{path}, line {earlier}", problem)
        blank = []
        yield number, line


def _split_at_tabs(path: str | Path) -> Iterator[_Cells]:
    for number, line in _without_blank_end(path, read_lines(path)):
        yield number, line if isinstance(line, BadRow) else line.split("\t")


def _read_csv(path: str | Path) -> Iterator[_Cells]:
    lines: list[bytes] = []  # of a row

    def as_text(line: bytes) -> str:
        lines.append(line)
        return line.decode("utf-8", "surrogateescape")  # the row must end where it does, whatever is in it

    with opened(path) as file:
        rows = csv.reader(map(as_text, file), strict=True)
        number = 1
        while True:
            lines.clear()
            where = f"{path}, line {number}"
            try:
                cells: list[str] | BadRow = _next_row(rows)
                if lines and lines[-1].endswith(b"\r\r\n"):
                    cells = BadRow(where, _TWO_RETURNS)
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"found malformed CSV ({error}); expected cells separated by commas, with quotes doubled"
                cells = BadRow(where, problem)
            decoded = (decode_line(line, f"{path}, line {count}") for count, line in enumerate(lines, start=number))
            yield number, next((line for line in decoded if isinstance(line, BadRow)), cells)
            number += len(lines)


def _next_row(rows: Iterator[list[str]]) -> list[str]:
    """Return the next row, whose cells may exceed the limit of Python's csv module, 131,072 characters."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        return next(rows)
    finally:
        csv.field_size_limit(limit)  # the limit is global to the process: other code must not see it changed


def _read_jsonl(path: str | Path, columns: Sequence[str]) -> Iterator[Record | BadRow]:
    for number, line in _without_blank_end(path, read_lines(path)):
        where = f"{path}, line {number}"
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            fields = parse_json(line)
        except ValueError as error:
            yield BadRow(where, f"found {line!r:.200} ({error}); expected a JSON object")
            continue
        if isinstance(fields, dict) and set(columns) <= set(fields):
            yield where, fields
        else:
            yield BadRow(where, f"found {line!r:.200}; expected a JSON object with {', '.join(columns)}")


def _read_parquet(path: str | Path, columns: Sequence[str], optional: Sequence[str]) -> Iterator[Record | BadRow]:
    expected = "expected a complete Parquet file: write it again"
    with opened(path) as file:
        try:
            table = pyarrow.parquet.ParquetFile(file, page_checksum_verification=True)
            present = table.schema_arrow.names
            sizes = [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)]
        except _PARQUET_ERRORS as error:
            raise ValueError(f"{path}: found malformed Parquet ({_in_a_line(error)}); {expected}") from None
        if sum(sizes) != table.metadata.num_rows:  # its checksums are of pages, not of these numbers
            counts = f"{sum(sizes)} rows in its parts, {table.metadata.num_rows} in all"
            raise ValueError(f"{path}: found malformed Parquet ({counts}); {expected}")
        if missing := [name for name in columns if name not in present]:
            found = printable(", ".join(present))
            raise ValueError(f"{path}: found the columns {found}; expected also {', '.join(missing)}")
        _expect_distinct(present, "column", str(path))
        wanted = [name for name in (*columns, *optional) if name in present]
        number = 0
        for group, size in enumerate(sizes):
            end = number + size
            try:
                for batch in table.iter_batches(_PARQUET_BATCH, row_groups=[group], columns=wanted):
                    for fields in batch.to_pylist():
                        number += 1
                        yield f"{path}, row {number}", fields
                problem = "no rows"  # pyarrow stops without an error at some damaged pages
            except _PARQUET_ERRORS as error:
                problem = _in_a_line(error)
            if number < end:
                where = f"{path}, rows {number + 1} to {end}"
                yield BadRow(where, f"found malformed Parquet ({problem}); {expected}")
                number = end


def _in_a_line(error: Exception) -> str:
    return printable(" ".join(str(error).split()))


# CoNLL and CoNLL-U


def read_conll(path: str | Path) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL file: `words` from the first column, and `tags` from the last one.

    Columns are separated by spaces or tabs, and their number is the same on all lines of a sentence. Sentences are
    separated by blank lines. A line with the word `-DOCSTART-` between blank lines starts a document and is skipped. A
    sentence with a malformed line is a bad row at the location of that line.

    Raises:
        ValueError: If the file has no sentence.
        OSError: If the file cannot be read.
    """
    return expect_any(_sentences(path, _tagged_words), _NO_SENTENCE.format(path))


def read_conllu(path: str | Path, tag_column: str) -> Iterator[Record | BadRow]:
    """Yield the sentences of a CoNLL-U file: `words` as they are written, and their `tags`.

    A contraction, such as `das` on the line `4-5`, is one word. Its tag joins the tags of its parts, here 4 (`de`)
    and 5 (`as`), with a plus: `ADP+DET`. Empty nodes (`8.1`) and comments are skipped.

    Args:
        path: The file.
        tag_column: The column of the tags: `upos`, `xpos`, `feats`, `lemma` or another one.

    Raises:
        ValueError: If there is no such column, or the file has no sentence.
        OSError: If the file cannot be read.
    """
    if tag_column not in _CONLLU_COLUMNS:
        raise ValueError(f"--tag_column {tag_column}: expected one of {', '.join(_CONLLU_COLUMNS)}")
    parse = partial(_written_words, column=_CONLLU_COLUMNS.index(tag_column))
    return expect_any(_sentences(path, parse), _NO_SENTENCE.format(path))


class _BadLine(ValueError):
    def __init__(self, number: int, problem: str):
        super().__init__(problem)
        self.number = number


def _sentences(path: str | Path, parse: Callable[[_Lines], tuple[list[str], list[str]]]) -> Iterator[Record | BadRow]:
    lines: _Lines = []
    bad: BadRow | None = None
    for number, line in _with_blank_end(path):
        if isinstance(line, BadRow):
            bad = bad or line
        elif line.strip():
            lines.append((number, line))
        elif bad:
            yield bad
            bad, lines = None, []
        elif lines:
            try:
                words, tags = parse(lines)
                if words:
                    yield f"{path}, line {lines[0][0]}", {"words": words, "tags": tags}
            except _BadLine as error:
                yield BadRow(f"{path}, line {error.number}", str(error))
            lines = []


def _with_blank_end(path: str | Path) -> Iterator[tuple[int, str | BadRow]]:
    yield from read_lines(path)
    yield 0, ""  # the last sentence may end with the file


def _tagged_words(lines: _Lines) -> tuple[list[str], list[str]]:
    rows = [_CONLL_GAP.split(line.strip(" \t")) for _, line in lines]
    if len(rows) == 1 and rows[0][0] == _DOCUMENT_START:
        return [], []
    for (number, line), cells in zip(lines, rows):
        if len(cells) < 2:
            raise _BadLine(number, f"found {line!r:.200}; expected a word and its tag, separated by a space or a tab")
        if len(cells) != len(rows[0]):
            expected = f"expected {len(rows[0])}, as in the first line of the sentence"
            raise _BadLine(number, f"found {len(cells)} columns in {line!r:.200}; {expected}")
    return [cells[0] for cells in rows], [cells[-1] for cells in rows]


def _written_words(lines: _Lines, column: int) -> tuple[list[str], list[str]]:
    words: list[str] = []
    tags: list[list[str]] = []  # for each word, the tags of its parts
    seen = last = 0  # the id of the latest word, and the end of the latest range such as 4-5
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(_CONLLU_COLUMNS):
            raise _BadLine(number, f"found {len(cells)} columns in {line!r:.200}; expected 10, separated by tabs")
        identifier, form = cells[0], cells[1]
        match = _CONLLU_ID.fullmatch(identifier)
        if not match:
            raise _BadLine(number, f"found the id {identifier!r}; expected one such as 4, 4-5 or 4.1")
        if match["empty"]:
            continue
        if int(match["first"]) != seen + 1 or (match["last"] and (seen < last or int(match["last"]) <= seen)):
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
        problem = f"found a range up to {last} that ends at {seen}; expected all its words after it"
        raise _BadLine(lines[-1][0], problem)
    return words, ["+".join(parts) for parts in tags]


# SQuAD


def read_squad(path: str | Path) -> Iterator[Record | BadRow]:
    """Return the questions of a SQuAD file: `id`, `context`, `question`, `answers` (lists `text` and `answer_start`).

    The file is a single JSON object and is read at once. Questions without an answer, as in SQuAD 2.0, have empty
    lists. A malformed article or paragraph is one bad row; so is a question with the `id` of an earlier one.

    Raises:
        ValueError: If the file is not UTF-8 or not JSON, has no list of articles under `data`, or has no question.
        OSError: If the file cannot be read.
    """
    try:
        content = parse_json("\n".join(_good_lines(path)))
    except BadRow:
        raise
    except ValueError as error:
        raise ValueError(f"{path}: found malformed JSON ({error}); expected an object with a list 'data'") from None
    if not (isinstance(content, dict) and isinstance(content.get("data"), list)):
        raise ValueError(f"{path}: found {content!r:.80}; expected an object with a list 'data'")
    problem = f"{path}: found no questions; expected an object with a list 'data' of articles with questions"
    return expect_any(_questions(path, content), problem)


def _good_lines(path: str | Path) -> Iterator[str]:
    for _, line in read_lines(path):
        if isinstance(line, BadRow):
            raise line
        yield line


def _questions(path: str | Path, content: dict[str, Any]) -> Iterator[Record | BadRow]:
    articles = _items([(str(path), content)], "data", "article")
    places: dict[str, str] = {}  # of the questions by id
    for paragraph in _items(articles, "paragraphs", "paragraph"):
        for question in _items([paragraph], "qas", "question"):
            if isinstance(question, BadRow):
                yield question
                continue
            place, _ = question
            record = _record(path, paragraph[1].get("context"), *question)
            if not isinstance(record, BadRow):
                first = places.setdefault(str(record[1]["id"]), place)
                if first != place:
                    problem = f"found it at {place} and at {first}; expected another id for each question"
                    record = BadRow(record[0], problem)
            yield record


def _items(holders: Iterable[tuple[str, Any] | BadRow], name: str, kind: str) -> Iterator[tuple[str, Any] | BadRow]:
    """Yield the items of the list `name` of each holder, with their locations."""
    for holder in holders:
        if isinstance(holder, BadRow):
            yield holder
            continue
        where, value = holder
        if isinstance(value, dict) and isinstance(value.get(name), list):
            yield from ((f"{where}, {kind} {number}", item) for number, item in enumerate(value[name], start=1))
        else:
            yield BadRow(where, f"found {value!r:.80}; expected an object with a list {name!r}")


def _record(path: str | Path, context: Any, where: str, question: Any) -> Record | BadRow:
    try:
        where = f"{path}, question {question['id']}"
        answers = {name: [answer[name] for answer in question["answers"]] for name in ("text", "answer_start")}
        values = {"id": question["id"], "context": context, "question": question["question"], "answers": answers}
    except (KeyError, TypeError):
        expected = "an object with 'id', 'question' and a list 'answers' of objects with 'text' and 'answer_start'"
        return BadRow(where, f"found {question!r:.200}; expected {expected}")
    return where, values
