"""The table of results: runs that are not repeated, ensembles, missing data, figures and their spread."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file
from typer.testing import CliRunner

from results import __main__ as runner
from results.__main__ import FOLDER, app, read_rows
from results.result_table import Measured, draw_errors, write_tables

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


def test_another_configuration_is_run_again_from_the_beginning(places):
    folder, run = places
    config = folder / "recipe.yaml"
    config.write_text("steps: 1  # few\n", encoding="utf-8")
    text = (folder / "rows.yaml").read_text(encoding="utf-8")
    (folder / "rows.yaml").write_text(text.replace("recipe.py\n", f"recipe.py --config {config}\n"), encoding="utf-8")
    assert len(run()[1]) == 3
    config.write_text("steps: 1\n", encoding="utf-8")  # the same options
    assert not run()[1]
    config.write_text("steps: 2\n", encoding="utf-8")
    assert [line.split()[-1] for line in run()[1]] == ["--overwrite_output_dir"] * 3
    kept = folder / "runs" / "first-1.json"
    metrics = json.loads(kept.read_text(encoding="utf-8"))
    assert metrics["run"].pop("configuration")
    kept.write_text(json.dumps(metrics), encoding="utf-8")
    assert not run()[1]  # figures of which it is not known


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
    assert "≤ 0.800: reached" in english
    assert "| A task | error rate | not run |" in english
    assert "0,800 (média de 3 sementes, 0,700 a 0,900) | 0,500 |" in portuguese
    assert "| 1,5 |" in portuguese
    assert "a machine, a processor; torch 2; 2026-11-23" in english


def test_it_starts_in_a_process_of_its_own():
    """Here transformers is imported already, on which it may depend."""
    started = subprocess.run(
        [sys.executable, "-m", "results", "--help"], cwd=runner.ROOT, capture_output=True, text=True
    )
    assert started.returncode == 0, started.stderr
    assert "Commands" in started.stdout


def test_rows_of_the_project_are_complete():
    for row in read_rows().values():
        assert row.task.keys() == {"en", "pt"}
        assert all(figure["label"].keys() == {"en", "pt"} for figure in row.figures)
        assert bool(row.command) or row.ensemble_of
        assert all({"figure", "by", "source"} <= each.keys() for each in row.published)


def test_the_tables_are_those_of_the_runs(tmp_path):
    for text in (*FOLDER.glob("preface*.md"), *FOLDER.glob("tried*.md")):
        (tmp_path / text.name).write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
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


def test_what_a_run_prints_is_shown_and_kept(places):
    folder, run = places
    recipe = folder / "recipe.py"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text + 'print("epoch 1 of 1: ação")\n', encoding="utf-8")
    result, _ = run("first")
    assert result.output.count("epoch 1 of 1: ação") == 3
    assert (folder / "outputs" / "first-2.log").read_text(encoding="utf-8") == "epoch 1 of 1: ação\n"


def test_a_run_that_failed_goes_on_and_those_before_it_are_in_the_table(places):
    folder, run = places
    recipe = folder / "recipe.py"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text.replace("score =", 'if options["--seed"] == "2": sys.exit(4)\nscore ='), encoding="utf-8")
    result, _ = run("first")
    assert "first, seed 2: the run ended with status 4; run it again to go on." in str(result.exception.code)
    assert "0.900 (1 of 3 seeds)" in (folder / "README.md").read_text(encoding="utf-8")
    recipe.write_text(text, encoding="utf-8")
    done = run("first")[1]
    assert len(done) == 2  # seed 1 is done
    assert not any("--overwrite_output_dir" in line for line in done)


def test_a_run_of_another_command_or_again_starts_from_the_beginning(places):
    folder, run = places
    run("first")
    assert all(line.endswith("--overwrite_output_dir") for line in run("first", "--again")[1])
    text = (folder / "rows.yaml").read_text(encoding="utf-8")
    (folder / "rows.yaml").write_text(text.replace("recipe.py\n", "recipe.py --more 1\n"), encoding="utf-8")
    assert all(line.endswith("--overwrite_output_dir") for line in run("first")[1])
    assert "--again without names" in str(run("--again")[0].exception.code)


def test_rows_that_start_from_a_new_model_are_run_again(places):
    folder, run = places
    run("long")
    result, _ = run("first", "--again")
    assert "long, seed 42: to run again, because first is new" in result.output
    assert not (folder / "runs" / "long-42.json").exists()
    (line,) = run("long")[1]
    assert line.endswith("--overwrite_output_dir")


def test_a_model_that_is_needed_and_not_there_is_named(places):
    folder, run = places
    run("first")
    shutil.rmtree(folder / "outputs" / "first-2")
    assert "has no first-2, only its figures are kept" in str(run("long")[0].exception.code)


def test_rows_that_need_a_row_without_data_are_left_out_too(places):
    folder, run = places
    rows = yaml.safe_load((folder / "rows.yaml").read_text(encoding="utf-8"))
    rows[2]["where"] = {"en": "It is at a place.", "pt": "Está num lugar."}
    rows.append({**rows[1], "name": "after", "needs": ["elsewhere"]})
    (folder / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    result, done = run("after")
    assert "has no x.tsv. Name the folder that has with --data_folder. It is at a place." in result.output
    assert "after: left out, because it needs elsewhere, which is left out" in result.output
    assert not done
    assert "not run: needs data that are not shipped" in (folder / "README.md").read_text(encoding="utf-8")
    assert "- Dados à parte: `x.tsv`: Está num lugar." in (folder / "README.pt.md").read_text(encoding="utf-8")


def test_a_run_that_leaves_no_figures_does_not_take_those_of_an_earlier_one(places):
    folder, run = places
    run("first")
    (folder / "recipe.py").write_text("", encoding="utf-8")
    result, _ = run("first", "--again")
    assert "first, seed 1: the run ended without" in str(result.exception.code)


def test_no_folder_of_this_machine_is_in_kept_figures(places):
    folder, run = places
    recipe = folder / "recipe.py"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text.replace('"command": "recipe.py"', '"command": " ".join(sys.argv)'), encoding="utf-8")
    run("first")
    kept = (folder / "runs" / "first-1.json").read_text(encoding="utf-8")
    assert json.loads(kept)["run"]["own_command"].endswith("--output_dir {outputs}/first-1")
    assert str(folder / "outputs") not in kept


def test_an_ensemble_has_the_weights_of_its_members(places, monkeypatch):
    folder, run = places
    rows = yaml.safe_load((folder / "rows.yaml").read_text(encoding="utf-8"))
    ensemble = {"ensemble_of": "first", "command": "--num_beams 4", "test_file": "test.tsv", "figures": FIGURES[1:]}
    rows.append({"name": "together", "task": rows[0]["task"], **ensemble})
    (folder / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    started, start = [], runner._start

    def fake(command, log):
        if command[0] != "atenta":
            return start(command, log)
        started.append(command)
        for seed in (1, 2, 3):
            save_file({"weight": np.zeros(seed)}, folder / "outputs" / f"first-{seed}" / "model.safetensors")
        metrics = {"test": {"model": {"exact_match": 0.7}}, "run": {"model": command[2], "versions": {}}}
        (folder / "outputs" / "together-42" / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
        return 0

    monkeypatch.setattr(runner, "_start", fake)
    run("together")
    kept = json.loads((folder / "runs" / "together-42.json").read_text(encoding="utf-8"))
    assert kept["weights"] == 1 + 2 + 3
    assert kept["run"]["model"] == "{outputs}/first-1"
    assert started[0][1:5] == ["evaluate", str(folder / "outputs" / "first-1"), "--ensemble", started[0][4]]


def test_the_table_has_links_sizes_and_a_target_that_is_just_reached(places):
    folder, run = places
    rows = yaml.safe_load((folder / "rows.yaml").read_text(encoding="utf-8"))
    rows[0]["figures"][0]["target"] = 0.8
    rows[0]["published"] = [{"figure": 0.19, "by": "Others", "source": "https://example.org", "weights": 1234567}]
    (folder / "rows.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    run("first")
    english, portuguese = ((folder / name).read_text(encoding="utf-8") for name in ("README.md", "README.pt.md"))
    assert "0.190 ([Others](https://example.org)), 1,234,567 weights" in english
    assert "0,190 ([Others](https://example.org)), 1.234.567 pesos" in portuguese
    assert "≤ 0.800: reached" in english


def test_a_damaged_run_and_a_score_that_is_not_there_are_named(places):
    folder, run = places
    run("first")
    kept = folder / "runs" / "first-1.json"
    text = kept.read_text(encoding="utf-8")
    kept.write_text(text.replace("exact_match", "accuracy"), encoding="utf-8")
    message = str(run("elsewhere")[0].exception.code)
    assert (
        "first: no exact_match of 'model' in 'test' of a run; there is look-up: accuracy; model: accuracy." in message
    )
    kept.write_text("{", encoding="utf-8")
    assert "first-1.json is damaged" in str(run("first")[0].exception.code)


def test_the_picture_is_the_same_each_time(tmp_path):
    tasks = [Measured("a task\nerror", [0.1, 0.2, 0.3], [0.5], [0.15]), Measured("another", [0.0])]
    for name in ("a.svg", "b.svg"):
        draw_errors(tmp_path / name, tasks, "pt")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "cannot be read as YAML"),
        ("name: a", "has no list of rows"),
        ("- {name: a, task: {}, speed: 3}", "'a' has speed; expected some of"),
        ("- {task: {}}", "'a row without a name' has no name"),
        ("- {name: a, task: {}}", "a: no command"),
    ],
)
def test_files_without_rows_are_named(text, message, tmp_path):
    (tmp_path / "rows.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / "rows.yaml")
