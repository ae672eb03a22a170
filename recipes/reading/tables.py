"""Tables: tsv, csv, jsonl and parquet, row by row."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet

from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow, Record, expect_any

csv.field_size_limit(2**31 - 1)  # a text may be longer than Python's limit, 131,072 characters

Line = TypeVar("Line", str, list[str])
_BATCH = 1_000  # rows of a Parquet file in memory at once
Cells = tuple[int, list[str] | BadRow]
"""Number of a row's first line, and its cells."""


def read_table(path: str | Path, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Record | BadRow]:
    """Return the records of a table by its suffix: .tsv and .txt (parted by tabs), .csv, .jsonl or .parquet.

    The first row of tsv and csv files is a header if it names all of `columns`. Without one the cells stand for
    `columns` and then `optional`, and every row has as many as the first. Only csv has quotes.

    Args:
        path: the file.
        columns: that every row must have.
        optional: that a table may have besides.

    Raises:
        ValueError: an unknown suffix, a file without rows, or a parquet file without a column.
        OSError: the file cannot be read.
    """
    suffix = Path(path).suffix
    if suffix in (".tsv", ".txt"):
        records = _from_cells(path, _split_at_tabs(path), columns, optional)
    elif suffix == ".csv":
        records = _from_cells(path, _without_blank_end(path, _read_csv(path)), columns, optional)
    elif suffix == ".jsonl":
        records = _read_jsonl(path, columns)
    elif suffix == ".parquet":
        records = _read_parquet(path, columns, optional)
    else:
        raise ValueError(f"{path}: found the suffix {suffix!r}; expected .tsv, .txt, .csv, .jsonl or .parquet")
    return expect_any(records, f"{path}: found no rows; expected rows of {', '.join(columns)}")


def lacks_header(path: str | Path, columns: Sequence[str]) -> bool:
    """Tell whether a file is csv whose first row does not name the columns, so that its cells are read in order.

    Raises:
        OSError: the file cannot be read.
    """
    first = next(_read_csv(path), None) if Path(path).suffix == ".csv" else None
    return first is not None and not isinstance(first[1], BadRow) and not set(columns) <= set(first[1])


def _from_cells(
    path: str | Path, rows: Iterator[Cells], columns: Sequence[str], optional: Sequence[str]
) -> Iterator[Record | BadRow]:
    names: list[str] | None = None
    for number, cells in rows:
        where = f"{path}, line {number}"
        if isinstance(cells, BadRow):
            yield cells
        elif names is None and set(columns) <= set(cells):
            names = cells
        elif names is None and not len(columns) <= len(cells) <= len(columns) + len(optional):
            expected = ", ".join([*columns, *(f"and perhaps {name}" for name in optional)])
            yield BadRow(where, f"found {len(cells)} column(s) in {cells!r:.200}; expected {expected}")
        else:
            names = names or [*columns, *optional][: len(cells)]
            if len(cells) == len(names):
                yield where, dict(zip(names, cells))
            else:
                found = f"found {len(cells)} column(s) in {cells!r:.200}"
                yield BadRow(where, f"{found}; expected {len(names)}, as in the first row: {', '.join(names)}")


def _without_blank_end(
    path: str | Path, lines: Iterable[tuple[int, Line | BadRow]]
) -> Iterator[tuple[int, Line | BadRow]]:
    """Leave out the blank lines at the end of the file; any other is a bad row."""
    blank: list[int] = []
    for number, line in lines:
        if not line:
            blank.append(number)
            continue
        for earlier in blank:
            problem = "found a blank line; expected one only at the end of the file: remove it"
            yield earlier, BadRow(f"{path}, line {earlier}", problem)
        blank = []
        yield number, line


def _split_at_tabs(path: str | Path) -> Iterator[Cells]:
    for number, line in _without_blank_end(path, read_lines(path)):
        yield number, line if isinstance(line, BadRow) else line.split("\t")


def _read_csv(path: str | Path) -> Iterator[Cells]:
    # Bytes that are not UTF-8 come as lone surrogates, which nothing else can become.
    with Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        rows = csv.reader(file, strict=True)
        while True:
            number = rows.line_num + 1
            where = f"{path}, line {number}"
            try:
                cells = next(rows)
                "".join(cells).encode("utf-8")
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"found malformed CSV ({error}); expected cells parted by commas, quotes in a cell doubled"
                yield number, BadRow(where, problem)
            except UnicodeEncodeError as error:
                byte = ord(error.object[error.start]) - 0xDC00
                yield number, BadRow(where, f"found byte 0x{byte:02X}; expected UTF-8: save the file as UTF-8")
            else:
                yield number, cells


def _read_jsonl(path: str | Path, columns: Sequence[str]) -> Iterator[Record | BadRow]:
    for number, line in _without_blank_end(path, read_lines(path)):
        where = f"{path}, line {number}"
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            fields: Any = json.loads(line)
        except json.JSONDecodeError as error:
            yield BadRow(where, f"found {line!r:.200} ({error}); expected a JSON object")
            continue
        if isinstance(fields, dict) and set(columns) <= set(fields):
            yield where, fields
        else:
            yield BadRow(where, f"found {line!r:.200}; expected a JSON object with {', '.join(columns)}")


def _read_parquet(path: str | Path, columns: Sequence[str], optional: Sequence[str]) -> Iterator[Record]:
    try:
        table = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path}: found no Parquet ({error}); expected a whole Parquet file") from None
    with table as file:
        there = file.schema_arrow.names
        if missing := [name for name in columns if name not in there]:
            raise ValueError(f"{path}: found the columns {', '.join(there)}; expected {', '.join(missing)} too")
        number = 0
        for batch in file.iter_batches(_BATCH, columns=[name for name in (*columns, *optional) if name in there]):
            for fields in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", fields
