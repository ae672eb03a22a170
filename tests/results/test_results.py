"""Rows and grids of results: what is run and not repeated, the pages in both languages, and the pictures."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file
from typer.testing import CliRunner

from results import __main__ as runner
from results.__main__ import FOLDER, GRIDS, app
from results.charts import Curve, Measured, Panel, draw_curves, draw_differences, draw_errors
from results.figures import read_run, write_json
from results.pages import write_pages, write_tables
from results.rows import read_grid, read_rows

RECIPE = """
import json, os, pathlib, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
folder = pathlib.Path(options["--output_dir"])
was_started = (folder / "checkpoint").exists()
(folder / "checkpoint").touch()
with pathlib.Path({calls!r}).open("a") as file:
    print(os.environ.get("OMP_NUM_THREADS"), was_started, *sys.argv[1:], file=file)
print("epoch 1 of 1: ação")
if options.get("--fail") == options["--seed"]:
    sys.exit(3)
score = float(options.get("--score", 0)) + int(options["--seed"]) / 1000
(folder / "metrics.json").write_text(json.dumps({{
    "test": {{"look-up": {{"exact_match": 0.5}}, "model": {{"exact_match": score}}}},
    "training": [1, 2, 3],
    "card": {{"cost": {{"minutes": 1.5, "processor": "a processor"}}}},
    "run": {{"command": " ".join(sys.argv), **{about}}},
}}))
"""
ABOUT = {"machine": "a machine", "versions": {"torch": "2"}, "date": "2026-11-23"}


def both(text):
    return {"en": text, "pt": f"{text} (pt)"}


TASK = {"task": {"en": "A task", "pt": "Uma tarefa"}}
FIGURES = [
    {"score": "exact_match", "error": True, "target": 0.998, "label": {"en": "error rate", "pt": "erro"}},
    {"score": "exact_match", "label": {"en": "exact match", "pt": "acertos"}},
]


def described_rows(recipe):
    common = {**TASK, "figures": FIGURES}
    first = {"name": "first", "command": recipe, "seeds": [1, 2, 3], "quick": True, "baseline": "look-up", **common}
    where = {"en": "It is at a place.", "pt": "Está num lugar."}
    files = {"command": f"{recipe} --file {{data}}/x", "files": {"x.tsv": "data/x.tsv"}, "where": where}
    return [
        first,
        {"name": "long", "command": f"{recipe} --start {{outputs}}/first-1", "needs": ["first"], **common},
        {"name": "elsewhere", **files, **common},
        {"name": "after", "command": recipe, "needs": ["elsewhere"], **common},
        {"name": "together", "ensemble_of": "first", "command": "--num_beams 4", "test_file": "test.tsv", **common},
    ]


def described_grid(recipe="recipe.py"):
    """A grid of two columns and four lines, two of which are on one column alone."""
    figure = {"score": "exact_match", "error": True, "label": both("error")}
    together = {"options": "--num_beams 4", "test_file": "test.tsv"}
    return {
        **{name: both(text) for name, text in (("title", "A grid"), ("preface", "About."), ("heading", "choice"))},
        "compared_with": "default",
        "columns": [
            {"name": "a", "label": both("Task A"), "command": recipe, "figure": figure},
            {"name": "b", "label": both("Task B"), "command": recipe, "figure": figure, "together": together},
        ],
        "lines": [
            {"name": "default", "label": both("the default"), "steps": {"a": 1000, "b": 500}},
            {"name": "better", "label": both("a better one"), "options": "--score 0.7", "steps": {"a": 500, "b": 500}},
            {"name": "only", "label": both("on B only"), "options": {"b": "--score 0.6"}, "steps": {"b": 750}}
            | {"checkpoints": 10},
            {"name": "three", "label": both("three"), "members": [1, 2, 3], "steps": {"b": 167}},
        ],
    }


def write(path, content):
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with a recipe that is quickly done, and rows and a grid that use it."""
    recipe = tmp_path / "recipe.py"
    recipe.write_text(RECIPE.format(calls=str(tmp_path / "calls.txt"), about=ABOUT), encoding="utf-8")
    write(tmp_path / "rows.yaml", described_rows(str(recipe)))
    write(tmp_path / "choices.yaml", described_grid(str(recipe)))
    return tmp_path


@pytest.fixture
def run(folder):
    """A function that runs rows or cells, and returns what is printed and a line for each start of the recipe."""

    def run(*arguments, command=("run",), status=0):
        file = {"rows-file": "rows.yaml"} if command == ("run",) else {"grid-file": "choices.yaml"}
        options = {**file, "outputs": "outputs", "runs": "runs", "data": "my data"}
        places = [part for name, value in options.items() for part in (f"--{name}", str(folder / value))]
        result = CliRunner().invoke(app, [*command, *arguments, *places])
        assert result.exit_code == status, result.output
        calls = folder / "calls.txt"
        calls.touch()
        started = calls.read_text(encoding="utf-8").splitlines()
        calls.unlink()
        return result.output, started

    return run


@pytest.fixture
def run_grid(run):
    return partial(run, command=("grid", "choices"))


@pytest.fixture
def evaluated(monkeypatch):
    """The commands `atenta evaluate` that were started; each scores 0.9."""
    commands, start = [], runner.start

    def evaluate(command, log):
        if command[0] != "atenta":
            return start(command, log)
        commands.append(command)
        metrics = {"test": {"model": {"exact_match": 0.9}}, "run": {"model": command[2], "versions": {}}}
        write_json(Path(command[-1]), metrics)
        return 0

    monkeypatch.setattr(runner, "start", evaluate)
    return commands


def pages(folder, name):
    return [(folder / f"{name}{ending}").read_text(encoding="utf-8") for ending in (".md", ".pt.md")]


def test_quick_rows_are_run_with_each_seed_and_not_again(run, folder):
    printed, started = run()
    assert [line.split()[-3] for line in started] == ["1", "2", "3"]
    assert sorted(path.name for path in (folder / "runs").iterdir()) == [f"first-{seed}.json" for seed in (1, 2, 3)]
    kept = read_run(folder / "runs" / "first-1.json")
    assert "training" not in kept
    assert kept["run"]["own_command"].endswith("--output_dir {outputs}/first-1")
    assert str(folder / "outputs") not in str(kept)  # what is kept names no folder of this machine
    assert printed.count("epoch 1 of 1: ação") == 3
    assert (folder / "outputs" / "first-2.log").read_text(encoding="utf-8") == "epoch 1 of 1: ação\n"
    assert run()[1] == []


def test_another_command_or_configuration_is_run_from_the_beginning(run, folder):
    config = folder / "recipe.yaml"
    config.write_text("steps: 1  # few\n", encoding="utf-8")
    run("first")
    rows = (folder / "rows.yaml").read_text(encoding="utf-8")
    rows = rows.replace("recipe.py\n", f"recipe.py --config {config}\n")
    (folder / "rows.yaml").write_text(rows, encoding="utf-8")
    assert [line.split()[1] for line in run("first")[1]] == ["False"] * 3
    config.write_text("steps: 1\n", encoding="utf-8")  # the same options
    assert not run("first")[1]
    config.write_text("steps: 2\n", encoding="utf-8")
    assert [line.split()[1] for line in run("first")[1]] == ["False"] * 3
    kept = folder / "runs" / "first-1.json"
    metrics = read_run(kept)
    del metrics["run"]["configuration"]
    write_json(kept, metrics)
    assert not run("first")[1]  # figures of which it is not known


def test_a_row_is_run_after_those_it_needs_and_again_when_they_are(run, folder):
    _, started = run("long")
    assert len(started) == 4
    assert f"--start {folder / 'outputs'}/first-1" in started[-1]
    kept = folder / "runs" / "long-42.json"
    assert "{outputs}/first-1" in read_run(kept)["run"]["command"]
    printed, again = run("first", "--again")
    assert [line.split()[1] for line in again] == ["False"] * 3
    assert "long: to run again, because first is new" in printed
    assert not kept.exists()
    assert [line.split()[1] for line in run("long")[1]] == ["False"]
    shutil.rmtree(folder / "outputs" / "first-2")
    kept.unlink()
    assert "has no first-2, only its figures are kept" in run("long", status=1)[0]


def test_rows_without_their_data_are_left_out_with_those_that_need_them(run, folder):
    printed, started = run("after")
    assert "elsewhere: left out" in printed
    assert "has no x.tsv. Name the folder that has with --data_folder. It is at a place." in printed
    assert "after: left out, because it needs elsewhere, which is left out" in printed
    assert not started
    english, portuguese = pages(folder, "README")
    assert "not run: needs data that are not shipped" in english
    assert "- Dados à parte: `x.tsv`: Está num lugar." in portuguese
    (folder / "my data").mkdir()
    (folder / "my data" / "x.tsv").write_text("a\tb\n", encoding="utf-8")
    (line,) = run("elsewhere")[1]
    assert f"--file {folder}/my data/x --seed" in line
    assert (folder / "outputs" / "data" / "x.tsv").read_text(encoding="utf-8") == "a\tb\n"


def test_a_run_that_failed_goes_on_and_those_before_it_are_in_the_table(run, folder):
    recipe = (folder / "recipe.py").read_text(encoding="utf-8")
    (folder / "recipe.py").write_text(recipe.replace('options.get("--fail")', '"2"'), encoding="utf-8")
    assert "first, seed 2: the run ended with status 3" in run("first", status=1)[0]
    english, portuguese = pages(folder, "README")
    assert "0.999 (1 of 3 seeds)" in english
    assert "0,999 (1 de 3 sementes)" in portuguese
    assert "| A task | error rate | not run |" in english
    (folder / "recipe.py").write_text(recipe, encoding="utf-8")
    assert [line.split()[1] for line in run("first")[1]] == ["True", "False"]  # seed 1 is done
    assert "≤ 0.998: reached" in pages(folder, "README")[0]  # just


def test_a_run_that_leaves_no_figures_does_not_take_those_of_an_earlier_one(run, folder):
    run("first")
    (folder / "recipe.py").write_text("", encoding="utf-8")
    assert "first, seed 1: the run ended without" in run("first", "--again", status=1)[0]
    assert not (folder / "runs" / "first-1.json").exists()


def test_an_ensemble_has_the_weights_of_its_members(run, folder, evaluated):
    run("first")
    for seed in (1, 2, 3):
        save_file({"weight": np.zeros(seed)}, folder / "outputs" / f"first-{seed}" / "model.safetensors")
    run("together")
    kept = read_run(folder / "runs" / "together-42.json")
    assert kept["weights"] == 1 + 2 + 3
    assert kept["run"]["model"] == "{outputs}/first-1"
    ensemble = [part for seed in (2, 3) for part in ("--ensemble", f"{folder}/outputs/first-{seed}")]
    assert evaluated[0][1:7] == ["evaluate", f"{folder}/outputs/first-1", *ensemble]


def test_a_damaged_run_and_a_score_that_is_not_there_are_named(run, folder):
    run("first")
    kept = folder / "runs" / "first-1.json"
    text = kept.read_text(encoding="utf-8")
    kept.write_text(text.replace("exact_match", "accuracy"), encoding="utf-8")
    message, _ = run("elsewhere", status=1)
    assert "first: no exact_match of 'model' in 'test'" in message
    assert "look-up: accuracy; model: accuracy" in message
    kept.write_text("{", encoding="utf-8")
    assert "first-1.json is damaged" in run("first", status=1)[0]


def test_unknown_names_are_refused(run, run_grid):
    assert "No row nothing; expected some of first" in run("nothing", status=1)[0]
    assert "No cell c_default; expected some of a_default" in run_grid("c_default", status=1)[0]
    assert "--again without names; expected the rows" in run("--again", status=1)[0]
    assert "No grid colours" in run(command=("grid", "colours"), status=1)[0]


@pytest.mark.slow
def test_it_starts_in_a_process_of_its_own():
    """Here transformers is imported already, on which it may depend."""
    command = [sys.executable, "-m", "results", "--help"]
    assert "Commands" in subprocess.run(command, cwd=runner.ROOT, check=True, capture_output=True, text=True).stdout


def test_cells_have_the_commands_of_their_column_and_line(tmp_path):
    rows = read_grid(write(tmp_path / "choices.yaml", described_grid())).rows
    schedule = (
        "recipe.py --max_steps {0} --eval_strategy steps --eval_steps {0} --save_strategy steps --save_steps {1} "
        "--load_best_model_at_end false"
    )
    assert {name: row.command for name, row in rows.items()} == {
        "a_default": schedule.format(1000, 1000),
        "a_better": f"{schedule.format(500, 500)} --score 0.7",
        "b_default": schedule.format(500, 500),
        "b_better": f"{schedule.format(500, 500)} --score 0.7",
        "b_only": f"{schedule.format(750, 75)} --score 0.6",
        "b_three_models": schedule.format(167, 167),
        "b_three": "--num_beams 4",
    }
    assert (rows["b_three_models"].seeds, rows["b_three_models"].figures) == ([1, 2, 3], ())
    assert (rows["b_three"].ensemble_of, rows["b_three"].test_file) == ("b_three_models", "test.tsv")


def test_cells_are_run_once_and_shown_in_both_languages(run_grid, folder, evaluated):
    _, started = run_grid("a_default", "a_better", "b_default", "b_only", "b_three")
    assert len(started) == 4 + 3
    assert run_grid("a_default", "b_three")[1] == []
    assert (folder / "outputs" / "choices" / "a_default-42").is_dir()
    english, portuguese = pages(folder, "choices")
    assert "| choice | Task A: error | minutes | Task B: error | minutes |" in english
    assert "| the default | 0.958 | 1.5 | 0.958 | 1.5 |" in english
    assert "| a better one | **0.258** | 1.5 | not run |  |" in english
    assert "| on B only | — |  | 0.358 | 1.5 |" in english
    assert "| three | — |  | **0.100** | 4.5 |" in english  # the minutes of the three models
    assert english.count("--max_steps 167 ") == 3
    assert "| a better one (pt) | **0,258** | 1,5 | não executada |  |" in portuguese
    assert "All runs together: 10 minutes." in english
    assert "### Task A\n\n#### the default\n\n- `" in english
    assert "![Differences from the line “the default”, for each column](choices.svg)" in english
    assert (folder / "choices.pt.svg").is_file()


def test_a_split_of_a_sample_is_written_for_what_reads_files(run_grid, folder, evaluated, monkeypatch):
    pairs = [{"source": "acao", "target": "ação", "tags": []}]
    monkeypatch.setattr(runner, "SAMPLES", {"small": SimpleNamespace(rows=lambda: {"test": pairs})})
    grid = yaml.safe_load((folder / "choices.yaml").read_text(encoding="utf-8"))
    grid["columns"][1]["together"]["samples"] = {"small/test": "data/small.tsv"}
    write(folder / "choices.yaml", grid)
    run_grid("b_three")
    written = folder / "outputs" / "choices" / "data" / "small.tsv"
    assert written.read_text(encoding="utf-8") == "source\ttarget\nacao\tação\n"
    grid["columns"][1]["together"]["samples"] = {"small/dev": "data/small.tsv"}
    write(folder / "choices.yaml", grid)
    assert "b_three: no sample of pairs has small/dev" in run_grid("b_three", status=1)[0]


def test_runs_of_a_grid_have_its_cores(run_grid, folder, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert run_grid("a_default")[1][0].startswith("7 ")
    grid = yaml.safe_load((folder / "choices.yaml").read_text(encoding="utf-8"))
    write(folder / "choices.yaml", grid | {"cores": 1})
    assert run_grid("a_better")[1][0].startswith("1 ")
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_a_picture_is_there_when_there_is_something_to_compare(tmp_path):
    grid, picture = read_grid(FOLDER / "language_models.yaml"), tmp_path / "language_models.svg"
    picture.write_text("of earlier runs", encoding="utf-8")
    write_pages(grid, tmp_path / "runs", tmp_path)
    assert not picture.exists()
    write_pages(grid, FOLDER / "language_models", tmp_path)
    assert picture.is_file()


def test_the_pages_of_the_project_are_those_of_its_runs(tmp_path, monkeypatch):
    for name in ("draw_errors", "draw_differences", "draw_curves"):  # only texts are compared
        monkeypatch.setattr(f"results.pages.{name}", lambda *args, **kwargs: None)
    for text in (*FOLDER.glob("preface*.md"), *FOLDER.glob("tried*.md")):
        shutil.copy(text, tmp_path)
    write_tables(list(read_rows().values()), FOLDER / "runs", tmp_path)
    for name in GRIDS:
        write_pages(read_grid(FOLDER / f"{name}.yaml"), FOLDER / name, tmp_path)
    for page in ("README", *GRIDS):
        assert pages(tmp_path, page) == pages(FOLDER, page)


def test_pictures_are_the_same_each_time(tmp_path):
    tasks = [Measured("a task\nerror", [0.1, 0.2, 0.3], [0.5], [0.15]), Measured("another", [0.0])]
    tasks.append(Measured("in bits", [2.5], in_bits=True))
    panels = [Panel("a task\nerror", {0: 0.0, 1: -0.5}, 0), Panel("another", {0: 0.0}, 0)]
    curves = [Curve("small", [(2, 2.5, True), (10, 2.25, False)]), Curve("large", [(10, 2.0, True)])]
    for name in "ab":
        draw_errors(tmp_path / f"{name}0.svg", tasks, "pt")
        draw_differences(tmp_path / f"{name}1.svg", panels, ["the default", "another choice"], "pt")
        draw_curves(tmp_path / f"{name}2.svg", curves, "bits", "en")
    for number in range(3):
        assert (tmp_path / f"a{number}.svg").read_bytes() == (tmp_path / f"b{number}.svg").read_bytes()


def test_scores_of_100_are_drawn_as_shares(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("results.pages.draw_errors", lambda path, tasks, language: drawn.extend(tasks))
    row = {"task": both("A"), "command": "recipe.py"}
    row["figures"] = [{"score": "sari", "out_of": 100, "label": both("SARI")}]
    write(tmp_path / "rows.yaml", [row | {"name": name} for name in "ab"])
    run = {"test": {"model": {"sari": 40.0}}, "run": {"command": "recipe.py", "versions": {}}}
    for name in "ab":
        write_json(tmp_path / f"{name}-42.json", run)
    write_tables(list(read_rows(tmp_path / "rows.yaml").values()), tmp_path, tmp_path)
    assert drawn[0] == Measured("A\n1 − SARI / 100", [0.6], [], [])


ROW = {"name": "a", "task": {}, "command": "recipe.py"}


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_rows, "a: [", "cannot be read as YAML"),
        (read_rows, [ROW | {"speed": 3}], "'speed'"),
        (read_rows, [ROW, ROW], "has a twice"),
        (read_rows, [ROW | {"needs": ["c"]}], "'a' needs c"),
        (read_grid, lambda grid: grid.pop("title"), "'title'"),
        (read_grid, lambda grid: grid.pop("columns"), "Column"),
        (read_grid, lambda grid: grid["lines"][0].update(swift=2), "'swift'"),
        (read_grid, lambda grid: grid["lines"][2].update(steps={"c": 1}), "'only' has steps on c; expected some of a"),
        (read_grid, lambda grid: grid["lines"][2].update(options={"a": ""}), "'b'"),
    ],
)
def test_malformed_rows_and_grids_are_named(read, content, message, tmp_path):
    if read is read_grid:
        change, content = content, described_grid()
        change(content)
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    (tmp_path / "content.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "content.yaml")
