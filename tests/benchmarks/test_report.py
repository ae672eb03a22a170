"""Results as JSON, tables and the README: nothing measured is lost or renamed on the way."""

import json

import pytest

from benchmarks import report
from benchmarks.results import LIMIT, OURS, Target, Work

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


def test_the_json_holds_every_round_and_what_they_come_to(tmp_path, work):
    path = tmp_path / "cpu" / "decoding.json"
    section = report.write_section(path, [work], ABOUT)
    assert json.loads(path.read_text(encoding="utf-8")) == section
    assert section["about"] == ABOUT
    assert section["rounds"] == {"greedy": work.figures}
    assert [row["contestant"] for row in section["rows"]] == [OURS, "GPT-2", LIMIT]
    assert [goal["met"] for goal in section["goals"]] == [True, False]


def test_a_row_of_figures_names_its_work_once(work):
    ours, peer, limit = report.figure_cells(work.rows())
    assert ours == ("greedy", OURS, "2.50 ms a step", "2.00 … 3.00", "0.250", "0.200 … 0.300", "2.50")
    assert peer == ("", "GPT-2", "10.0 ms a step", "10.0 … 10.0", "1.00", "1.00 … 1.00", "10.0")
    assert limit[:2] == ("", LIMIT)


def test_what_cannot_be_compared_is_left_empty():
    assert report.figure_cells(Work("import", "s", {OURS: [1.0]}).rows())[0][4:] == ("", "", "")


def test_a_row_of_targets_tells_what_was_asked_and_reached(work):
    met, missed = report.goal_cells(work.goals())
    assert met == ("greedy", "at most 0.35 of GPT-2's", "0.250", "0.200 … 0.300", "yes")
    assert missed[-1] == "NO"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (Target(0.3, "GPT-2", kind="difference"), "at most 0.3 ms a step over GPT-2's"),
        (Target(5, kind="figure"), "at most 5 ms a step"),
    ],
)
def test_differences_and_figures_alone_are_told_with_their_unit(work, target, told):
    work.targets = [target]
    assert report.goal_cells(work.goals())[0][1] == told


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (100.0, "100"), (12.34, "12.3"), (1.234, "1.23"), (0.12345, "0.123")]
)
def test_figures_have_three_digits_that_count(value, text):
    assert report.number(value) == text


def test_a_table_in_the_terminal_has_lines_of_one_width(work):
    lines = report.as_text(report.FIGURES, report.figure_cells(work.rows())).splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1


def test_a_table_in_markdown_has_a_cell_a_column(work):
    lines = report.as_markdown(report.GOALS, report.goal_cells(work.goals())).splitlines()
    assert {line.count("|") for line in lines} == {len(report.GOALS) + 1}


def test_the_readme_holds_all_sections_of_all_devices_in_order_and_the_findings(tmp_path, work):
    results = tmp_path / "results"
    report.write_section(results / "cpu" / "decoding.json", [work], {**ABOUT, "place": 1})
    report.write_section(results / "cpu" / "training.json", [work], ABOUT)
    report.write_section(results / "cuda" / "decoding.json", [work], {**ABOUT, "machine": "one GPU"})
    (results / "cpu" / "decoding.png").write_bytes(b"")
    report.write_readme(results, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    parts = [
        "On a machine",
        "was to be reached",
        "### Training",
        "### Decoding",
        "![decoding](results/cpu/",
        "On one GPU",
    ]
    assert sorted(parts, key=text.index) == parts
    assert (report.FOLDER / "findings.md").read_text(encoding="utf-8").strip() in text
    assert "2026-01-02, torch 2, 12 s" in text
