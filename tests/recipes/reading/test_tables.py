import csv
import json
import tracemalloc

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.records import BadRow
from atenta.recipes.reading.tables import read_table

COLUMNS, OPTIONAL = ["source", "target"], ["tags"]


@pytest.fixture
def write(tmp_path):
    def write(content, suffix=".tsv"):
        path = tmp_path / f"table{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def read(path):
    """The fields of good rows, and str() of bad ones."""
    rows = read_table(path, COLUMNS, OPTIONAL)
    return [str(row) if isinstance(row, BadRow) else row[1] for row in rows]


def pair(source, target, **tags):
    return {"source": source, "target": target, **tags}


@pytest.mark.parametrize("suffix", [".tsv", ".txt"])
def test_cells_without_a_header_stand_for_the_columns_in_order(write, suffix):
    assert read(write("cao\tcão\n pao  de\tpão  de \n", suffix)) == [pair("cao", "cão"), pair(" pao  de", "pão  de ")]
    assert read(write("ser\tfoi\tV;3\n", suffix)) == [pair("ser", "foi", tags="V;3")]


def test_a_header_names_the_columns_in_any_order(write):
    path = write("target\tcount\tsource\ncão\t3\tcao\n")
    assert list(read_table(path, COLUMNS)) == [(f"{path}, line 2", pair("cao", "cão", count="3"))]


def test_a_first_row_that_lacks_a_column_is_no_header(write):
    assert read(write("source\talvo\n")) == [pair("source", "alvo")]


def test_tabs_part_cells_whatever_quotes_say(write):
    assert read(write('"a\tb"\n')) == [pair('"a', 'b"')]


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        *(
            (".tsv", content)
            for content in ["a\tb\nc\td", "a\tb\r\nc\td\r\n", "\ufeffa\tb\nc\td\n", "a\tb\nc\td\n\n\r\n"]
        ),
        *((".csv", content) for content in ["a,b\nc,d", "a,b\r\nc,d\r\n", "\ufeffa,b\nc,d\n", "a,b\nc,d\n\n\r\n"]),
        (".csv", "\ufeff" + 'source,target\n"a",b\nc,d\n'),
    ],
)
def test_line_endings_byte_order_mark_and_blank_end(write, suffix, content):
    assert read(write(content, suffix)) == [pair("a", "b"), pair("c", "d")]


@pytest.mark.parametrize(
    "content",
    [
        '{"source": "a", "target": "b"}\r\n\r\n\n',
        '\ufeff{"target": "b", "source": "a"}',
    ],
)
def test_json_lines_with_other_ends(write, content):
    assert read(write(content, ".jsonl")) == [pair("a", "b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", r"found 1 column\(s\) in \['a'\]; expected 2"),
        ("a\tb\tV", r"found 3 column\(s\) .*; expected 2"),
        ("", "found a blank line; expected one only at the end of the file"),
        (b"a\tb\xe3o", "found byte 0xE3 at byte 4"),
    ],
)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_malformed_line_is_named_and_the_others_are_read(write, line, message, ending):
    line = line if isinstance(line, bytes) else line.encode("utf-8")
    path = write(ending.join([b"x\ty", b"x\ty", line, b"x\ty", b""]))
    first, second, bad, last = read_table(path, COLUMNS, OPTIONAL)
    assert first[1] == second[1] == last[1] == pair("x", "y")
    assert last[0] == f"{path}, line 4"
    assert bad.where == f"{path}, line 3"
    with pytest.raises(BadRow, match=message):
        raise bad


@pytest.mark.parametrize("first", ["source target", "a\tb\tV\tW"])
def test_the_first_row_too_has_the_columns(write, first):
    bad, good = read(write(f"{first}\na\tb\n"))
    assert "line 1: found" in bad
    assert "expected source, target" in bad
    assert good == pair("a", "b")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a", "found 1 column"),
        ('"a"b,c', "expected"),
        (b"a,b\xe3o", "expected UTF-8"),
        ("", "found a blank line; expected one only at the end"),
    ],
)
def test_a_malformed_row_of_csv_is_named_by_the_line_where_it_starts(write, row, message):
    row = row if isinstance(row, bytes) else row.encode("utf-8")
    path = write(b"\n".join([b'"two\nlines",y', row, b"x,y", b""]), ".csv")
    first, bad, last = read_table(path, COLUMNS, OPTIONAL)
    assert first == (f"{path}, line 1", pair("two\nlines", "y"))
    assert last == (f"{path}, line 4", pair("x", "y"))
    assert bad.where == f"{path}, line 3"
    with pytest.raises(BadRow, match=message):
        raise bad


def test_a_quote_that_is_never_closed_is_named(write):
    good, bad = read(write('a,b\nc,"d\ne,f\n', ".csv"))
    assert good == pair("a", "b")
    assert "line 2: found" in bad


def test_a_cell_of_csv_may_be_long(write):
    long = "ã" * 300_000
    assert read(write(f'"{long}",b\n', ".csv")) == [pair(long, "b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a"', "expected a JSON object"),
        ('["a", "b"]', "expected a JSON object"),
        ('{"source": "a"}', "expected a JSON object with source, target"),
        (b'{"source": "\xe3"}', "found byte 0xE3"),
        ("", "found a blank line; expected one only at the end"),
    ],
)
def test_a_malformed_json_line_is_named(write, line, message):
    good = b'{"source": "x", "target": "y"}'
    path = write(b"\n".join([good, line if isinstance(line, bytes) else line.encode(), good]), ".jsonl")
    first, bad, last = read_table(path, COLUMNS)
    assert (first, last) == ((f"{path}, line 1", pair("x", "y")), (f"{path}, line 3", pair("x", "y")))
    assert bad.where == f"{path}, line 2"
    with pytest.raises(BadRow, match=message):
        raise bad


@pytest.mark.parametrize("suffix", [".tsv", ".txt", ".csv", ".jsonl"])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "\ufeff\r\n"])
def test_a_file_without_rows_is_refused(write, suffix, content):
    with pytest.raises(ValueError, match=rf"table\{suffix}: found no rows; expected rows of source, target"):
        read(write(content, suffix))


def test_a_header_alone_is_no_row(write):
    with pytest.raises(ValueError, match="found no rows"):
        read(write("source\ttarget\n"))


def test_an_unknown_suffix_is_refused_with_those_known(write):
    with pytest.raises(ValueError, match=r"found the suffix '.xlsx'; expected .tsv, .txt, .csv, .jsonl or .parquet"):
        read(write("", ".xlsx"))


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".parquet"])
def test_a_missing_file_is_named(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match="absent"):
        read(tmp_path / f"absent{suffix}")


def test_parquet_gives_the_columns_wanted_as_they_stand(tmp_path):
    path = tmp_path / "table.parquet"
    answers = {"text": ["b"], "answer_start": [3]}
    rows = [{"source": "a", "target": answers, "count": 1}, {"source": None, "target": answers, "count": 2}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert read(path) == [pair("a", answers), pair(None, answers)]


def test_parquet_without_a_column_or_that_is_none_is_refused(tmp_path, write):
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["a"], "alvo": ["b"]}), path)
    with pytest.raises(ValueError, match=r"table.parquet: found the columns source, alvo; expected target too"):
        read(path)
    with pytest.raises(ValueError, match=r"table.parquet: found no Parquet"):
        read(write("a\tb\n", ".parquet"))


# The first cell of a file could look like a header, or like a byte order mark; NUL is no character of csv.
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0"), min_size=1)
tables = st.lists(st.tuples(text, text), min_size=1).filter(lambda rows: rows[0] != ("source", "target"))


@given(tables, st.booleans())
def test_what_csv_writes_is_read(tmp_path_factory, rows, header):
    path = tmp_path_factory.mktemp("table") / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *rows] if header else rows)
    assert read(path) == [pair(*row) for row in rows]


@given(tables)
def test_what_json_writes_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "table.jsonl"
    path.write_text("".join(json.dumps(pair(*row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    assert read(path) == [pair(*row) for row in rows]


@given(tables)
def test_what_pyarrow_writes_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([pair(*row) for row in rows]), path)
    assert read(path) == [pair(*row) for row in rows]


@pytest.mark.parametrize(
    ("suffix", "line"),
    [(".tsv", "{0}\t{0}\n"), (".csv", '"{0}","{0}"\n'), (".jsonl", '{{"source": "{0}", "target": "{0}"}}\n')],
)
def test_a_large_file_is_never_whole_in_memory(write, suffix, line):
    path = write(line.format("a" * 5_000) * 1_000, suffix)
    tracemalloc.start()
    rows = sum(1 for _ in read_table(path, COLUMNS))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 1_000
    assert peak < path.stat().st_size / 20
