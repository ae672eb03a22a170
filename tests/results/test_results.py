"""The table of results: runs that are not repeated, ensembles, missing data, figures and their spread."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from results.__main__ import FOLDER, app, read_rows
from results.result_table import write_tables

RECIPE = """
import json, pathlib, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
folder = pathlib.Path(options["--output_dir"])
calls = pathlib.Path({calls!r})
with calls.open("a") as file:
    print(*sys.argv[1:], file=file)
if options.get("--fail"):
    sys.exit(3)
score = int(options["--seed"]) / 10
(folder / "metrics.json").write_text(json.dumps({{
    "test": {{"look-up": {{"exact_match": 0.5}}, "model": {{"exact_match": score}}}},
    "training": [1, 2, 3],
    "card": {{"cost": {{"minutes": 1.5, "processor": "a processor"}}}},
    "run": {{"command": "recipe.py", "machine": "a machine", "versions": {{"torch": "2"}}, "date": "2026-11-23"}},
}}))
"""
FIGURES = [
    {"score": "exact_match", "error": True, "target": 0.8, "label": {"en": "error rate", "pt": "erro"}},
    {"score": "exact_match", "label": {"en": "exact match", "pt": "acertos"}},
]


@pytest.fixture
def places(tmp_path):
    """A recipe that is quickly done, rows that use it, and the folders of a run."""
    recipe, calls = tmp_path / "recipe.py", tmp_path / "calls.txt"
    recipe.write_text(RECIPE.format(calls=str(calls)), encoding="utf-8")
    common = {"task": {"en": "A task", "pt": "Uma tarefa"}, "figures": FIGURES}
    rows = [
        {"name": "first", "command": str(recipe), "seeds": [1, 2, 3], "quick": True, "baseline": "look-up", **common},
        {"name": "long", "command": f"{recipe} --start {{outputs}}/first-1", "needs": ["first"], **common},
        {"name": "elsewhere", "command": f"{recipe} --file {{data}}/x", "files": {"x.tsv": "data/x.tsv"}, **common},
        {"name": "failing", "command": f"{recipe} --fail yes", **common},
    ]
    (tmp_path / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")

    def run(*arguments):
        options = {"rows-file": "rows.yaml", "outputs": "outputs", "runs": "runs", "data": "data"}
        given = [part for name, value in options.items() for part in (f"--{name}", str(tmp_path / value))]
        result = CliRunner().invoke(app, ["run", *arguments, *given])
        done = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return result, done

    return tmp_path, run


def test_quick_rows_are_run_with_each_seed_and_not_again(places):
    folder, run = places
    result, done = run()
    assert result.exit_code == 0, result.output
    assert [line.split()[-3] for line in done] == ["1", "2", "3"]
    assert sorted(path.name for path in (folder / "runs").iterdir()) == [f"first-{seed}.json" for seed in (1, 2, 3)]
    assert "training" not in json.loads((folder / "runs" / "first-1.json").read_text(encoding="utf-8"))
    assert run()[1] == []


def test_another_command_is_run_again(places):
    folder, run = places
    run()
    text = (folder / "rows.yaml").read_text(encoding="utf-8")
    (folder / "rows.yaml").write_text(text.replace("recipe.py\n", "recipe.py --more 1\n"), encoding="utf-8")
    assert len(run()[1]) == 3


def test_a_named_row_is_run_after_those_it_needs(places):
    folder, run = places
    done = run("long")[1]
    assert len(done) == 4
    assert f"--start {folder / 'outputs'}/first-1" in done[-1]
    kept = json.loads((folder / "runs" / "long-42.json").read_text(encoding="utf-8"))
    assert "{outputs}/first-1" in kept["run"]["command"]  # what is kept names no folder of this machine
    assert str(folder / "outputs") not in kept["run"]["command"]


def test_rows_without_their_data_are_left_out_and_said(places):
    folder, run = places
    result, done = run("elsewhere")
    assert result.exit_code == 0
    assert "elsewhere: left out" in result.output
    assert not done
    (folder / "data").mkdir()
    (folder / "data" / "x.tsv").write_text("a\tb\n", encoding="utf-8")
    assert len(run("elsewhere")[1]) == 1
    assert (folder / "outputs" / "data" / "x.tsv").read_text(encoding="utf-8") == "a\tb\n"


def test_a_failing_run_and_an_unknown_row_are_named(places):
    _, run = places
    assert "failing, seed 42: the run ended with status 3" in str(run("failing")[0].exception.code)
    assert "No row nothing; expected some of first" in str(run("nothing")[0].exception.code)


def test_the_table_has_means_spreads_and_targets(places):
    folder, run = places
    run("first")
    english, portuguese = ((folder / name).read_text(encoding="utf-8") for name in ("README.md", "README.pt.md"))
    assert "| A task | error rate | 0.800 (mean of 3 seeds, 0.700 to 0.900) | 0.500 |" in english
    assert "0.800: reached" in english
    assert "| A task | error rate | not run |" in english
    assert "0,800 (média de 3 sementes, 0,700 a 0,900) | 0,500 |" in portuguese
    assert "| 1,5 |" in portuguese
    assert "a machine, a processor; torch 2; 2026-11-23" in english


def test_rows_of_the_project_are_complete():
    for row in read_rows().values():
        assert row.task.keys() == {"en", "pt"}
        assert all(figure["label"].keys() == {"en", "pt"} for figure in row.figures)
        assert bool(row.command) or row.ensemble_of
        assert all({"figure", "by", "source"} <= each.keys() for each in row.published)


def test_the_tables_are_those_of_the_runs(tmp_path):
    for preface in FOLDER.glob("preface*.md"):
        (tmp_path / preface.name).write_text(preface.read_text(encoding="utf-8"), encoding="utf-8")
    write_tables(read_rows().values(), FOLDER / "runs", tmp_path)
    for name in ("README.md", "README.pt.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "needs", "message"),
    [(["a", "a"], [], "two rows 'a'"), (["a", "b"], ["c"], "'a' needs c; expected rows before it")],
)
def test_malformed_rows_are_named(names, needs, message, tmp_path):
    rows = [{"name": name, "task": {}, "figures": [], "needs": needs} for name in names]
    (tmp_path / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / "rows.yaml")
