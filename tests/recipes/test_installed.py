"""The recipes of an installed wheel, outside the repository: without sample data, on the user's own files."""

import os
import subprocess
from pathlib import Path

import pytest

from support.recipes import assert_complete, read_predictions, tiny, write_lines
from support.wheels import build, copy_source, install

RECIPES = ("pretrain_causal", "finetune_tagging")  # samples of texts, and of files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return build("wheel", copy_source(folder / "source"), folder / "dist")


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python with the wheel installed."""
    return install(wheel, environment=tmp_path_factory.mktemp("installed") / "environment")


@pytest.fixture
def run_installed(python, tmp_path):
    """Return a function that runs a module of the installed package in an empty folder."""

    def run_installed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        here = tmp_path / "here"
        here.mkdir()
        environment = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "PYTHONPATH": ""}
        command = [python, "-m", *map(str, arguments)]
        return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)

    return run_installed


@pytest.mark.parametrize("name", RECIPES)
def test_without_data_a_recipe_names_the_flags(run_installed, name):
    done = run_installed(f"atenta.recipes.{name}")
    assert done.returncode == 1
    assert "name your own files with --train_file and --validation_file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recipe_runs_with_data(run_installed, tmp_path):
    pairs = write_lines(tmp_path / "pairs.tsv", "ser\tsou", "ver\tvês")
    options = {"train_file": pairs, "validation_file": pairs, "output_dir": tmp_path / "model", "max_steps": 2}
    done = run_installed("atenta.recipes.seq2seq", *tiny("seq2seq", **options))
    assert done.returncode == 0, done.stderr
    baselines = {"left as it is", "most frequent in training", "letters in context"}
    assert_complete(tmp_path / "model", "AutoModelForSeq2SeqLM", baselines)


def test_accelerate_launches_a_recipe_as_a_module(run_installed, tmp_path):
    texts = write_lines(tmp_path / "texts.tsv", "casa\tnome", "falar\tverbo")
    options = {"train_file": texts, "validation_file": texts, "output_dir": tmp_path / "model", "max_steps": 2}
    done = run_installed(
        *("accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1"),
        *("--mixed_precision", "no", "--dynamo_backend", "no"),
        *("-m", "atenta.recipes.finetune_classification", *tiny("finetune_classification", **options)),
    )
    assert done.returncode == 0, done.stderr
    assert [row["text"] for row in read_predictions(tmp_path / "model")] == ["casa", "falar"]
