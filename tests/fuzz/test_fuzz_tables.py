"""Tables: valid files give their rows back, and damaged ones what a second, plain reading of them gives.

The second reading of each format is written here, from its description. It gives the rows with their places, a bad row
as None, and None instead of rows where the file cannot be read at all.
"""

import codecs
import csv
import io
import json
import re
from functools import partial

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from atenta.recipes.reading.file_formats import read_table
from atenta.recipes.reading.records import BadRow
from support.damaged_files import as_text, damage, damages, judge, lines_of, parse, read_all, texts

COLUMNS, OPTIONAL = ("source", "target"), ("tags",)


# Tables of cells


def rows_of_cells(rows):
    """The second reading of a tsv or csv file from the numbers and cells of its rows; cells are None in a bad row."""
    while rows and rows[-1][1] in ("", []):
        rows = rows[:-1]
    if not rows or not rows[0][1]:
        return None
    (_, first), *rest = rows
    names = [*COLUMNS, *OPTIONAL][: len(first)]
    meant = [name.strip().casefold() for name in first]
    if set(COLUMNS) <= set(meant):
        known = {*COLUMNS, *OPTIONAL} & set(meant)
        if not known <= set(first) or len(set(first)) < len(first) or not rest:
            return None
        names, rows = first, rest
    elif len(first) not in (2, 3):
        return None
    return [
        (f"line {number}", dict(zip(names, cells)) if cells and len(cells) == len(names) else None)
        for number, cells in rows
    ]


def reread_tsv(content):
    lines = lines_of(content)
    return rows_of_cells([(number, line and line.split("\t")) for number, line in enumerate(lines, start=1)])


def reread_csv(content):
    """Read a csv file by the characters; only up to a row with wrong quotes, whose end nobody knows."""
    content = content.removeprefix(codecs.BOM_UTF8)
    bad_lines = [number for number, line in enumerate(content.split(b"\n"), start=1) if as_text(line) is None]
    text = content.decode("utf-8", "surrogateescape")
    rows, cells, cell, quoted, start, number = [], [], "", False, 1, 1
    place, wrong = 0, False
    while place < len(text) and not wrong:
        character, following = text[place], text[place + 1 : place + 2]
        place += 1
        number += character == "\n"
        if quoted is True and character == '"':
            if following == '"':
                cell, place = cell + '"', place + 1
            else:
                quoted = "closed"
        elif quoted is True:
            cell += character
        elif character == ",":
            cells, cell, quoted = [*cells, cell], "", False
        elif character == "\n" or (character == "\r" and following in ("", "\n")):
            if character == "\r" and following:
                place, number = place + 1, number + 1
            blank = not cells and not cell and not quoted
            rows.append((start, [] if blank else [*cells, cell], number))
            cells, cell, quoted, start = [], "", False, number
        elif character == "\r" or quoted == "closed":
            wrong = True
        elif character == '"' and not cell:
            quoted = True
        else:
            cell += character
    wrong = wrong or quoted is True
    if not wrong and (cells or cell or quoted):
        rows.append((start, [*cells, cell], number + 1))
    checked = []
    for first, cells_of_row, end in rows:
        bad = [line for line in bad_lines if first <= line < end]
        checked.append((bad[0] if bad else first, None if bad else cells_of_row))
    return checked, (start if wrong else None)


def reread_jsonl(content):
    lines = lines_of(content)
    while lines and lines[-1] == "":
        lines.pop()
    return [(f"line {number}", json_object(line)) for number, line in enumerate(lines, start=1)] or None


def json_object(line):
    value = None if line is None else parse(line)
    return value if isinstance(value, dict) and set(COLUMNS) <= set(value) else None


rows = st.integers(2, 3).flatmap(
    lambda count: st.lists(st.lists(texts("\t\n\r"), min_size=count, max_size=count), min_size=1, max_size=5)
)
ends = st.sampled_from(["\n", "\r\n"])


def as_fields(cells):
    return dict(zip((*COLUMNS, *OPTIONAL), cells))


def is_no_header(cells):
    return not set(COLUMNS) <= {cell.strip().casefold() for cell in cells} and not cells[0].startswith("\ufeff")


def write_tsv(cells, header, mark, end, blank):
    given = [[*COLUMNS, *OPTIONAL][: len(cells[0])], *cells] if header else cells
    return (mark + "".join("\t".join(row) + end for row in given) + blank * end).encode()


def write_csv(cells, header, mark, end, blank):
    given = [[*COLUMNS, *OPTIONAL][: len(cells[0])], *cells] if header else cells
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL).writerows(given)
    return (mark + file.getvalue() + blank * end).encode()


def write_jsonl(cells, header, mark, end, blank):
    lines = (json.dumps(as_fields(row), ensure_ascii=header) + end for row in cells)
    return (mark + "".join(lines) + blank * end).encode()


def start_lines(cells, first):
    """The number of the line on which each row of a csv file starts."""
    numbers = [first]
    for row in cells:
        numbers.append(numbers[-1] + 1 + sum(cell.count("\n") for cell in row))
    return numbers


TABLES = {"tsv": write_tsv, "txt": write_tsv, "csv": write_csv, "jsonl": write_jsonl}
read_pairs = partial(read_table, columns=COLUMNS, optional=OPTIONAL)
layouts = st.tuples(st.booleans(), st.sampled_from(["", "\ufeff"]), ends, st.integers(0, 2))


def judge_table(outcome, path, content):
    """Judge the reading of a damaged table by the second reading."""
    if path.suffix == ".jsonl":
        judge(outcome, read_pairs, path, content, reread_jsonl(content))
    elif path.suffix != ".csv":
        judge(outcome, read_pairs, path, content, reread_tsv(content))
    else:
        given, wrong = reread_csv(content)
        if wrong is None:
            judge(outcome, read_pairs, path, content, rows_of_cells(given))
        else:
            judge_up_to(outcome, path, content, given, wrong)


def judge_up_to(outcome, path, content, given, wrong):
    """Judge the rows of a csv file up to the one with wrong quotes, which starts at line `wrong`."""
    path.write_bytes(content)
    expected = rows_of_cells([*given, (wrong, None)])
    found, error = read_all(read_pairs, path)
    assert (error is not None) == (expected is None)
    if not error:
        places = [(row.where, None) if isinstance(row, BadRow) else row for row in found]
        places = [(where.removeprefix(f"{path}, "), fields) for where, fields in places]
        # A line of the row may also not be UTF-8, and then the place is that line.
        assert places[: len(expected) - 1] == expected[:-1]
        where, fields = places[len(expected) - 1]
        assert fields is None
        assert int(where.removeprefix("line ")) >= wrong
    outcome("bad row named")


@pytest.mark.parametrize("suffix", TABLES)
@settings(max_examples=80)
@given(cells=rows, layout=layouts)
@example(cells=[["Source", "x"]], layout=(False, "\ufeff", "\r\n", 2))
@example(cells=[["a" * 200_000, "\u2028"]], layout=(True, "", "\n", 0))
def test_tables(folder, outcome, suffix, cells, layout):
    header, mark, end, blank = layout
    if not is_no_header(cells[0]):
        header = True
    content = TABLES[suffix](cells, header, mark, end, blank)
    first = 1 if suffix == "jsonl" else 1 + header
    expected = [(f"line {number}", as_fields(row)) for number, row in enumerate(cells, start=first)]
    judge(outcome, read_pairs, folder / f"table.{suffix}", content, expected)


@settings(max_examples=80)
@given(cells=st.lists(st.tuples(texts(), texts()), min_size=1, max_size=5), layout=layouts)
def test_csv_cells_of_several_lines(folder, outcome, cells, layout):
    _, mark, end, blank = layout
    content = write_csv(cells, True, mark, end, blank)
    numbers = start_lines(cells, 2)
    expected = [(f"line {number}", as_fields(row)) for number, row in zip(numbers, cells)]
    judge(outcome, read_pairs, folder / "table.csv", content, expected)


@pytest.mark.parametrize("suffix", TABLES)
@settings(max_examples=150)
@given(cells=rows, layout=layouts, done=st.lists(damages, min_size=1, max_size=3))
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(0, "insert", b"Source\ttarget\n")])
@example(cells=[["a", "b"]], layout=(True, "", "\n", 0), done=[(0, "insert", b"source\t")])
@example(cells=[["a", "b"]], layout=(True, "", "\n", 0), done=[(3, "insert", b"\xe3")])
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(1, "insert", b"\0")])
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(1, "insert", b'"source": "c", ')])
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(0, "insert", b"[" * 100_000 + b"\n")])
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(0, "insert", b"9" * 5_000 + b"\n")])
@example(cells=[["a", "b"]], layout=(False, "", "\n", 0), done=[(0, "insert", b"NaN\n")])
def test_damaged_tables(folder, outcome, suffix, cells, layout, done):
    content = TABLES[suffix](cells, *layout)
    for each in done:
        content = damage(content, *each)
    judge_table(outcome, folder / f"table.{suffix}", content)


class Tables(RuleBasedStateMachine):
    """A table that rows are added to, that is damaged, mended and read after each step."""

    def __init__(self, outcome, folder, suffix):
        super().__init__()
        self.outcome, self.path = outcome, folder / f"steps.{suffix}"
        self.write = TABLES[suffix]
        self.cells = []
        self.done = []

    @rule(row=st.lists(texts("\t\n\r"), min_size=2, max_size=2))
    def add(self, row):
        self.cells.append(row)

    @precondition(lambda self: self.cells)
    @rule(each=damages)
    def damage(self, each):
        self.done.append(each)

    @precondition(lambda self: self.done)
    @rule()
    def mend(self):
        self.done.pop()

    @precondition(lambda self: self.cells)
    @invariant()
    def read(self):
        content = self.write(self.cells, True, "", "\n", 0)
        for each in self.done:
            content = damage(content, *each)
        if self.done:
            judge_table(self.outcome, self.path, content)
        else:
            first = 1 if self.path.suffix == ".jsonl" else 2
            expected = [(f"line {number}", as_fields(row)) for number, row in enumerate(self.cells, start=first)]
            judge(self.outcome, read_pairs, self.path, content, expected)


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_step_by_step(folder, outcome, suffix):
    steps = settings(max_examples=15, stateful_step_count=12)
    run_state_machine_as_test(partial(Tables, outcome, folder, suffix), settings=steps)


# Parquet


@st.composite
def parquet_files(draw):
    cells = draw(st.lists(st.tuples(texts(), texts()), min_size=1, max_size=12))
    size = draw(st.integers(1, 6))
    table = pyarrow.Table.from_pylist([as_fields(row) for row in cells])
    sink = io.BytesIO()
    pyarrow.parquet.write_table(
        table,
        sink,
        row_group_size=size,
        compression=draw(st.sampled_from(["none", "snappy", "zstd"])),
        use_dictionary=draw(st.booleans()),
        write_page_checksum=True,
        store_schema=False,
    )
    return sink.getvalue(), cells, size


@settings(max_examples=60)
@given(made=parquet_files())
def test_parquet(folder, outcome, made):
    content, cells, _ = made
    expected = [(f"row {number}", as_fields(row)) for number, row in enumerate(cells, start=1)]
    judge(outcome, read_pairs, folder / "table.parquet", content, expected)


@settings(max_examples=250)
@given(made=parquet_files(), each=damages)
def test_damaged_parquet(folder, outcome, made, each):
    """Each row is as it was or in a range that is named as bad, or the file is refused."""
    content, cells, _ = made
    path = folder / "table.parquet"
    path.write_bytes(damage(content, *each))
    expected = {f"{path}, row {number}": as_fields(row) for number, row in enumerate(cells, start=1)}
    found, error = read_all(read_pairs, path)
    if error:
        outcome("clear error")
        return
    bad = [row for row in found if isinstance(row, BadRow)]
    for row in bad:
        first, last = re.fullmatch(rf"{re.escape(str(path))}, rows (\d+) to (\d+)", row.where).groups()
        for number in range(int(first), int(last) + 1):
            del expected[f"{path}, row {number}"]
    assert dict(row for row in found if not isinstance(row, BadRow)) == expected
    outcome("bad row named" if bad else "right")
