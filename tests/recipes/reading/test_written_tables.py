"""Tables that are written are read back cell by cell, by Python's `csv` and by pandas."""

import csv

import pandas
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.splits import _report_bad_rows
from atenta.recipes.training.results import write_predictions

CELLS = st.text(st.sampled_from("\r\n\t\"', #\\ab\x00\x0b\x1a\x1c\x85\u2028\ufeffé")) | st.text(
    st.characters(codec="utf-8")
)


def read_with_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t", strict=True)]


def read_with_pandas(path):
    found = pandas.read_csv(path, sep="\t", header=None, dtype=str, keep_default_na=False, encoding="utf-8")
    return list(found.itertuples(index=False, name=None))


@given(st.lists(st.tuples(CELLS, CELLS)))
def test_cells_are_read_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "predictions.tsv"
    sources, outputs = zip(*rows) if rows else ((), ())
    write_predictions(path, {"source": sources, "output": outputs})
    written = [("source", "output"), *rows]
    assert read_with_csv(path) == read_with_pandas(path) == written


def test_a_bad_row_with_a_carriage_return_is_one_row(tmp_path):
    _report_bad_rows([("a.tsv, line 1", "found 'a\rb'")], tmp_path / "bad_rows.tsv")
    expected = [("where", "problem"), ("a.tsv, line 1", "found 'a\rb'")]
    assert read_with_csv(tmp_path / "bad_rows.tsv") == read_with_pandas(tmp_path / "bad_rows.tsv") == expected
