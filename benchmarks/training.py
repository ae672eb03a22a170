"""A step of training through transformers' Trainer, with dropout and without, against the matrix product's rate."""

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from benchmarks.contestants import TRAINED
from benchmarks.decoding import draw_ids
from benchmarks.limits import matrix_product_rate
from benchmarks.measure import interleave
from benchmarks.results import LIMIT, Target, Work
from benchmarks.settings import Settings
from benchmarks.sizes import BASE, COMPARED, SMALL, Size

SECONDS = 230
ROUNDS = {SMALL: 5}
ROUNDS_OF_LARGER = 2
LEFT_OUT, COUNTED = 1, 3  # steps of a round: the first warms up
# Rows and tokens of a row; a source is as long as a target.
BATCHES = {"cpu": {SMALL: (8, 128), BASE: (4, 128)}, "cuda": dict.fromkeys(COMPARED["cuda"], (64, 512))}
LEARNED = 0.15  # share of the characters that an encoder guesses
# What is to be reached at 4 × 256 on a CPU: our share of the peer's time with its own dropout.
TARGETS = {"decoder": Target(0.6, "GPT-2"), "encoder": Target(0.7, "BERT"), "encoder-decoder": Target(0.75, "BART")}
MATRIX_SHARE = Target(0.6, LIMIT)


class StepTimes(TrainerCallback):
    """Seconds from the begin of each step to its end: forward, backward, optimizer."""

    def __init__(self, settings: Settings):
        self.wait, self.seconds = settings.wait, []

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.wait()
        self.started = perf_counter()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Stop it."""
        self.wait()
        self.seconds.append(perf_counter() - self.started)


def run(settings: Settings) -> Iterator[Work]:
    """Measure every family at every size, as milliseconds a step and as GFLOP/s."""
    with TemporaryDirectory() as folder:
        for size in COMPARED[settings.device]:
            for family in TRAINED:
                yield from _train(family, size, folder, settings, dropout=True)
                yield from _train(family, size, folder, settings, dropout=False)


def _train(family: str, size: Size, folder: str, settings: Settings, dropout: bool) -> Iterator[Work]:
    rows, length = BATCHES[settings.device][size]
    examples = make_examples(settings, family, rows, length)
    operations = 6 * size.matrix_numbers(family) * rows * length
    models = with_dropout(family, size) if dropout else without_dropout(family, size)
    steps = {
        name: partial(_milliseconds, make_trainer(model, examples, folder, settings), settings)
        for name, model in models.items()
    }
    steps[LIMIT] = lambda: 1000 * operations / matrix_product_rate(settings)
    name = f"training {family} {size}, {'dropout 0.1' if dropout else 'no dropout'}"
    figures = interleave(steps, settings.rounds or ROUNDS.get(size, ROUNDS_OF_LARGER), name, warm_up=False)
    asked = size == SMALL and not settings.on_gpu
    yield Work(name, "ms a step", figures, [TARGETS[family]] if asked and dropout else [])
    rates = {who: [operations / 1e6 / milliseconds for milliseconds in values] for who, values in figures.items()}
    yield Work(f"{name}, rate", "GFLOP/s", rates, [MATRIX_SHARE] if asked and not dropout else [], more_is_better=True)


def with_dropout(family: str, size: Size) -> dict[str, nn.Module]:
    """Return the models that have dropout, by their defaults, and again with dropout where ours is."""
    competing = TRAINED[family]
    models = {one.name: one.build(size) for one in competing if one.without_dropout}
    return models | {
        f"{one.name} (same dropout)": one.build(size, **one.same_dropout) for one in competing if one.same_dropout
    }


def without_dropout(family: str, size: Size) -> dict[str, nn.Module]:
    """Return all models, without dropout."""
    return {one.name: one.build(size, **one.without_dropout) for one in TRAINED[family]}


def make_examples(settings: Settings, family: str, rows: int, length: int) -> list[dict[str, list[int]]]:
    """Return one batch: ids, and as labels the same, or for an encoder those of the characters it guesses."""
    ids = draw_ids(Settings(), rows, length)
    labels = ids
    if family == "encoder":
        guessed = torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < LEARNED
        labels = ids.masked_fill(~guessed, -100)
    return [{"input_ids": one, "labels": other} for one, other in zip(ids.tolist(), labels.tolist())]


def make_trainer(
    model: nn.Module, examples: Sequence[dict[str, list[int]]], folder: str, settings: Settings
) -> Trainer:
    """Return a Trainer whose every step is this batch."""
    steps = LEFT_OUT + COUNTED
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=len(examples),
        max_steps=steps,
        use_cpu=not settings.on_gpu,
        bf16=settings.on_gpu,
        dataloader_pin_memory=settings.on_gpu,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = Trainer(model, arguments, train_dataset=list(examples))
    trainer.remove_callback(PrinterCallback)
    return trainer


def _milliseconds(trainer: Trainer, settings: Settings) -> float:
    times = StepTimes(settings)
    trainer.add_callback(times)
    trainer.train()
    trainer.remove_callback(times)
    return 1000 * median(times.seconds[LEFT_OUT:])
