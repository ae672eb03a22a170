"""Run recipes at a size that takes seconds, as commands or in this process, and read what they leave."""

import csv
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import datasets
import pytest
import torch
import yaml
from matplotlib.image import imread
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from atenta.recipes.reporting.tables import table
from support.ranks import run_module, run_ranks

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "recipes"

_SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "position_embedding_type": "rotary"}
_STACKS = {"seq2seq": {"encoder_layers": 1, "decoder_layers": 1}}
_TRAINING = {
    **{"max_steps": 4, "warmup_steps": 1, "learning_rate": 1e-2, "logging_steps": 1},
    **{"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2, "save_total_limit": 1},
}


def tiny(name: str, **options: object) -> list[str]:
    """Options of a recipe for a tiny model and a few steps, overridden by those given; lists are several values."""
    stack = _STACKS.get(name, {"num_hidden_layers": 1})
    arguments = []
    for option, value in {**_SIZES, **stack, **_TRAINING, **options}.items():
        arguments += [f"--{option}", *map(str, value if isinstance(value, list | tuple) else [value])]
    return arguments


def run_recipe(name: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `python recipes/name.py` to its end, with a Hugging Face cache of its own in `folder`.

    Raises:
        AssertionError: it failed; the message shows its error output.
    """
    done = subprocess.run(
        [sys.executable, RECIPES / f"{name}.py", *map(str, arguments)],
        env={**os.environ, "HF_HOME": str(folder / "cache")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{name} failed:\n{done.stdout}\n{done.stderr}"
    return done


def run_here(name: str, folder: Path, *arguments: object) -> None:
    """Run a recipe in this process, which spares the imports, with a cache of data sets in `folder`.

    Raises:
        SystemExit: the recipe refuses its options or its data. As the reason is a text, no traceback is shown.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        import_module(f"atenta.recipes.{name}").main()


def refusal(name: str, folder: Path, *arguments: object) -> str:
    """Return the reason for which a recipe stops, before it has trained: no checkpoint and no model is there."""
    output = folder / "refused"
    with pytest.raises(SystemExit) as stopped:
        run_here(name, folder, *tiny(name, output_dir=output), *arguments)
    assert not list(output.glob("**/model.safetensors"))
    assert isinstance(stopped.value.code, str), "it would end as if all were well, or without a reason"
    return stopped.value.code


def launch_one(name: str, *arguments: object) -> str:
    """Run a recipe by `accelerate launch` in one process, and return what it printed."""
    config = ("--config_file", RECIPES / "launch" / "cpu.yaml")
    return run_module("accelerate.commands.launch", *config, RECIPES / f"{name}.py", *map(str, arguments))


def launch_two(name: str, *arguments: object) -> str:
    """Run a recipe by `torchrun` in two processes, and return what they printed."""
    return run_ranks(RECIPES / f"{name}.py", *map(str, arguments))


def write_lines(path: Path, *lines: str) -> Path:
    """Write lines as UTF-8."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: list[dict]) -> Path:
    """Write a JSON object a line."""
    return write_lines(path, *(json.dumps(row, ensure_ascii=False) for row in rows))


def read_predictions(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a run's `predictions.tsv`."""
    with (folder / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def read_metrics(folder: Path) -> dict:
    """Return a run's `metrics.json`."""
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


def load(folder: Path, auto_class: type) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load what a run saved, through transformers' auto classes."""
    return AutoTokenizer.from_pretrained(folder), auto_class.from_pretrained(folder).eval()


def assert_picture(path: Path, colours: int = 3) -> None:
    """A picture of some size, with something drawn on it."""
    pixels = torch.from_numpy(imread(path))
    assert min(pixels.shape[:2]) > 100
    assert len(pixels.flatten(0, 1).unique(dim=0)) >= colours


def assert_complete(folder: Path, auto_class: str, baselines: set[str]) -> None:
    """All that each recipe leaves is in the folder, and says what it has to.

    Args:
        folder: a run's `--output_dir`.
        auto_class: the auto class by which the model loads elsewhere.
        baselines: names of the scores beside the model's.
    """
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "README.md"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pth", ".pkl"))]
    assert_picture(folder / "learning_curve.png")

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    code, class_name = config["auto_map"][auto_class].split(".")
    assert config["architectures"] == [class_name]
    assert f"class {class_name}" in (folder / f"{code}.py").read_text(encoding="utf-8")
    assert config.get("use_cache", True)

    metrics = read_metrics(folder)
    assert metrics["test"].keys() == {*baselines, "model"}
    assert len({frozenset(scores) for scores in metrics["test"].values()}) == 1
    assert [entry["step"] for entry in metrics["training"] if "eval_loss" in entry]
    assert [entry["step"] for entry in metrics["training"] if "loss" in entry]
    run = metrics["run"]
    assert run["versions"].keys() == {"atenta", "torch", "transformers", "accelerate"}
    assert f"--output_dir {folder}" in run["command"]
    assert {"machine", "python", "date"} <= run.keys()
    given = json.dumps(run["command"])
    for path in (str(ROOT), str(Path.home()), sys.prefix):
        assert path not in json.dumps(metrics).replace(given, "")
        assert path not in (folder / "README.md").read_text(encoding="utf-8")

    card = (folder / "README.md").read_text(encoding="utf-8")
    results = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    told = {metric["type"]: metric["value"] for result in results for metric in result["metrics"]}
    assert told == pytest.approx(metrics["test"]["model"])

    checkpoints = list(folder.glob("checkpoint-*"))
    assert checkpoints
    assert all((checkpoint / "whole").is_file() for checkpoint in checkpoints)


def assert_told(done: subprocess.CompletedProcess[str], folder: Path, *, steps: int = 4) -> None:
    """The run told of its data, of its progress, of each evaluation, and its scores as a table."""
    metrics = read_metrics(folder)
    assert done.stdout.index("outside the alphabet") < done.stdout.index("validation  step")
    for entry in metrics["training"]:
        if "eval_loss" in entry:
            assert f"validation  step {entry['step']:>6,}  epoch {entry['epoch']:.2f}" in done.stdout
    assert f"\n{table(metrics['test'])}\n" in done.stdout
    assert f"{steps}/{steps}" in done.stderr  # the progress bar
    assert "Traceback" not in done.stderr
