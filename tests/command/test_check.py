"""The command `atenta check`: its formats, its exit status, and what it writes."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from support import command
from support.wheels import ROOT

BARE = "# Um titulo: 50%\n\nA informacao nao chegou.\n"
RIGHT = "# Um título: 50%\n\nA informação não chegou.\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.md").write_text(BARE, encoding="utf-8")
    return "a,b.md"


def run(*arguments, code):
    return command.run("check", *arguments, code=code).stdout


def test_a_line_for_each_word_and_the_exit_status(file):
    lines = run(file, ".", code=1).splitlines()
    assert f"{file}:3:3 informacao → informação 0.99" in lines
    assert f"{file}:3:14 nao → não 0.99" in lines
    assert all(re.fullmatch(r"a,b\.md:\d+:\d+ \w+ → \w+ 0\.99", line) for line in lines)
    assert "informacao" not in run(file, "--word", "Informacao", code=1)
    assert run(file, "--min-confidence", 1, code=0) == run(file, "--min_confidence", 1, code=0) == ""
    explained = run(file, "--explain", code=1)
    assert re.search(r"\n    0\.00\d\d A informacao nao chegou\.\n    (0\.99\d\d|1\.0000) A informação nao", explained)


def test_an_empty_path_is_not_the_current_folder(file, tmp_path):
    assert "empty path" in command.refusal("check", "--write", "", code=2)
    assert (tmp_path / file).read_text(encoding="utf-8") == BARE


def test_write(file, tmp_path):
    assert f"{file}:3:3 informacao" in run(file, "--write", code=0)
    assert (tmp_path / file).read_text(encoding="utf-8") in (RIGHT, RIGHT.replace("título", "titulo"))
    assert run(file, code=0) == ""


def test_formats_for_programs(file):
    records = [json.loads(line) for line in run(".", "--format", "json", code=1).splitlines()]
    (record,) = (each for each in records if each["before"] == "informacao")
    place = {"file": file, "line": 3, "column": 3, "end_column": 13, "after": "informação"}
    assert record.items() >= place.items()
    assert 0.99 <= record["confidence"] <= 1
    assert record["sentence"][record["start"] :].startswith("informacao")

    sarif = json.loads(run(".", "--format", "sarif", code=1))
    (of_run,) = sarif["runs"]
    assert (sarif["version"], of_run["tool"]["driver"]["version"]) == ("2.1.0", version("atenta"))
    (result,) = (each for each in of_run["results"] if each["message"]["text"] == "informacao → informação")
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "a%2Cb.md"
    assert location["region"] == {"startLine": 3, "startColumn": 3, "endLine": 3, "endColumn": 13}
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "informação"
    (rule,) = of_run["tool"]["driver"]["rules"]
    assert result["ruleId"] == rule["id"]
    for required in ("shortDescription", "fullDescription", "help"):  # by GitHub's code scanning
        assert rule[required]["text"]

    annotated = run(".", "--format", "github", code=1)
    expected = "::warning file=a%2Cb.md,line=3,col=3,endColumn=13,title=atenta check::informacao → informação (0.99)"
    assert expected in annotated.splitlines()


@pytest.mark.parametrize("format", ["text", "json", "github", "sarif"])
def test_nothing_found(tmp_path, monkeypatch, format):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(RIGHT, encoding="utf-8")
    printed = run("a.md", "--format", format, code=0)
    assert json.loads(printed)["runs"][0]["results"] == [] if format == "sarif" else printed == ""


def test_what_cannot_be_checked(file, tmp_path):
    assert run("nada.md", code=2) == ""
    run(file, "--format", "xml", code=2)
    run(file, "--min-confidence", 2, code=2)
    (tmp_path / ".atenta-check.toml").write_text("nada = 1")
    run(file, code=2)


def test_labels_without_small_words_are_said_to_be_unread(file, tmp_path):
    (tmp_path / "m.po").write_text('msgid "Area code"\nmsgstr "Codigo de area"\n', encoding="utf-8")
    for _ in range(2):  # the second time from the cache
        assert "nothing was read" in command.run("check", "m.po").stderr
    found = command.run("check", "m.po", file, code=1).stderr
    assert "nothing was read" not in found
    assert "2 files checked, 1 of them in Portuguese;" in found


def test_a_file_of_another_type_is_named_if_it_was_given_by_itself(file, tmp_path):
    (tmp_path / "dados.csv").write_text("nao", encoding="utf-8")
    (tmp_path / "LICENCA").write_text("nao", encoding="utf-8")
    lines = command.run("check", "dados.csv", "LICENCA").stderr.splitlines()
    assert lines[:2] == [f"{name}: not checked: its type is not read" for name in ("dados.csv", "LICENCA")]
    assert "2 of other types left out" in lines[2]
    assert "not checked" not in command.run("check", ".", code=1).stderr


def test_hook_and_action_run_the_command():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"] == "atenta check"
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    installing, _ = (step["run"] for step in action["runs"]["steps"])
    without_torch = (ROOT / "docs" / "en" / "without_torch.md").read_text(encoding="utf-8")
    needed = re.search(r"^pip install (numpy .+)$", without_torch, re.MULTILINE)[1]
    assert f"--quiet {needed}\n" in installing
    assert action["inputs"].keys() == {"paths", "variant"}


def test_the_action_annotates_ten_words_and_its_summary_has_all(file, tmp_path):
    """The step that checks, run as GitHub's runner does."""
    (tmp_path / "runner" / "atenta" / "bin").mkdir(parents=True)
    (tmp_path / "runner" / "atenta" / "bin" / "atenta").symlink_to(Path(sys.executable).with_name("atenta"))
    *_, step = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    assert step["env"] == {"PATHS": "${{ inputs.paths }}", "VARIANT": "${{ inputs.variant }}"}

    def run_step(paths, variant=""):
        summary = tmp_path / "summary.md"
        summary.write_text("")
        given = {"RUNNER_TEMP": str(tmp_path / "runner"), "GITHUB_STEP_SUMMARY": str(summary)}
        given |= {"PATHS": paths, "VARIANT": variant}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, capture_output=True, env=os.environ | given, encoding="utf-8")
        return done.returncode, done.stdout, summary.read_text(encoding="utf-8")

    status, annotations, summary = run_step(".")
    assert status == 1
    assert "::warning file=a%2Cb.md,line=3,col=3," in annotations
    assert len(annotations.splitlines()) == summary.count(" → ")
    assert f"{file}:3:3 informacao → informação 0.99" in summary.splitlines()
    (tmp_path / file).write_text(RIGHT, encoding="utf-8")
    assert run_step(".") == (0, "", "")
    assert run_step("nada.md") == (2, "", "")
    (tmp_path / file).write_text("Ela fez um trabalho academico.\n", encoding="utf-8")
    assert run_step(".")[0] == 0
    status, annotations, _ = run_step(".", "br")
    assert (status, "acadêmico" in annotations) == (1, True)
