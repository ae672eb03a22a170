"""Run recipes with tiny models, as commands or in this process, and read their output."""

import csv
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import datasets
import pytest
import torch
from huggingface_hub import ModelCard
from matplotlib.image import imread
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase, logging

from atenta.hub.card import is_unedited
from atenta.recipes.training.results import table
from support.card_rules import card_errors
from support.ranks import run_ranks

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "recipes"

_SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "position_embedding_type": "rotary"}
_STACKS = {
    **{name: {"encoder_layers": 1, "decoder_layers": 1} for name in ("seq2seq", "pretrain_denoising")},
    "finetune_generation": {"num_hidden_layers": 1, "model_name_or_path": "null"},  # by default, a saved decoder
    "finetune_characters": {
        **{"num_hidden_layers": 1, "downsampling_size": 32, "downsampling_heads": 2, "downsampling_layers": 1}
    },
}
_TRAINING = {
    **{"max_steps": 4, "warmup_steps": 1, "learning_rate": 1e-2, "logging_steps": 1},
    **{"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2, "save_total_limit": 1},
}


def tiny(name: str, **options: object) -> list[str]:
    """Return a recipe's options for a tiny model and a few steps, updated with `options`. Lists are several values."""
    stack = _STACKS.get(name, {"num_hidden_layers": 1})
    return arguments(**{**_SIZES, **stack, **_TRAINING, **options})


def arguments(*several: str, **options: object) -> list[str]:
    """Return words of a command line and, after them, options. Lists are several values."""
    words = list(several)
    for option, value in options.items():
        words += [f"--{option}", *map(str, value if isinstance(value, list | tuple) else [value])]
    return words


def run_here(name: str, folder: Path, *arguments: object) -> None:
    """Run a recipe in this process, which saves the imports, with a cache of data sets in `folder`.

    Raises:
        SystemExit: If the recipe refuses its options or its data. The reason is a string, so no traceback is shown.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_warning()  # above it the Trainer shows no progress, and another test may have raised it
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
            patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
            import_module(f"atenta.recipes.{name}").main()
    finally:
        logging.set_verbosity(verbosity)


def run_recorded(name: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a recipe as [`run_here`] does, and return what it printed."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        run_here(name, folder, *arguments)
    return subprocess.CompletedProcess([], 0, output.getvalue(), errors.getvalue())


def refusal(name: str, folder: Path, *arguments: object) -> str:
    """Return the reason why a recipe stops before training, without a checkpoint and without a model."""
    output = folder / "refused"
    with pytest.raises(SystemExit) as stopped:
        run_here(name, folder, *tiny(name, output_dir=output), *arguments)
    assert not list(output.glob("**/model.safetensors"))
    assert isinstance(stopped.value.code, str), "the exit code would be 0, or the reason would be missing"
    return stopped.value.code


def launch_two(name: str, *arguments: object) -> str:
    """Run a recipe with `torchrun` in two processes and return their output."""
    return run_ranks(RECIPES / f"{name}.py", *map(str, arguments))


def write_lines(path: Path, *lines: str) -> Path:
    """Write lines as UTF-8."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: list[dict]) -> Path:
    """Write one JSON object per line."""
    return write_lines(path, *(json.dumps(row, ensure_ascii=False) for row in rows))


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files but locks, which hold the number of the last process."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def read_predictions(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a run's `predictions.tsv`."""
    with (folder / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def read_metrics(folder: Path) -> dict:
    """Return a run's `metrics.json`."""
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


def load(folder: Path, auto_class: type) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load the tokenizer and the model of a run with transformers' auto classes."""
    return AutoTokenizer.from_pretrained(folder), auto_class.from_pretrained(folder).eval()


def assert_picture(path: Path, colours: int = 3) -> None:
    """Check that a picture is not small and not empty."""
    pixels = torch.from_numpy(imread(path))[..., :3]  # 0 to 1
    assert min(pixels.shape[:2]) > 100
    codes = (pixels * 255).round().int() * torch.tensor([1, 256, 256**2])
    assert len(codes.sum(-1).unique()) >= colours


def assert_complete(folder: Path, auto_class: str, baselines: set[str], trained: bool = True) -> None:
    """Check that the folder has all the files that every recipe writes, with the required contents.

    Args:
        folder: The `--output_dir` of a run.
        auto_class: The auto class that loads the model without the package.
        baselines: Names of the scores other than the model's.
        trained: Whether it has a curve, losses and checkpoints, as all have but those of `fit_pair_votes.py`.
    """
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "README.md"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pth", ".pkl"))]

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    code, class_name = config["auto_map"][auto_class].split(".")
    assert config["architectures"] == [class_name]
    assert f"class {class_name}" in (folder / f"{code}.py").read_text(encoding="utf-8")
    assert config.get("use_cache", True)

    metrics = read_metrics(folder)
    assert metrics["test"].keys() == {*baselines, "model"}
    assert len({frozenset(scores) for scores in metrics["test"].values()}) == 1
    run = metrics["run"]
    assert run["versions"].keys() == {"atenta", "torch", "transformers", "accelerate"}
    assert f"--output_dir {folder.name}" in run["command"]
    assert {"machine", "python", "date"} <= run.keys()
    for path in (str(ROOT), str(Path.home()), sys.prefix, str(folder.parent)):
        assert path not in json.dumps(metrics)
        assert path not in (folder / "README.md").read_text(encoding="utf-8")

    card = ModelCard.load(folder / "README.md")
    assert card_errors(card.content) == []
    assert is_unedited(card.text)
    first = [each for each in card.data.eval_results if each.dataset_config is None]
    assert {each.metric_type: each.metric_value for each in first} == pytest.approx(metrics["test"]["model"])
    for baseline in baselines:
        assert f"| {baseline} | " in card.text
    assert metrics["card"]["rows"].keys() >= {"train", "validation"}
    assert metrics["card"]["cost"]["minutes"] > 0

    if trained:
        assert_picture(folder / "learning_curve.png")
        assert [entry["step"] for entry in metrics["training"] if "eval_loss" in entry]
        assert [entry["step"] for entry in metrics["training"] if "loss" in entry]
        checkpoints = list(folder.glob("checkpoint-*"))
        assert checkpoints
        assert all((checkpoint / "whole").is_file() for checkpoint in checkpoints)


def assert_reported(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Check that the run printed its data, each evaluation and a table of scores, and drew no bars into a log."""
    metrics = read_metrics(folder)
    assert done.stdout.index("outside the alphabet") < done.stdout.index("validation  step")
    for entry in metrics["training"]:
        if "eval_loss" in entry:
            assert f"validation  step {entry['step']:>6,}  epoch {entry['epoch']:.2f}" in done.stdout
    assert f"\n{table(metrics['test'])}\n" in done.stdout
    assert "\r" not in done.stderr
    assert "Traceback" not in done.stderr
