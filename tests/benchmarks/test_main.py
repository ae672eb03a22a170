"""Tests of the command line, and of one section from beginning to end."""

import json

import pytest

import benchmarks.__main__ as command
from benchmarks.measuring import OURS, Work


def measure_nothing(settings):
    yield Work("nothing", "s", {OURS: [1.0] * settings.rounds})


def test_section_is_measured_printed_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(command.SECTIONS, "imports", command.Section(measure_nothing, seconds=60))
    monkeypatch.setattr(command.logging, "set_verbosity_error", lambda: None)  # other tests read warnings
    arguments = ["--only", "imports", "--rounds", "2", "--threads", "1", "--output_dir", str(tmp_path / "results")]
    command.main([*arguments, "--readme", str(tmp_path / "README.md")])
    assert "1.00 s" in capsys.readouterr().out
    written = json.loads((tmp_path / "results" / "cpu" / "imports.json").read_text(encoding="utf-8"))
    assert written["rounds"] == {"nothing": {OURS: [1.0, 1.0]}}
    assert "| nothing | atenta | 1.00 s |" in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--rounds", "0"], "--rounds 0: expected 1 or more"), (["--only", "speed"], "invalid choice: 'speed'")],
)
def test_invalid_options_are_refused_before_measuring(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.parse_command_line(arguments)
    assert message in capsys.readouterr().err


def test_all_sections_take_less_than_twenty_minutes():
    assert sum(section.seconds for section in command.SECTIONS.values()) < 20 * 60
