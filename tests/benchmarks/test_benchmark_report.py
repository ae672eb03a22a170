"""Tests of the results as JSON, tables and README."""

import json
import re

import pytest

from benchmarks import benchmark_report as report
from benchmarks.measuring import INT8, LIMIT, OURS, Target, Work

ABOUT = {
    "place": 0,
    "command": "python -m benchmarks",
    "machine": "a machine",
    "versions": "torch 2",
    "date": "2026-01-02",
    "seconds": 12.3,
}


@pytest.fixture
def work():
    figures = {OURS: [2.0, 2.5, 3.0], "GPT-2": [10.0, 10.0, 10.0], LIMIT: [1.0, 1.0, 1.0]}
    return Work("greedy", "ms a step", figures, [Target(0.35, "GPT-2"), Target(0.2, "GPT-2")])


def test_json_holds_every_round_and_the_summaries(tmp_path, work):
    path = tmp_path / "cpu" / "decoding.json"
    section = report.write_section(path, [work], ABOUT)
    assert json.loads(path.read_text(encoding="utf-8")) == section
    assert section["about"] == ABOUT
    assert section["rounds"] == {"greedy": work.figures}
    assert [row["contestant"] for row in section["rows"]] == [OURS, "GPT-2", LIMIT]
    assert [goal["met"] for goal in section["goals"]] == [True, False]


def test_only_the_first_row_names_the_work(work):
    ours, peer, limit = report.figure_cells(work.rows())
    assert ours == ("greedy", OURS, "2.50 ms a step", "2.00 … 3.00", "0.250", "0.200 … 0.300", "2.50")
    assert peer == ("", "GPT-2", "10.0 ms a step", "10.0 … 10.0", "1.00", "1.00 … 1.00", "10.0")
    assert limit[:2] == ("", LIMIT)


def test_missing_comparisons_are_empty_cells():
    assert report.figure_cells(Work("import", "s", {OURS: [1.0]}).rows())[0][4:] == ("", "", "")


@pytest.mark.parametrize(
    ("target", "cells"),
    [
        (Target(0.35, "GPT-2"), ("at most 0.35 × GPT-2", "0.250", "0.200 … 0.300", "yes")),
        (Target(0.2, "GPT-2"), ("at most 0.2 × GPT-2", "0.250", "0.200 … 0.300", "NO")),
        (
            Target(0.3, "GPT-2", kind="difference"),
            ("at most 0.3 ms a step more than GPT-2", "-7.50", "-8.00 … -7.00", "yes"),
        ),
        (Target(5, kind="figure"), ("at most 5 ms a step", "2.50", "2.00 … 3.00", "yes")),
    ],
)
def test_target_row_shows_bound_and_value_reached(work, target, cells):
    work.targets = [target]
    assert report.target_cells(work.goals()) == [("greedy", *cells)]


def test_target_row_names_the_contestant_that_is_not_the_usual_one(work):
    work.figures[INT8] = [1.0]
    work.targets = [Target(2, kind="figure", contestant=INT8)]
    assert report.target_cells(work.goals())[0][:3] == ("greedy: atenta, ONNX int8", "at most 2 ms a step", "1.00")


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (100.0, "100"), (12.34, "12.3"), (1.234, "1.23"), (0.12345, "0.123")]
)
def test_figures_have_three_significant_digits(value, text):
    assert report.three_digits(value) == text


def test_terminal_table_has_lines_of_equal_width(work):
    lines = report.terminal_table(report.FIGURE_HEADER, report.figure_cells(work.rows())).splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1


def test_markdown_table_has_a_cell_for_each_column(work):
    lines = report.markdown_table(report.TARGET_HEADER, report.target_cells(work.goals())).splitlines()
    assert {line.count("|") for line in lines} == {len(report.TARGET_HEADER) + 1}


def test_readme_holds_all_sections_of_all_devices_in_order(tmp_path, work):
    results = tmp_path / "results"
    report.write_section(results / "cpu" / "decoding.json", [work], {**ABOUT, "place": 1})
    report.write_section(results / "cpu" / "training.json", [work], ABOUT)
    report.write_section(results / "cuda" / "decoding.json", [work], {**ABOUT, "machine": "one GPU"})
    (results / "cpu" / "decoding.png").write_bytes(b"")
    report.write_readme(results, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if re.match("##.*(machine|GPU|Training|Decoding)", line)]
    assert [heading.split()[-1] for heading in headings] == ["machine", "Training", "Decoding", "GPU", "Decoding"]
    assert "![decoding](results/cpu/decoding.png)" in text
    assert (report.FOLDER / "findings.md").read_text(encoding="utf-8").strip() in text
    assert "2026-01-02, torch 2, 12 s" in text
