"""Grids: the commands and steps of their cells, what is run, the pages and the pictures."""

import json
import os
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from results import __main__ as runner
from results.__main__ import FOLDER, GRIDS, app
from results.grid_chart import Curve, Panel, Point, draw_curves, draw_differences
from results.grid_page import write_pages
from results.grids import read_grid

RECIPE = """
import json, os, pathlib, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with pathlib.Path({calls!r}).open("a") as file:
    print(os.environ.get("OMP_NUM_THREADS"), *sys.argv[1:], file=file)
score = float(options.get("--score", 0.5)) + int(options["--seed"]) / 1000
(pathlib.Path(options["--output_dir"]) / "metrics.json").write_text(json.dumps({{
    "test": {{"model": {{"exact_match": score}}}},
    "card": {{"cost": {{"minutes": 1.5, "processor": "a processor"}}}},
    "run": {{"machine": "a machine", "versions": {{"torch": "2"}}, "date": "2026-11-23"}},
}}))
"""
SCHEDULE = (
    "--eval_strategy steps --eval_steps {0} --save_strategy steps --save_steps {1} --load_best_model_at_end false"
)


def both(text):
    return {"en": text, "pt": f"{text} (pt)"}


def described():
    """A grid of two columns and five lines, one of which is on one column alone."""
    figure = {"score": "exact_match", "error": True, "label": both("error")}
    together = {"options": "--num_beams 4", "test_file": "test.tsv"}
    return {
        "title": both("A grid"),
        "preface": both("What it is."),
        "heading": both("choice"),
        "compared_with": "default",
        "columns": [
            {"name": "a", "label": both("Task A"), "command": "recipe.py", "figure": figure, "steps": 1000},
            {"name": "b", "label": both("Task B"), "command": "recipe.py", "figure": figure, "steps": 500}
            | {"seeds": [1, 3], "together": together},
        ],
        "lines": [
            {"name": "default", "label": both("the default")},
            {"name": "better", "label": both("a better one"), "options": "--score 0.7", "speed": {"a": 0.5}},
            {"name": "only", "label": both("on B only"), "options": {"b": "--score 0.6"}, "speed": 1.5},
            {"name": "mean", "label": both("a mean"), "checkpoints": 10, "options": "--score 0.65"},
            {"name": "three", "label": both("three"), "members": [1, 2, 3], "options": {"b": "--score 0.4"}},
        ],
    }


def write(path, grid):
    path.write_text(yaml.safe_dump(grid), encoding="utf-8")
    return path


@pytest.fixture
def places(tmp_path):
    """A recipe that is quickly done, and a function that runs cells of the grid with it."""
    recipe, calls = tmp_path / "recipe.py", tmp_path / "calls.txt"
    recipe.write_text(RECIPE.format(calls=str(calls)), encoding="utf-8")
    grid = described()
    for column in grid["columns"]:
        column["command"] = str(recipe)
    write(tmp_path / "choices.yaml", grid)

    def run(*arguments):
        options = {"grid-file": "choices.yaml", "outputs": "outputs", "runs": "runs", "data": "data"}
        given = [part for name, value in options.items() for part in (f"--{name}", str(tmp_path / value))]
        result = CliRunner().invoke(app, ["grid", "choices", *arguments, *given])
        done = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return result, done

    return tmp_path, run


def test_cells_have_the_commands_and_steps_of_column_and_line(tmp_path):
    grid = read_grid(write(tmp_path / "choices.yaml", described()))
    commands = {name: row.command for name, row in grid.rows.items()}
    assert commands["a_default"] == f"recipe.py --max_steps 1000 {SCHEDULE.format(1000, 1000)}"
    assert commands["a_better"] == f"recipe.py --max_steps 500 {SCHEDULE.format(500, 500)} --score 0.7"
    assert commands["b_better"] == f"recipe.py --max_steps 500 {SCHEDULE.format(500, 500)} --score 0.7"
    assert commands["b_only"] == f"recipe.py --max_steps 750 {SCHEDULE.format(750, 750)} --score 0.6"
    assert commands["a_mean"] == f"recipe.py --max_steps 1000 {SCHEDULE.format(1000, 100)} --score 0.65"
    assert grid.rows["b_default"].seeds == [1, 3]


def test_a_cell_is_absent_where_options_or_steps_do_not_name_its_column(tmp_path):
    given = described()
    given["lines"][3]["steps"] = {"a": 30}
    grid = read_grid(write(tmp_path / "choices.yaml", given))
    assert grid.cell("a", "only") is None
    assert "a_only" not in grid.rows
    assert grid.cell("b", "mean") is None
    assert "--max_steps 30 " in grid.cell("a", "mean").command


def test_models_that_are_scored_together_share_the_steps(tmp_path):
    rows = read_grid(write(tmp_path / "choices.yaml", described())).rows
    assert list(rows).index("b_three_models") < list(rows).index("b_three")
    assert "--max_steps 167 " in rows["b_three_models"].command
    assert rows["b_three_models"].seeds == [1, 2, 3]
    assert not rows["b_three_models"].figures
    together = rows["b_three"]
    assert (together.ensemble_of, together.command, together.test_file) == (
        "b_three_models",
        "--num_beams 4",
        "test.tsv",
    )


def test_cells_are_run_once_and_shown_in_both_languages(places):
    folder, run = places
    result, done = run("a_default", "a_better", "b_default", "b_only")
    assert result.exit_code == 0, result.output
    assert len(done) == 1 + 1 + 2 + 2
    assert run("a_default", "b_only")[1] == []
    assert (folder / "outputs" / "choices" / "a_default-42").is_dir()
    english, portuguese = ((folder / name).read_text(encoding="utf-8") for name in ("choices.md", "choices.pt.md"))
    assert "| choice | Task A: error | minutes | Task B: error | minutes |" in english
    assert "| the default | 0.458 | 1.5 | 0.498 (mean of 2 seeds, 0.497 to 0.499) | 1.5 |" in english
    assert "| a better one | **0.258** | 1.5 | not run |  |" in english
    assert "| on B only | — |  | **0.398" in english
    assert "| a better one (pt) | **0,258** | 1,5 | não executada |  |" in portuguese
    assert "**0,398 (média de 2 sementes, 0,397 a 0,399)**" in portuguese
    assert "All runs together: 9 minutes." in english
    assert "### Task A\n\n#### the default\n\n- `" in english
    assert "a machine, a processor; torch 2; 2026-11-23" in english
    assert "![Differences from the line “the default”, for each column](choices.svg)" in english
    assert (folder / "choices.pt.svg").is_file()


def test_the_page_has_what_was_run_before_a_run_failed(places):
    folder, run = places
    recipe = folder / "recipe.py"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text.replace("score =", 'if "--score" in options: sys.exit(3)\nscore ='), encoding="utf-8")
    result, _ = run()
    assert "a_better, seed 42: the run ended with status 3" in str(result.exception.code)
    assert "| the default | 0.458 | 1.5 | not run |  |" in (folder / "choices.md").read_text(encoding="utf-8")


def test_minutes_of_models_together_are_their_sum(places, monkeypatch):
    folder, run = places
    start = runner._start

    def fake(command, log):
        if command[0] != "atenta":
            return start(command, log)
        assert command[command.index("--test_file") + 1] == "test.tsv"
        metrics = {"test": {"model": {"exact_match": 0.9}}, "run": {"versions": {}}}
        (folder / "outputs" / "choices" / "b_three-42" / "metrics.json").write_text(json.dumps(metrics))
        return 0

    monkeypatch.setattr(runner, "_start", fake)
    assert len(run("b_three")[1]) == 3
    english = (folder / "choices.md").read_text(encoding="utf-8")
    assert "| three | — |  | 0.100 | 4.5 |" in english
    assert english.count("--max_steps 167 ") == 3  # the models' commands are told too


def test_a_split_of_a_sample_is_written_for_what_reads_files(places, monkeypatch):
    folder, run = places
    rows = [{"source": "acao", "target": "ação", "tags": []}]
    monkeypatch.setattr(runner, "SAMPLES", {"small": SimpleNamespace(rows=lambda: {"test": rows})})
    grid = yaml.safe_load((folder / "choices.yaml").read_text(encoding="utf-8"))
    grid["columns"][1]["together"]["samples"] = {"small/test": "data/small.tsv"}
    write(folder / "choices.yaml", grid)
    monkeypatch.setattr(runner, "_run", lambda *given, **named: None)
    assert run("b_three")[0].exit_code == 0
    written = folder / "outputs" / "choices" / "data" / "small.tsv"
    assert written.read_text(encoding="utf-8") == "source\ttarget\nacao\tação\n"
    grid["columns"][1]["together"]["samples"] = {"small/dev": "data/small.tsv"}
    write(folder / "choices.yaml", grid)
    assert "b_three: no sample of pairs has small/dev" in str(run("b_three")[0].exception.code)


def test_runs_of_a_grid_have_its_cores(places, monkeypatch):
    folder, run = places
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert run("a_default")[1][0].startswith("7 ")
    grid = yaml.safe_load((folder / "choices.yaml").read_text(encoding="utf-8"))
    write(folder / "choices.yaml", grid | {"cores": 1})
    assert run("a_better")[1][0].startswith("1 ")
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_figures_against_minutes_have_weights_and_a_picture(tmp_path):
    given = described()
    del given["compared_with"]
    given["columns"] = [
        {"name": f"t{minutes}", "label": both(f"{minutes} minutes"), "command": "recipe.py", "minutes": minutes}
        | {"figure": {"score": "bits_per_character", "label": both("bits per character")}}
        for minutes in (2, 10)
    ]
    given["lines"] = [
        {"name": name, "label": both(name), "steps": {"t2": 20, "t10": 100}} for name in ("small", "large")
    ]
    grid = read_grid(write(tmp_path / "sizes.yaml", given))
    (tmp_path / "runs").mkdir()
    for name, bits, weights in (("t2_small", 2.5, 1000), ("t10_small", 2.25, 1000), ("t10_large", 2.0, 1234567)):
        run = {"test": {"model": {"bits_per_character": bits}}, "weights": weights, "run": {"command": name}}
        (tmp_path / "runs" / f"{name}-42.json").write_text(json.dumps(run), encoding="utf-8")
    write_pages(grid, tmp_path / "runs", tmp_path)
    portuguese = (tmp_path / "sizes.pt.md").read_text(encoding="utf-8")
    assert "| small (pt) | 1.000 | 2,500 |  | 2,250 |  |" in portuguese
    assert "| large (pt) | 1.234.567 | não executada |  | **2,000** |  |" in portuguese
    assert "![Bits per character (pt) por minutos, em cada linha](sizes.pt.svg)" in portuguese
    assert (tmp_path / "sizes.svg").is_file()


def test_a_grid_without_runs_has_no_picture(tmp_path):
    grid = read_grid(write(tmp_path / "choices.yaml", described()))
    (tmp_path / "choices.svg").write_text("of earlier runs", encoding="utf-8")
    write_pages(grid, tmp_path / "runs", tmp_path)
    assert not (tmp_path / "choices.svg").exists()
    assert "![" not in (tmp_path / "choices.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GRIDS)
def test_the_pages_are_those_of_the_runs(name, tmp_path):
    write_pages(read_grid(FOLDER / f"{name}.yaml"), FOLDER / name, tmp_path)
    for page in (f"{name}.md", f"{name}.pt.md"):
        assert (tmp_path / page).read_text(encoding="utf-8") == (FOLDER / page).read_text(encoding="utf-8")


def test_an_unknown_grid_and_an_unknown_cell_are_named(places):
    _, run = places
    assert "No cell c_default; expected some of a_default" in str(run("c_default")[0].exception.code)
    assert "--again without names; expected the cells" in str(run("--again")[0].exception.code)
    message = str(CliRunner().invoke(app, ["grid", "colours"]).exception.code)
    assert message == "No grid colours; expected choices or language_models."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda grid: grid.pop("title"), "has no title"),
        (lambda grid: grid.update(colour="red"), "has colour; expected some of"),
        (lambda grid: grid.update(rows={}), "has rows, which are made from its columns and lines"),
        (lambda grid: grid.update(title={"en": "A grid"}), "title is .*; expected a text for `en` and one for `pt`"),
        (lambda grid: grid.update(compared_with="c"), "compared_with is 'c'; expected one of default, better"),
        (lambda grid: grid.pop("compared_with"), "no minutes of a, b; expected those of each column"),
        (lambda grid: grid.update(columns={}), "has no list of columns"),
        (lambda grid: grid["columns"].append(grid["columns"][0]), "two columns 'a'"),
        (lambda grid: grid["columns"][0].update(steps=1.5), "'a': steps: 1.5; expected a whole number above 0"),
        (lambda grid: grid["columns"][0].update(figure={}), "'a': figure is {}; expected `score` and `label`"),
        (lambda grid: grid["columns"][0].pop("steps"), "'default': no steps on 'a'"),
        (lambda grid: grid["columns"][1].pop("together"), "'three': 'b' has no `together`"),
        (lambda grid: grid["columns"][0].update(seeds=[]), r"'a': seeds: \[\]; expected a list of different"),
        (lambda grid: grid["lines"][0].update(name=3), "3 is the name of a line; expected text"),
        (lambda grid: grid["lines"][0].update(swift=2), "'default' has swift; expected some of"),
        (lambda grid: grid["lines"][1].update(speed={"a": 0}), "'better': speed: 0; expected a number above 0"),
        (lambda grid: grid["lines"][2].update(options={"c": "--x 1"}), "'only' names c; expected some of a, b"),
        (lambda grid: grid["lines"][2].update(options=3), "'only': options are 3; expected text"),
        (lambda grid: grid["lines"][3].update(steps=20), "'mean': steps are 20; expected `column: number`"),
    ],
)
def test_malformed_grids_are_named(change, message, tmp_path):
    grid = described()
    change(grid)
    with pytest.raises(ValueError, match=message):
        read_grid(write(tmp_path / "choices.yaml", grid))


@pytest.mark.parametrize(("text", "message"), [("a: [", "cannot be read as YAML"), ("- a", "has no grid; expected")])
def test_files_without_a_grid_are_named(text, message, tmp_path):
    (tmp_path / "choices.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_grid(tmp_path / "choices.yaml")


def test_pictures_are_the_same_each_time(tmp_path):
    panels = [Panel("a task\nerror", {0: [0.0], 1: [-0.5, 0.25]}, 0), Panel("another", {0: [0.0]}, 0)]
    curves = [Curve("small", [Point(2, 2.5, True), Point(10, 2.25)]), Curve("large", [Point(10, 2.0, True)])]
    for name in ("a", "b"):
        draw_differences(tmp_path / f"{name}1.svg", panels, ["the default", "another choice"], "pt")
        draw_curves(tmp_path / f"{name}2.svg", curves, "bits", "en")
    for number in (1, 2):
        assert (tmp_path / f"a{number}.svg").read_bytes() == (tmp_path / f"b{number}.svg").read_bytes()
