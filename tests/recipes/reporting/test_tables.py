"""Tables on the screen and in files: what is written comes back whole."""

import csv
import json
import sys
from datetime import date
from importlib.metadata import version

import pytest

from atenta.recipes.decoding.n_best import Hypothesis
from atenta.recipes.reporting.tables import n_best_columns, table, write_metrics, write_predictions


def test_a_table_has_a_line_a_row_and_four_decimals():
    lines = table({"left as it is": {"exact_match": 0.5}, "model": {"exact_match": 0.98765}}).splitlines()
    assert lines[0].split() == ["exact", "match"]
    assert lines[1].split() == ["left", "as", "it", "is", "0.5000"]
    assert lines[2].split() == ["model", "0.9877"]
    assert len({len(line) for line in lines}) == 1


def test_a_figure_that_a_row_lacks_is_a_dash_in_its_column():
    lines = table({"baseline": {"f1": 0.5}, "model": {"f1": 0.25, "a_very_long_name": 12.0}}).splitlines()
    assert lines[1].split() == ["baseline", "0.5000", "-"]
    assert lines[2].split() == ["model", "0.2500", "12.0000"]
    assert len({len(line) for line in lines}) == 1


def test_large_figures_have_no_decimals():
    assert table({"model": {"word_perplexity": 1234567.8, "loss": 999.5}}).split()[-2:] == ["1,234,568", "999.5000"]


def test_metrics_are_json_that_keeps_accents_and_tells_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["somewhere/recipes/seq2seq.py", "--seed", "3"])
    path = tmp_path / "metrics.json"
    write_metrics(path, {"ação": {"score": 0.25}})
    assert "ação" in path.read_text(encoding="utf-8")
    metrics = json.loads(path.read_text(encoding="utf-8"))
    run = metrics.pop("run")
    assert metrics == {"ação": {"score": 0.25}}
    assert run["command"] == "seq2seq.py --seed 3"
    assert run["date"] == date.today().isoformat()
    assert run["versions"]["transformers"] == version("transformers")
    assert run["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "cores" in run["machine"]


def test_predictions_come_back_whole_even_with_tabs_quotes_and_line_breaks(tmp_path):
    path = tmp_path / "predictions.tsv"
    columns = {"source": ["a\tb", 'c "d"', '"'], "output": ["é\nx", "", "e\u0301\r\n"]}
    write_predictions(path, columns)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows == [["source", "output"], ["a\tb", "é\nx"], ['c "d"', ""], ['"', "e\u0301\r\n"]]


def test_columns_of_two_lengths_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="longer than argument"):
        write_predictions(tmp_path / "predictions.tsv", {"source": ["a"], "output": ["b", "c"]})


def test_several_outputs_are_columns_best_first():
    outputs = [
        [Hypothesis("sou", -0.1, True), Hypothesis("só", -1.25, True)],
        [Hypothesis("vês", -0.00004, True), Hypothesis("", -2.0, False)],
    ]
    assert n_best_columns(outputs) == {
        "output 1": ["sou", "vês"],
        "score 1": ["-0.1000", "-0.0000"],
        "output 2": ["só", ""],
        "score 2": ["-1.2500", "-2.0000"],
    }
