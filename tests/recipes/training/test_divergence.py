"""A training that diverges ends with a line in every process, and saves nothing. `torchrun` runs this file."""

import os
import re
import sys
from pathlib import Path

import pytest
import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.ranks import run_ranks
from support.recipes import refusal, run_here, tiny, write_lines
from support.trainers import random_pairs, trainer_of
from support.trainers import tiny as tiny_model

PAIRS = random_pairs([(3, 2), (4, 3), (9, 12), (12, 10)])
AT_ONCE = ["--learning_rate", 1e30, "--warmup_steps", 0, "--lr_scheduler_type", "constant"]
NO_SAVES = ["--eval_strategy", "no", "--save_strategy", "no", "--load_best_model_at_end", False]
EVERY_STEP = {"save_strategy": "steps", "save_steps": 1, "eval_strategy": "steps", "eval_steps": 1}


@pytest.fixture
def words(tmp_path):
    rows = ["text\tlabel", *(f"{word}\t{label}" for label in ("fra", "por") for word in ("amor", "mer", "ler", "um"))]
    data = write_lines(tmp_path / "words.tsv", *rows)
    return ["--train_file", data, "--validation_file", data, "--per_device_train_batch_size", 2]


@pytest.mark.parametrize(
    ("options", "step", "advice"),
    [
        (NO_SAVES, 2, r"lower --learning_rate \(1e\+30\)\."),
        ([*NO_SAVES, "--gradient_accumulation_steps", 2, "--logging_nan_inf_filter", "true"], 2, "--learning_rate"),
        ([*NO_SAVES, "--bf16", True, "--optim", "muon"], 2, r"--muon_learning_rate \(0\.02\), or train without bf16"),
        ([*NO_SAVES, "--max_steps", 1], 1, "the norm of the weights is inf"),
        (["--eval_steps", 1, "--save_steps", 1], 1, "the (norm of the weights|loss of validation) is (inf|nan)"),
    ],
    ids=["loss", "accumulated", "half", "weights", "evaluation"],
)
def test_a_learning_rate_that_is_too_high_ends_the_run(words, tmp_path, options, step, advice):
    message = refusal("finetune_classification", tmp_path, *words, *AT_ONCE, *options)
    assert message.startswith(f"Step {step}: the ")
    assert re.search(advice, message)
    assert not list((tmp_path / "refused").glob("checkpoint-*"))
    assert not {"README.md", "metrics.json"} & {path.name for path in (tmp_path / "refused").iterdir()}


def test_pairs_diverge_likewise(tmp_path):
    data = write_lines(tmp_path / "pairs.tsv", "nao\tnão", "e\té", "so\tsó", "a\tà")
    message = refusal("seq2seq", tmp_path, "--train_file", data, "--validation_file", data, *AT_ONCE, *NO_SAVES)
    assert message.startswith("Step 2: the loss is nan")


def test_a_good_model_is_kept(words, tmp_path):
    folder = tmp_path / "model"
    options = tiny("finetune_classification", output_dir=folder, max_steps=2)
    run_here("finetune_classification", tmp_path, *words, *options)
    before = {name: (folder / name).read_bytes() for name in ("model.safetensors", "metrics.json", "README.md")}
    with pytest.raises(SystemExit, match="Step 2: the loss is nan"):
        run_here("finetune_classification", tmp_path, *words, *options, *AT_ONCE, *NO_SAVES, "--overwrite_output_dir")
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_the_newest_checkpoint_is_named(tmp_path):
    trainer = trainer_of(tmp_path, {"train": PAIRS}, max_steps=4, save_strategy="steps", save_steps=1)
    trainer.run.begun = True
    break_gradients(trainer, from_step=3)
    with pytest.raises(SystemExit, match=r"Step 3: .*gradient is nan.*--resume_from_checkpoint \S+checkpoint-2 goes"):
        trainer.fit(None)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_gradients_end_the_run_where_the_loss_is_finite(tmp_path, value):
    trainer = trainer_of(tmp_path, {"train": PAIRS}, max_steps=4, max_grad_norm=0.0)
    break_gradients(trainer, from_step=2, value=value)
    with pytest.raises(SystemExit, match=f"^Step 2: the norm of the gradient is {value};"):
        trainer.fit(None)


def test_weights_that_are_not_finite_are_neither_saved_nor_scored(tmp_path):
    trainer = trainer_of(tmp_path, {"train": PAIRS, "validation": PAIRS}, max_steps=2)
    trainer.fit(None)
    with torch.no_grad():
        trainer.model.lm_head.bias[0] = torch.inf
    for saves in (lambda: trainer._save_checkpoint(trainer.model, None), lambda: trainer.predict(PAIRS)):
        with pytest.raises(SystemExit, match=r"^Step 2: the (norm of the weights|loss of the test) is (inf|nan);"):
            saves()
    assert not list(tmp_path.glob("checkpoint-*"))


def test_a_batch_without_labels_is_not_a_divergence(tmp_path):
    unlabelled = PAIRS.map(lambda row: {"labels": [-100] * len(row["labels"])})
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    model.prepare_decoder_input_ids_from_labels = lambda labels: labels.clamp(min=0)
    rows = {"train": unlabelled, "validation": unlabelled}
    trainer = trainer_of(tmp_path, rows, model, max_steps=2, eval_strategy="steps", eval_steps=1)
    trainer.fit(None)
    assert [entry["loss"] for entry in trainer.state.log_history if "loss" in entry] == [0, 0]


def break_gradients(trainer, from_step, value=float("nan")):
    """Let a gradient be no number from a step on."""
    weight = next(trainer.model.parameters())
    weight.register_hook(lambda gradient: gradient + (value if trainer.state.global_step + 1 >= from_step else 0))


def run_rank(folder):
    """Train as one of two processes. The loss of the second is NaN, of the first of two batches in the second step."""
    rank, losses = int(os.environ["RANK"]), []
    trainer = trainer_of(
        folder / str(rank),
        {"train": PAIRS},
        max_steps=4,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
    )
    compute_loss = trainer.compute_loss

    def compute(*arguments, **options):
        losses.append(compute_loss(*arguments, **options))
        return losses[-1] * float("nan") if rank == 1 and len(losses) == 3 else losses[-1]

    trainer.compute_loss = compute
    try:
        trainer.fit(None)
    except SystemExit as error:
        (folder / f"{rank}.txt").write_text(str(error), encoding="utf-8")
        torch.distributed.destroy_process_group()


def test_all_processes_end_with_the_one_whose_loss_is_not_finite(tmp_path):
    run_ranks(Path(__file__), tmp_path)
    messages = [(tmp_path / f"{rank}.txt").read_text(encoding="utf-8") for rank in (0, 1)]
    assert messages[0].startswith("Step 2: the loss is nan and the norm of the gradient is nan;")
    assert messages[1] == "1"


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
