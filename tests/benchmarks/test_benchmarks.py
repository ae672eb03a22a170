"""The benchmarks: turns, the ratios and pages of the project, and one section from beginning to end."""

import json

import pytest

import benchmarks.__main__ as command
from benchmarks import benchmark_report as report
from benchmarks.measuring import OURS, Work, interleave

ABOUT = {
    "place": 0,
    "command": "python -m benchmarks",
    "machine": "a machine",
    "versions": "torch 2",
    "date": "2026-01-02",
    "seconds": 12.3,
}


def test_contestants_take_turns_and_every_second_round_is_reversed():
    turns = []

    def turn(name):
        turns.append(name)
        return float(len(turns))

    contestants = {name: lambda name=name: turn(name) for name in "ab"}
    assert interleave(contestants, 3, "work") == {"a": [3.0, 6.0, 7.0], "b": [4.0, 5.0, 8.0]}
    assert "".join(turns) == "ab" + "ab" + "ba" + "ab"
    assert interleave(contestants, 1, "work", warm_up=False) == {"a": [9.0], "b": [10.0]}


def test_the_rows_of_the_project_follow_from_its_rounds():
    """Its results have rates and times, contestants that are no peers, a limit, and works without peers."""
    for path in report.FOLDER.glob("results/cpu/*.json"):
        section = json.loads(path.read_text(encoding="utf-8"))
        units = {row["work"]: row["unit"] for row in section["rows"]}
        works = (
            Work(name, units[name], figures, more_is_better=units[name].endswith("/s"))
            for name, figures in section["rounds"].items()
        )
        assert [row for work in works for row in work.rows()] == section["rows"], path


def test_the_readme_holds_all_sections_of_all_devices_in_order(tmp_path):
    work = Work("greedy", "ms a step", {OURS: [2.0, 2.5, 3.0]})
    results = tmp_path / "results"
    section = report.write_section(results / "cpu" / "decoding.json", [work], {**ABOUT, "place": 1})
    assert json.loads((results / "cpu" / "decoding.json").read_text(encoding="utf-8")) == section
    assert section["rounds"] == {"greedy": work.figures}
    report.write_section(results / "cpu" / "training.json", [work], ABOUT)
    report.write_section(results / "cuda" / "decoding.json", [work], {**ABOUT, "machine": "one GPU"})
    report.write_readme(results, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    headings = ["## Results on a machine", "### Training", "### Decoding", "## Results on one GPU", "### Decoding"]
    assert [line for line in text.splitlines() if line in headings] == headings
    assert "2026-01-02, torch 2, 12 s" in text


def test_the_readme_of_the_project_is_that_of_its_results(tmp_path):
    (tmp_path / "results").symlink_to(report.FOLDER / "results")
    report.write_readme(tmp_path / "results", tmp_path / "README.md")
    written, stored = ((folder / "README.md").read_text(encoding="utf-8") for folder in (tmp_path, report.FOLDER))
    assert written == stored


def measure_nothing(settings):
    yield Work("nothing", "s", {OURS: [1.0] * settings.rounds})


def test_a_section_is_measured_printed_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(command.SECTIONS, "corpus", command.Section(measure_nothing, seconds=60))
    monkeypatch.setattr(command.logging, "set_verbosity_error", lambda: None)  # other tests read warnings
    arguments = ["--only", "corpus", "--rounds", "2", "--threads", "1", "--output_dir", str(tmp_path / "results")]
    command.main([*arguments, "--readme", str(tmp_path / "README.md")])
    written = json.loads((tmp_path / "results" / "cpu" / "corpus.json").read_text(encoding="utf-8"))
    assert written["rounds"] == {"nothing": {OURS: [1.0, 1.0]}}
    for text in (capsys.readouterr().out, (tmp_path / "README.md").read_text(encoding="utf-8")):
        assert "| nothing | atenta | 1.00 s |" in text


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--threads", "0"], ["--only", "speed"]])
def test_invalid_options_are_refused_before_measuring(arguments, capsys):
    with pytest.raises(SystemExit):
        command.parse_command_line(arguments)
    assert arguments[-1] in capsys.readouterr().err.splitlines()[-1]
