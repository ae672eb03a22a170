"""A run that is killed at any moment and started again ends with the same bytes as one that is never killed."""

import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.killed import run_fork
from support.recipes import read_metrics

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TINY = ["--hidden_size", "16", "--num_attention_heads", "2", "--intermediate_size", "24", "--dropout", "0.2"]
TINY += ["--use_cpu", "true", "--disable_tqdm", "true", "--logging_steps", "1"]
TINY += ["--eval_strategy", "steps", "--save_strategy", "steps", "--save_steps", "2", "--eval_steps", "2"]
# Two batches in a step, three steps in an epoch. The score never rises, so early stopping ends the run after the
# evaluation at step 8 of 12. A resumed run must restore the state of early stopping for that.
CLASSIFICATION = [
    *("recipes/finetune_classification.py", "--num_hidden_layers", "1", "--per_device_train_batch_size", "4"),
    *("--gradient_accumulation_steps", "2", "--num_train_epochs", "4", "--learning_rate", "1e-6"),
    *("--early_stopping_patience", "3", "--load_best_model_at_end", "false", "--save_total_limit", "1"),
]
WORDS = [(word, label) for label in ("fra", "por") for word in ("amor", "mer", "ler", "dois", "deux", "um", "une")]
LINES = [f"Era a frase {number} de {number * 7} palavras." for number in range(60)]


def write_words(folder: Path) -> list[str]:
    rows = [("text", "label"), *(WORDS * 2)[:24]]
    (folder / "words.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return ["--train_file", "words.tsv", "--validation_file", "words.tsv"]


def write_texts(folder: Path) -> list[str]:
    (folder / "texts.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return ["--train_file", "texts.txt", "--validation_file", "texts.txt"]


def run(folder: Path, command: Sequence[str], output: str, killed_at=None, seconds: float | None = None) -> str | None:
    """Run a recipe in a folder and return what it prints, None if it was killed after the `seconds`.

    It must succeed, or be killed if `killed_at` is given.
    """
    script, *options = command
    printed = folder / "printed.txt"
    words = [str(ROOT / script), *options, "--output_dir", output]
    status = run_fork(folder, printed, killed_at, *words, seconds=seconds or 300)
    if seconds and status is None:
        return None
    text = printed.read_text(encoding="utf-8")
    assert status == (-signal.SIGKILL if killed_at else 0), text[-3000:]
    return text


def result(folder: Path, output: str) -> tuple[bytes, dict]:
    metrics = read_metrics(folder / output)
    return (folder / output / "model.safetensors").read_bytes(), {name: metrics[name] for name in ("test", "training")}


def steps(folder: Path, output: str) -> set[int]:
    return {int(path.parent.name.removeprefix("checkpoint-")) for path in (folder / output).glob("checkpoint-*/whole")}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A folder with words to train on, the command, and the result of a run that is never killed."""
    folder = tmp_path_factory.mktemp("words")
    command = [*CLASSIFICATION, *write_words(folder), *TINY]
    run(folder, command, "never")
    weights, figures = result(folder, "never")
    assert figures["training"][-1]["step"] == 8
    assert steps(folder, "never") == {2, 8}  # the best and the last
    return folder, command, (weights, figures)


@pytest.mark.parametrize(
    ("place", "number", "complete"),
    [
        ("step", 3, set()),  # before the first checkpoint
        ("step", 10, {2, 4}),  # in step 5, after one evaluation without a better score
        ("weights", 3, {2, 4}),  # of the checkpoint at step 6
        ("states", 10, {2, 4}),  # after its weights
        ("mark", 3, {2, 4}),  # after all its files
        ("deletion", 1, {2, 6}),  # of the checkpoint at step 4, after the one at step 6
        ("mark", 4, {2, 6}),  # of the last one
        ("weights", 5, {2, 8}),  # of the finished model
    ],
)
def test_a_killed_run_ends_as_one_never_killed(words, place, number, complete):
    folder, command, expected = words
    output = f"{place}-{number}"
    run(folder, command, output, killed_at=(place, number))
    assert steps(folder, output) == complete
    again = run(folder, command, output)
    assert (f"Resuming from {output}/checkpoint-{max(complete, default=0)} " in again) is bool(complete)
    assert result(folder, output) == expected
    assert steps(folder, output) == {2, 8}


def test_a_run_may_be_killed_more_than_once(words):
    folder, command, expected = words
    run(folder, command, "often", killed_at=("step", 6))
    run(folder, command, "often", killed_at=("mark", 1))
    run(folder, command, "often", killed_at=("states", 2))
    run(folder, command, "often")
    assert result(folder, "often") == expected


def test_a_run_may_be_killed_at_random_moments(words):
    """`KILLS` in the environment is the least number of kills: what was killed is started again until it ends."""
    folder, command, _ = words
    often = "--save_steps 1 --eval_steps 1 --load_best_model_at_end true --learning_rate 1e-3 --num_train_epochs 10"
    command = [*command, *often.split(), "--early_stopping_patience", "30"]
    start = time.monotonic()
    run(folder, command, "whole")
    whole, expected = time.monotonic() - start, result(folder, "whole")
    assert len(expected[1]["training"]) >= 30
    moments = random.SystemRandom()
    kills = within_saves = runs = 0
    while kills < int(os.environ.get("KILLS", "1")):
        output = f"random-{runs}"
        while run(folder, command, output, seconds=moments.uniform(0, whole)) is None:
            kills += 1
            within_saves += len([*(folder / output).glob("checkpoint-*")]) > len(steps(folder, output))
        assert result(folder, output) == expected
        runs += 1
        print(f"{runs} runs ended as one never killed, after {kills} kills, {within_saves} of them within a save")


ONE_STACK = ["--num_hidden_layers", "1"]
TWO_STACKS = ["--encoder_layers", "1", "--decoder_layers", "1"]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["recipes/pretrain_masked.py", *ONE_STACK], id="masking"),
        pytest.param(["recipes/pretrain_denoising.py", "--optim", "muon", *TWO_STACKS], id="denoising"),
        pytest.param(["recipes/pretrain_causal.py", "--streaming", "true", *ONE_STACK], id="stream"),
    ],
)
def test_masks_and_streams_are_resumed(tmp_path, command):
    lengths = ["--max_length", "64", "--max_steps", "8", "--per_device_train_batch_size", "8"]
    command = [*command, *write_texts(tmp_path), *TINY, *lengths, "--learning_rate", "1e-3"]
    run(tmp_path, command, "never")
    run(tmp_path, command, "killed", killed_at=("step", 8))
    assert max(steps(tmp_path, "killed")) == 6
    run(tmp_path, command, "killed")
    assert result(tmp_path, "killed") == result(tmp_path, "never")
