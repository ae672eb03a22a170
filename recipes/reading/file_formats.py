"""Readers of file formats: tsv, csv, jsonl, parquet, CoNLL, CoNLL-U and SQuAD JSON.

A text format is cut into units, such as lines or sentences, each with the number of its first line, and a function
makes the fields of a row from a unit, or raises ValueError with what it found and what was expected.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet

from atenta.recipes.reading.records import (
    BadRow,
    Record,
    expect_any,
    open_text,
    opened,
    parse_json,
    printable,
    read_lines,
    wrong_encoding,
)

_PARQUET_BATCH = 1_000  # rows in memory at once
_ROWS_AHEAD = 1_000  # by which the order of columns is found
_CONLL_GAP = re.compile("[ \t]+")  # other white space, such as a no-break space, may be part of a word
_CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_CONLLU_ID = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})|\.[0-9]+)?")
_SQUAD_LISTS = (("data", "article"), ("paragraphs", "paragraph"), ("qas", "question"))  # each in an item of the last

_Unit = TypeVar("_Unit")
_Cells = list[str]
_Lines = list[tuple[str, str]]  # the locations and texts of the lines of a sentence
_Numbered = Iterator[tuple[int, _Unit | BadRow]]
_Order = Callable[[Sequence[_Cells]], list[str] | None]


def _rows(path: str | Path, units: _Numbered, parse: Callable[[Any], dict[str, Any]]) -> Iterator[Record | BadRow]:
    """Yield what `parse` makes of each unit, or a bad row with its problem; a sentence without words is left out."""
    for number, unit in units:
        where = f"{path}, line {number}"
        try:
            if isinstance(unit, BadRow):
                raise unit
            if fields := parse(unit):
                yield where, fields
        except ValueError as error:
            yield error if isinstance(error, BadRow) else BadRow(where, str(error))


# Tables


def read_table(
    path: str | Path, columns: Sequence[str], optional: Sequence[str] = (), order: _Order | None = None
) -> Iterator[Record | BadRow]:
    """Return the records of a table by its suffix: .tsv and .txt (separated by tabs), .csv, .jsonl or .parquet.

    Pipes of the shell, such as `<(…)` and /dev/stdin, have no suffix, and are separated by tabs.

    The first row of a tsv or csv file is a header if it names all of `columns`, and an error if it names only some, or
    only some of `optional`. Without a header the cells are the values of `columns` and then of `optional`, and every
    row has as many cells as the first. As it says how the others are read, a malformed first row is an error and never
    a bad row. Quotes have a meaning only in csv files, whose cells are separated by semicolons if the first line has
    some and no comma. Blank lines are left out only at the end of a file.

    Args:
        path: The file.
        columns: Columns that every row must have.
        optional: Further columns that a table may have.
        order: A function that says, by the first rows of a table without a header that has all these columns, in which
            order it has them; None for the given one.

    Raises:
        ValueError: If the suffix is unknown, the file has no rows, the first row of a tsv or csv file is malformed or
            a header with names that are missing, misspelt or repeated, or a parquet file is damaged, or lacks or
            repeats a column.
        OSError: If the file cannot be read.
    """
    suffix = Path(path).suffix
    if rows := _rows_of_cells(path):
        records = _read_cells(path, rows, columns, optional, order)
    elif suffix == ".jsonl":
        records = _rows(path, _without_blank_end(path, read_lines(path)), partial(_json_fields, columns=columns))
    elif suffix == ".parquet":
        records = _read_parquet(path, columns, optional)
    else:
        raise ValueError(f"{path}: found the suffix {suffix!r}; expected .tsv, .txt, .csv, .jsonl or .parquet")
    return expect_any(records, f"{path}: found no rows; expected rows of {', '.join(columns)}")


def is_pipe(path: str | Path) -> bool:
    """Return whether a path is one that the shell gives, such as `/dev/fd/63` or `/dev/stdin`: it has no suffix."""
    return str(path).startswith("/dev/") and not Path(path).suffix


def lacks_header(path: str | Path, columns: Sequence[str]) -> bool:
    """Return whether the file is a tsv or csv file whose first row names none of `columns`, and so is data."""
    _, first = next(_rows_of_cells(path) or iter(()), (0, None))
    return isinstance(first, list) and not _names_in(first, columns)


def _rows_of_cells(path: str | Path) -> _Numbered[_Cells] | None:
    """Return the rows of a tsv or csv file; None for another file."""
    if Path(path).suffix in (".tsv", ".txt") or is_pipe(path):
        lines = _without_blank_end(path, read_lines(path))
        return ((number, line if isinstance(line, BadRow) else line.split("\t")) for number, line in lines)
    return _without_blank_end(path, _read_csv(path)) if Path(path).suffix == ".csv" else None


def _read_cells(
    path: str | Path, rows: _Numbered[_Cells], columns: Sequence[str], optional: Sequence[str], order: _Order | None
) -> Iterator[Record | BadRow]:
    number, first = next(rows, (0, None))
    if first is None:
        return
    if isinstance(first, BadRow):  # it may be a header, without which columns would be taken for others
        raise first
    names = _column_names(first, columns, optional, f"{path}, line {number}")
    if names is not first:
        rows = chain([(number, first)], rows)
        if order is not None and len(names) == len(columns) + len(optional):
            ahead = list(islice(rows, _ROWS_AHEAD))
            whole = [row for _, row in ahead if not isinstance(row, BadRow) and len(row) == len(names)]
            names, rows = order(whole) or names, chain(ahead, rows)
    yield from _rows(path, rows, partial(_fields_of_cells, names=names))


def _column_names(first: _Cells, columns: Sequence[str], optional: Sequence[str], where: str) -> list[str]:
    """Return the names of the columns: the first row itself if it is a header."""
    known = [*columns, *optional]
    expected = ", ".join([*columns, *(f"optionally {name}" for name in optional)])
    if named := _names_in(first, known):
        if {*columns, *named} <= set(first) and len(set(first)) == len(first):
            return first
        advice = "in small letters and without spaces around: rename its columns or, above data, add a header"
        raise BadRow(where, f"found {first!r:.200}; expected a header of {expected}, each once, {advice}")
    if not any(first) or not len(columns) <= len(first) <= len(known):
        found = f"found {len(first)} column(s) in {first!r:.200}"
        raise BadRow(where, f"{found}; expected {expected}, separated by commas in csv files and by tabs in others")
    return known[: len(first)]


def _fields_of_cells(cells: _Cells, names: list[str]) -> dict[str, Any]:
    if len(cells) != len(names):
        found = f"found {len(cells)} column(s) in {cells!r:.200}"
        raise ValueError(f"{found}; expected {len(names)}, as in the first row: {names!r:.200}")
    return dict(zip(names, cells))


def _names_in(first: _Cells, names: Sequence[str]) -> set[str]:
    """Return the names of columns that the cells of the first row have, in whatever case."""
    return {cell.strip().casefold() for cell in first}.intersection(names)


def _without_blank_end(path: str | Path, units: _Numbered) -> _Numbered:
    """Leave out the blank lines at the end of a file; any other one is a bad row."""
    blank: list[int] = []
    for number, unit in units:
        if unit:
            for line in blank:
                yield line, BadRow(f"{path}, line {line}", "found a blank line; expected a row: delete the line")
            blank.clear()
            yield number, unit
        else:
            blank.append(number)


def _read_csv(path: str | Path) -> _Numbered[_Cells]:
    csv.field_size_limit(2**31 - 1)  # by default 131,072 characters, which long texts exceed
    wrong: list[BadRow] = []  # lines of the row in another encoding

    def check_encoding(lines: Iterable[str]) -> Iterator[str]:
        for number, line in enumerate(lines, start=1):
            if problem := wrong_encoding(line, f"{path}, line {number}"):
                wrong.append(problem)
            yield line

    with open_text(path) as file:
        lines = check_encoding(file)
        ahead = [*islice(lines, 1)]
        has_semicolons = any(";" in line and "," not in line for line in ahead)  # where commas are those of numbers
        rows = csv.reader(chain(ahead, lines), delimiter=";" if has_semicolons else ",", strict=True)
        while True:
            number = rows.line_num + 1
            try:
                cells: _Cells | BadRow = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                problem = (
                    f"found malformed CSV ({error}); expected cells separated as in the first row, with quotes doubled"
                )
                cells = BadRow(f"{path}, line {number}", problem)
            yield number, wrong[0] if wrong else cells
            wrong.clear()


def _json_fields(line: str, columns: Sequence[str]) -> dict[str, Any]:
    try:
        fields = parse_json(line)
        if not isinstance(fields, dict):
            raise ValueError("another value")
        if missing := [name for name in columns if name not in fields]:
            raise ValueError(f"without {', '.join(missing)}")
        return fields
    except ValueError as error:
        raise ValueError(f"found {line!r:.200} ({error}); expected a JSON object with {', '.join(columns)}") from None


def _read_parquet(path: str | Path, columns: Sequence[str], optional: Sequence[str]) -> Iterator[Record]:
    number = 0
    with opened(path, "rb") as file:
        try:
            table = pyarrow.parquet.ParquetFile(file, page_checksum_verification=True)
            present = table.schema_arrow.names
            if not set(columns) <= set(present) or len(set(present)) < len(present):
                found = f"found the columns {printable(', '.join(present))}"
                raise BadRow(str(path), f"{found}; expected {', '.join(columns)}, and each column once")
            wanted = [name for name in (*columns, *optional) if name in present]
            batches = table.iter_batches(_PARQUET_BATCH, columns=wanted)
            for number, fields in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1):
                yield f"{path}, row {number}", fields
            if number != table.metadata.num_rows:  # pyarrow stops without an error at some damaged pages
                raise ValueError(f"{number:,} of {table.metadata.num_rows:,} rows")
        except BadRow:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
            found = f"found malformed Parquet ({printable(' '.join(str(error).split()))})"
            raise ValueError(f"{path}: {found}; expected a complete Parquet file: write it again") from None


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
    return _read_sentences(path, _tagged_words)


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
    return _read_sentences(path, partial(_written_words, column=_CONLLU_COLUMNS.index(tag_column)))


def _read_sentences(path: str | Path, parse: Callable[[_Lines], dict[str, Any]]) -> Iterator[Record | BadRow]:
    return expect_any(_rows(path, _sentences(path), parse), f"{path}: found no sentence; expected at least one")


def _sentences(path: str | Path) -> _Numbered[_Lines]:
    """Yield the locations and texts of the lines between blank ones, or the first bad row of them."""
    for is_blank, block in groupby(read_lines(path), lambda line: isinstance(line[1], str) and not line[1].strip()):
        if not is_blank:
            numbers, lines = zip(*block)
            bad = next((line for line in lines if isinstance(line, BadRow)), None)
            yield numbers[0], bad or [(f"{path}, line {number}", line) for number, line in zip(numbers, lines)]


def _tagged_words(lines: _Lines) -> dict[str, Any]:
    rows = [_CONLL_GAP.split(line.strip(" \t")) for _, line in lines]
    if len(rows) == 1 and rows[0][0] == "-DOCSTART-":
        return {}
    for (where, line), cells in zip(lines, rows):
        if not 2 <= len(cells) == len(rows[0]):
            expected = "expected a word, a tag and as many columns as in the first line of the sentence"
            raise BadRow(where, f"found {len(cells)} column(s) in {line!r:.200}; {expected}")
    return {"words": [cells[0] for cells in rows], "tags": [cells[-1] for cells in rows]}


def _written_words(lines: _Lines, column: int) -> dict[str, Any]:
    words: list[str] = []
    tags: list[list[str]] = []  # for each word, the tags of its parts
    seen = end = 0  # the id of the latest word, and the end of the latest range such as 4-5
    for where, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != len(_CONLLU_COLUMNS):
            raise BadRow(where, f"found {len(cells)} columns in {line!r:.200}; expected 10, separated by tabs")
        match = _CONLLU_ID.fullmatch(cells[0])
        if match and "." in cells[0]:
            continue
        first, last = (int(part) if part else None for part in match.groups()) if match else (None, None)
        if first != seen + 1 or (last is not None and (seen < end or last < first)):
            raise BadRow(where, f"found the id {cells[0]!r:.80}; expected {seen + 1}, or a range such as 4-5")
        if last or first > end:
            words.append(cells[1])
            tags.append([])
        if last:
            end = last
        else:
            seen = first
            tags[-1].append(cells[column])
    if seen < end:
        raise BadRow(lines[-1][0], f"found a range up to {end} that ends at {seen}; expected all its words after it")
    return {"words": words, "tags": ["+".join(parts) for parts in tags]} if words else {}


# SQuAD


def read_squad(path: str | Path) -> Iterator[Record | BadRow]:
    """Return the questions of a SQuAD file: `id`, `context`, `question`, `answers` (lists `text` and `answer_start`).

    The file is a single JSON object and is read at once. Questions without an answer, as in SQuAD 2.0, have empty
    lists. A malformed article or paragraph is one bad row.

    Raises:
        ValueError: If the file is not UTF-8 or not JSON, has no list of articles under `data`, or has no question.
        OSError: If the file cannot be read.
    """
    lines = [line for _, line in read_lines(path)]
    if bad := next((line for line in lines if isinstance(line, BadRow)), None):
        raise bad
    try:
        content = parse_json("\n".join(lines))
    except ValueError as error:
        raise ValueError(f"{path}: found malformed JSON ({error}); expected an object with a list 'data'") from None
    problem = f"{path}: found no questions; expected an object with a list 'data' of articles with questions"
    return expect_any(_questions(path, str(path), content, _SQUAD_LISTS), problem)


def _questions(
    path: str | Path, where: str, holder: Any, lists: Sequence[tuple[str, str]]
) -> Iterator[Record | BadRow]:
    """Yield the questions in the first of these lists, each list in the items of the one before."""
    (name, kind), *inner = lists
    if not (isinstance(holder, dict) and isinstance(holder.get(name), list)):
        yield BadRow(where, f"found {holder!r:.80}; expected an object with a list {name!r}")
        return
    for number, item in enumerate(holder[name], start=1):
        place = f"{where}, {kind} {number}"
        if inner:
            yield from _questions(path, place, item, inner)
        else:
            yield _question_record(path, holder.get("context"), place, item)


def _question_record(path: str | Path, context: Any, where: str, question: Any) -> Record | BadRow:
    try:
        where = f"{path}, question {question['id']!s:.80}"
        answers = {name: [answer[name] for answer in question["answers"]] for name in ("text", "answer_start")}
        return where, {"id": question["id"], "context": context, "question": question["question"], "answers": answers}
    except (KeyError, TypeError):
        expected = "an object with 'id', 'question' and a list 'answers' of objects with 'text' and 'answer_start'"
        return BadRow(where, f"found {question!r:.200}; expected {expected}")
