"""Two processes learn what one does, and the checkpoints of each load in the other. Run by `torchrun`, this is a rank.

Every rank has an output folder of its own here, so that what each one writes can be told apart.
"""

import gc
import json
import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from atenta.modeling import AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.decoding.n_best import decode_n_best
from atenta.recipes.metrics import scores
from atenta.recipes.reporting.results import finish
from atenta.recipes.seq2seq import measure
from atenta.recipes.training import start
from support.models import assert_close
from support.ranks import run_ranks
from support.trainers import random_pairs, tiny, tiny_tokenizer, trainer_of

BATCH = 4  # texts of all processes together
LENGTHS = torch.randint(2, 12, (22, 2), generator=torch.Generator().manual_seed(3)).tolist()
TRAIN, TEST = random_pairs(LENGTHS, seed=1), random_pairs(LENGTHS[:7], seed=2)  # 7: uneven for two, in batches of two


def learn(folder: Path, processes: int, rank: int, checkpoint: str | None = None) -> dict[str, Any]:
    """Train, save, evaluate, decode and write as a recipe does, in one of several processes.

    Returns:
        What this process saw and found, as JSON holds it.
    """
    tokenizer, seen = tiny_tokenizer(), []
    model = tiny(AtentaEncoderDecoderForConditionalGeneration, initializer_range=0.5)
    with torch.no_grad():  # letters only, so that untrained outputs differ
        model.lm_head.bias[[index for token, index in tokenizer.get_vocab().items() if token.startswith("<0x")]] = -100

    def record(module, positional, inputs):
        if module.training:
            seen.append(sorted(tokenizer.batch_decode(inputs["input_ids"], skip_special_tokens=True)))

    model.register_forward_pre_hook(record, with_kwargs=True)
    trainer = trainer_of(
        folder / str(rank),
        {"train": TRAIN, "validation": TEST},
        model,
        options={"compute_metrics": partial(measure, tokenizer=tokenizer, metrics=["character_error_rate"])},
        per_device_train_batch_size=BATCH // processes,
        per_device_eval_batch_size=2,
        max_steps=8,
        learning_rate=0.003,
        save_strategy="steps",
        save_steps=4,
        eval_strategy="steps",
        eval_steps=4,
        resume_from_checkpoint=checkpoint,
        predict_with_generate=True,
    )
    trainer.fit(start(trainer.args))
    decoded = decode_n_best(
        trainer.model,
        trainer.get_test_dataloader(TEST),
        tokenizer,
        num_beams=3,
        num_return_sequences=2,
        accelerator=trainer.accelerator,
    )
    predicted = trainer.predict(TEST).predictions
    answers = [hypotheses[0].text for hypotheses in decoded]
    gold = tokenizer.batch_decode(list(TEST["labels"]), skip_special_tokens=True)
    score = scores(["character_error_rate"], predictions=answers, references=gold)
    finish(trainer, scores={"model": score}, predictions={"output": answers}, about={})
    history = trainer.state.log_history
    return {
        "process": [trainer.args.process_index, trainer.accelerator.num_processes],
        "seen": seen,
        "losses": {str(entry["step"]): entry["loss"] for entry in history if "loss" in entry},
        "rates": [entry["eval_character_error_rate"] for entry in history if "eval_loss" in entry],
        "decoded": [[asdict(one) for one in hypotheses] for hypotheses in decoded],
        "predicted": tokenizer.batch_decode(predicted.clip(0), skip_special_tokens=True),
        "score": score,
    }


def learn_together(folder: Path, *checkpoint: Path) -> list[dict[str, Any]]:
    """Run this file in two processes; returns what each of them found."""
    run_ranks(Path(__file__), folder, *checkpoint)
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders and findings of one process, and of two."""
    folder = tmp_path_factory.mktemp("processes")
    alone, together = folder / "alone", folder / "together"
    return (alone, learn(alone, 1, 0)), (together, learn_together(together))


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_each_process_learns_its_own_half_of_every_batch(runs):
    (_, alone), (_, together) = runs
    assert alone["process"] == [0, 1]
    assert [each["process"] for each in together] == [[0, 2], [1, 2]]
    halves = list(zip(*(each["seen"] for each in together)))
    assert [sorted(first + second) for first, second in halves] == alone["seen"]
    assert all(first != second for first, second in halves)


def test_the_loss_curve_is_that_of_one_process(runs):
    (_, alone), (_, together) = runs
    assert len(alone["losses"]) == 8
    for each in together:
        assert each["losses"] == pytest.approx(alone["losses"], abs=1e-4)
    assert len(set(alone["losses"].values())) == 8


def test_generation_and_scores_are_those_of_one_process_in_both(runs):
    (_, alone), (_, together) = runs
    assert len(alone["decoded"]) == len(alone["predicted"]) == len(TEST)
    assert len(set(alone["predicted"])) > 3
    for each in together:
        assert each["predicted"] == alone["predicted"]
        assert each["score"] == alone["score"]
        assert each["rates"] == alone["rates"]
        assert [[(one["text"], one["finished"]) for one in row] for row in each["decoded"]] == [
            [(one["text"], one["finished"]) for one in row] for row in alone["decoded"]
        ]
        assert_close(
            *(torch.tensor([[one["score"] for one in row] for row in run["decoded"]]) for run in (each, alone)), 1e-4
        )


def test_one_process_writes_and_the_other_only_its_random_state(runs):
    (alone, _), (together, _) = runs
    checkpoints = [f"checkpoint-{step}" for step in (4, 8)]
    expected = files(alone / "0")
    assert {"metrics.json", "model.safetensors", "predictions.tsv", "checkpoint-4/whole"} <= expected
    assert files(together / "0") == (expected - {f"{checkpoint}/rng_state.pth" for checkpoint in checkpoints}) | {
        f"{checkpoint}/rng_state_0.pth" for checkpoint in checkpoints
    }
    assert files(together / "1") == {f"{checkpoint}/rng_state_1.pth" for checkpoint in checkpoints}


def test_a_checkpoint_of_two_processes_goes_on_in_one(runs, tmp_path):
    (_, alone), (together, _) = runs
    found = learn(tmp_path, 1, 0, str(together / "0" / "checkpoint-4"))
    assert len(found["seen"]) == 4
    assert found["losses"] == pytest.approx(alone["losses"], abs=1e-4)
    assert found["predicted"] == alone["predicted"]


def test_a_checkpoint_of_one_process_goes_on_in_two(runs, tmp_path):
    (alone, expected), _ = runs
    for found in learn_together(tmp_path, alone / "0" / "checkpoint-4"):
        assert len(found["seen"]) == 4
        assert found["losses"] == pytest.approx(expected["losses"], abs=1e-4)
        assert found["predicted"] == expected["predicted"]


def main(folder: str, *checkpoint: str) -> None:
    """Learn as one of two processes, and write down what was found."""
    rank = int(os.environ["RANK"])
    found = learn(Path(folder), 2, rank, *checkpoint)
    Path(folder, f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    gc.collect()  # a DistributedDataParallel that is freed after its process group may wait for ever
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
