"""The command line, and one section from beginning to end."""

import json

import pytest

import benchmarks.__main__ as command
from benchmarks.results import OURS, Work


class Section:
    """Stands for a section that takes no time."""

    SECONDS = 60

    @staticmethod
    def run(settings):
        yield Work("nothing", "s", {OURS: [1.0] * settings.rounds})


def test_a_section_is_measured_printed_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(command.SECTIONS, "imports", Section)
    monkeypatch.setattr(command.logging, "set_verbosity_error", lambda: None)  # other tests read warnings
    arguments = ["--only", "imports", "--rounds", "2", "--threads", "1", "--output_dir", str(tmp_path / "results")]
    command.main([*arguments, "--readme", str(tmp_path / "README.md")])
    told = capsys.readouterr().out
    assert "imports (1 of 1, about 1 min left" in told
    assert "1.00 s" in told
    written = json.loads((tmp_path / "results" / "cpu" / "imports.json").read_text(encoding="utf-8"))
    assert written["rounds"] == {"nothing": {OURS: [1.0, 1.0]}}
    assert "| nothing | atenta | 1.00 s |" in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--rounds", "0"], "--rounds 0: expected 1 or more"), (["--only", "speed"], "invalid choice: 'speed'")],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.parse(arguments)
    assert message in capsys.readouterr().err


def test_all_sections_fit_into_a_quarter_of_an_hour():
    assert sum(section.SECONDS for section in command.SECTIONS.values()) < 15 * 60
