"""A training that diverges ends with a line, and saves nothing; `test_two_processes.py` has two of them."""

import re

import pytest
import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.recipes import refusal, run_here, tiny, write_lines
from support.trainers import random_pairs, trainer_of
from support.trainers import tiny as tiny_model

PAIRS = random_pairs([(3, 2), (4, 3), (9, 12), (12, 10)])
AT_ONCE = ["--learning_rate", 1e30, "--warmup_steps", 0, "--lr_scheduler_type", "constant"]
NO_SAVES = ["--eval_strategy", "no", "--save_strategy", "no", "--load_best_model_at_end", False]


@pytest.fixture
def words(tmp_path):
    rows = ["text\tlabel", *(f"{word}\t{label}" for label in ("fra", "por") for word in ("amor", "mer", "ler", "um"))]
    data = write_lines(tmp_path / "words.tsv", *rows)
    return ["--train_file", data, "--validation_file", data, "--per_device_train_batch_size", 2]


@pytest.mark.parametrize(
    ("options", "step", "advice"),
    [
        ([*NO_SAVES, "--logging_nan_inf_filter", "true"], 2, r"lower --learning_rate \(1e\+30\)\."),
        ([*NO_SAVES, "--bf16", True, "--optim", "muon"], 2, r"--muon_learning_rate \(0\.02\), or train without bf16"),
        (["--eval_steps", 1, "--save_steps", 1], 1, "the (norm of the weights|loss of validation) is (inf|nan)"),
    ],
    ids=["loss", "half", "evaluation"],
)
def test_a_learning_rate_that_is_too_high_ends_the_run(words, tmp_path, options, step, advice):
    message = refusal("finetune_classification", tmp_path, *words, *AT_ONCE, *options)
    assert message.startswith(f"Step {step}: the ")
    assert re.search(advice, message)
    assert not list((tmp_path / "refused").glob("checkpoint-*"))
    assert not {"README.md", "metrics.json"} & {path.name for path in (tmp_path / "refused").iterdir()}


def test_a_good_model_is_kept(words, tmp_path):
    folder = tmp_path / "model"
    options = tiny("finetune_classification", output_dir=folder, max_steps=2)
    run_here("finetune_classification", tmp_path, *words, *options)
    before = {name: (folder / name).read_bytes() for name in ("model.safetensors", "metrics.json", "README.md")}
    with pytest.raises(SystemExit, match="Step 2: the loss is nan"):
        run_here("finetune_classification", tmp_path, *words, *options, *AT_ONCE, *NO_SAVES, "--overwrite_output_dir")
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_gradients_end_the_run_where_the_loss_is_finite_and_the_newest_checkpoint_is_named(tmp_path, value):
    saving = {"save_strategy": "steps", "save_steps": 1}
    trainer = trainer_of(tmp_path, {"train": PAIRS}, max_steps=4, max_grad_norm=0.0, **saving)
    trainer.run.begun = True
    weight = next(trainer.model.parameters())
    weight.register_hook(lambda gradient: gradient + (value if trainer.state.global_step == 2 else 0))
    with pytest.raises(SystemExit, match=rf"^Step 3: the norm of the gradient is {value};.*_checkpoint \S+-2 goes on"):
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
