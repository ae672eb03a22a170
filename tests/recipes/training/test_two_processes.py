"""Two processes train as one does, and each resumes from the checkpoints of the other. `torchrun` runs this file.

Everything is in float64, in which the order of additions cannot change a result that is compared here: Adam turns
gradients of 1e-9 into steps of full size. The optimizer is Muon with AdamW, which holds both. Each process has its own
output folder, to see which one writes a file.
"""

import gc
import json
import os
import sys
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from atenta import AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.decoding.generation import decode_n_best
from atenta.recipes.metrics import scores
from atenta.recipes.training import trainer as trainer_module
from atenta.recipes.training.encoder_decoders import score_generated
from atenta.recipes.training.results import save_run
from atenta.recipes.training.runs import start_run
from support.models import assert_close
from support.ranks import run_ranks
from support.trainers import in_float64, random_pairs, tiny, tiny_tokenizer, trainer_of

BATCH = 4  # texts of all processes together
LENGTHS = torch.randint(2, 12, (22, 2), generator=torch.Generator().manual_seed(3)).tolist()
TRAIN, TEST = random_pairs(LENGTHS, seed=1), random_pairs(LENGTHS[:7], seed=2)  # 7: the last batch needs padding


def run(folder: Path, processes: int, rank: int, checkpoint: Path | None = None) -> dict[str, Any]:
    """Train, save, evaluate, decode and write as a recipe does, in one of several processes.

    Returns:
        The findings of this process, as JSON can hold them.
    """
    tokenizer, seen = tiny_tokenizer(), []
    model = in_float64(tiny(AtentaEncoderDecoderForConditionalGeneration, initializer_range=0.5))
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
        options={"compute_metrics": partial(score_generated, tokenizer=tokenizer, metrics=["character_error_rate"])},
        per_device_train_batch_size=BATCH // processes,
        per_device_eval_batch_size=2,
        max_steps=8,
        learning_rate=0.003,
        optim="muon",
        save_strategy="steps",
        save_steps=4,
        eval_strategy="steps",
        eval_steps=4,
        resume_from_checkpoint=checkpoint and str(checkpoint),
        predict_with_generate=True,
        include_for_metrics=["inputs"],
    )
    trainer.fit(start_run(trainer.args))
    decoded = decode_n_best(
        trainer.model,
        trainer.get_test_dataloader(TEST),
        tokenizer,
        num_beams=3,
        num_return_sequences=2,
        accelerator=trainer.accelerator,
    )
    predicted = trainer.predict(TEST).predictions
    answers = [ranked[0].text for ranked in decoded]
    gold = tokenizer.batch_decode(list(TEST["labels"]), skip_special_tokens=True)
    score = scores(["character_error_rate"], predictions=answers, references=gold)
    save_run(trainer, scores={"model": score}, predictions={"output": answers}, about={})
    history = trainer.state.log_history
    return {
        "process": [trainer.args.process_index, trainer.accelerator.num_processes],
        "seen": seen,
        "losses": {str(entry["step"]): entry["loss"] for entry in history if "loss" in entry},
        "rates": [entry["eval_character_error_rate"] for entry in history if "eval_loss" in entry],
        "decoded": [[one._asdict() for one in ranked] for ranked in decoded],
        "predicted": tokenizer.batch_decode(predicted.clip(0), skip_special_tokens=True),
        "score": score,
    }


def diverge(folder: Path, rank: int) -> str:
    """Train as one of two processes. The loss of the second is NaN, of the first of two batches in the second step."""
    batches = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2}
    trainer, losses = trainer_of(folder, {"train": TRAIN}, max_steps=4, **batches), []
    compute_loss = trainer.compute_loss

    def compute(*arguments, **options):
        losses.append(compute_loss(*arguments, **options))
        return losses[-1] * float("nan") if rank == 1 and len(losses) == 3 else losses[-1]

    trainer.compute_loss = compute
    with pytest.raises(SystemExit) as stopped:
        trainer.fit(None)
    return str(stopped.value)


def stream(folder: Path) -> list[str]:
    """Return the sources that one of two processes reads in the first pass over a stream of twenty rows."""
    rows = {"train": TRAIN.select(range(20)).to_iterable_dataset()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "_SHUFFLE_BUFFER", 1)  # the rows in their order
        batches = trainer_of(folder, rows, max_steps=5, per_device_train_batch_size=2).get_train_dataloader()
        ids = [list(batch["input_ids"]) for _, batch in zip(range(5), batches)]
    return tiny_tokenizer().batch_decode([*chain(*ids)], skip_special_tokens=True)


def run_rank(folder: Path, checkpoint: Path) -> None:
    """Run as one of two processes, from the beginning and from a checkpoint of one process; write the findings."""
    rank = int(os.environ["RANK"])
    found = {
        "complete": run(folder / "complete", 2, rank),
        "resumed": run(folder / "resumed", 2, rank, checkpoint),
        "diverged": diverge(folder / "diverged", rank),
        "streamed": stream(folder / "streamed"),
    }
    (folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    gc.collect()  # a DistributedDataParallel that is freed after its process group may wait forever
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder and the findings of one process."""
    folder = tmp_path_factory.mktemp("alone")
    return folder / "0", run(folder, 1, 0)


@pytest.fixture(scope="module")
def together(alone, tmp_path_factory):
    """The folder and the findings of two processes."""
    folder = tmp_path_factory.mktemp("together")
    run_ranks(Path(__file__), folder, alone[0] / "checkpoint-4")
    return folder, [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


def approx(losses):
    return pytest.approx(losses, rel=1e-6)  # the Trainer logs them in float32


def assert_same_weights(folder, expected):
    assert_close(load_file(folder / "model.safetensors"), load_file(expected / "model.safetensors"), 1e-9)


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_each_process_trains_on_half_of_every_batch(alone, together):
    (_, expected), (_, ranks) = alone, together
    assert expected["process"] == [0, 1]
    assert [found["complete"]["process"] for found in ranks] == [[0, 2], [1, 2]]
    halves = list(zip(*(found["complete"]["seen"] for found in ranks)))
    assert [sorted(first + second) for first, second in halves] == expected["seen"]
    assert all(first != second for first, second in halves)


def test_losses_and_weights_are_equal(alone, together):
    expected = alone[1]["losses"]
    assert len(set(expected.values())) == 8
    for found in together[1]:
        assert found["complete"]["losses"] == approx(expected)
    assert_same_weights(together[0] / "complete" / "0", alone[0])


def test_outputs_and_scores_are_equal_in_every_process(alone, together):
    expected = alone[1]
    assert len(expected["decoded"]) == len(expected["predicted"]) == len(TEST)
    assert len(set(expected["predicted"])) > 3
    for found in (rank["complete"] for rank in together[1]):
        for name in ("predicted", "score", "rates"):
            assert found[name] == expected[name]
        for ranked, expected_ranked in zip(found["decoded"], expected["decoded"], strict=True):
            for one, expected_one in zip(ranked, expected_ranked, strict=True):
                assert one == {**expected_one, "score": pytest.approx(expected_one["score"], abs=1e-5)}  # float32


def test_one_process_writes_and_the_other_only_its_random_state(alone, together):
    checkpoints = [f"checkpoint-{step}" for step in (4, 8)]
    expected = files(alone[0])
    assert {"metrics.json", "model.safetensors", "predictions.tsv", "checkpoint-4/whole"} <= expected
    assert files(together[0] / "complete" / "0") == (
        expected - {f"{checkpoint}/rng_state.pth" for checkpoint in checkpoints}
    ) | {f"{checkpoint}/rng_state_0.pth" for checkpoint in checkpoints}
    assert files(together[0] / "complete" / "1") == {f"{checkpoint}/rng_state_1.pth" for checkpoint in checkpoints}


def test_one_process_resumes_from_a_checkpoint_of_two(alone, together, tmp_path):
    found = run(tmp_path, 1, 0, together[0] / "complete" / "0" / "checkpoint-4")
    assert len(found["seen"]) == 4
    assert found["losses"] == approx(alone[1]["losses"])
    assert found["predicted"] == alone[1]["predicted"]
    assert_same_weights(tmp_path / "0", alone[0])


def test_two_processes_resume_from_a_checkpoint_of_one(alone, together):
    for found in (rank["resumed"] for rank in together[1]):
        assert len(found["seen"]) == 4
        assert found["losses"] == approx(alone[1]["losses"])
        assert found["predicted"] == alone[1]["predicted"]
    assert_same_weights(together[0] / "resumed" / "0", alone[0])


def test_all_processes_end_with_the_one_whose_loss_is_not_finite(together):
    first, second = (found["diverged"] for found in together[1])
    assert first.startswith("Step 2: the loss is nan and the norm of the gradient is nan;")
    assert second == "1"


def test_each_row_of_a_stream_is_read_once(together):
    expected = tiny_tokenizer().batch_decode(TRAIN[:20]["input_ids"], skip_special_tokens=True)
    read = [found["streamed"] for found in together[1]]
    assert [len(each) for each in read] == [10, 10]
    assert sorted(chain(*read)) == sorted(expected)


if __name__ == "__main__":
    run_rank(*map(Path, sys.argv[1:]))
