"""Training speed: a step of transformers' Trainer, with and without dropout, against peers and matrix products."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from benchmarks.contestants import TRAINING_CONTESTANTS, draw_ids
from benchmarks.measuring import BASE, COMPARED, LIMIT, SMALL, Settings, Size, Work, interleave
from benchmarks.plain_torch import matrix_product_rate

TRAINING_ROUNDS, TRAINING_ROUNDS_OF_LARGER = 5, 2
TRAINING_WARM_UP_STEPS, TRAINING_STEPS = 1, 3  # in each round
# Rows of a batch and tokens of a row. Source and target have the same length.
BATCH_SHAPES = {"cpu": {SMALL: (8, 128), BASE: (4, 128)}, "cuda": dict.fromkeys(COMPARED["cuda"], (64, 512))}
PREDICTED = 0.15  # share of the characters that an encoder predicts


class TrainingStepTimes(TrainerCallback):
    """A callback that times each training step: forward and backward pass and optimizer."""

    def __init__(self, settings: Settings):
        self.wait, self.seconds = settings.wait, []

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.wait()
        self.started = perf_counter()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Record the time of the step."""
        self.wait()
        self.seconds.append(perf_counter() - self.started)


def measure_training(settings: Settings) -> Iterator[Work]:
    """Measure every family at every size, in milliseconds per step and in GFLOP/s."""
    with TemporaryDirectory() as folder:
        for size in COMPARED[settings.device]:
            for family in TRAINING_CONTESTANTS:
                yield from _training_works(family, size, folder, settings, dropout=True)
                yield from _training_works(family, size, folder, settings, dropout=False)


def _training_works(family: str, size: Size, folder: str, settings: Settings, dropout: bool) -> Iterator[Work]:
    rows, length = BATCH_SHAPES[settings.device][size]
    examples = make_examples(family, rows, length)
    operations = 6 * size.matrix_numbers(family) * rows * length
    models = with_dropout(family, size) if dropout else without_dropout(family, size)
    steps = {
        name: partial(_milliseconds, make_trainer(model, examples, folder, settings), settings)
        for name, model in models.items()
    }
    steps[LIMIT] = lambda: 1000 * operations / matrix_product_rate(settings)
    name = f"training {family} {size}, {'dropout 0.1' if dropout else 'no dropout'}"
    rounds = settings.rounds or (TRAINING_ROUNDS if size == SMALL else TRAINING_ROUNDS_OF_LARGER)
    figures = interleave(steps, rounds, name, warm_up=False)
    rates = {who: [operations / 1e6 / milliseconds for milliseconds in values] for who, values in figures.items()}
    yield Work(name, "ms a step", figures)
    yield Work(f"{name}, rate", "GFLOP/s", rates, more_is_better=True)


def with_dropout(family: str, size: Size) -> dict[str, nn.Module]:
    """Return the models that have dropout: with their default dropout, and with dropout only where ours has it."""
    contestants = TRAINING_CONTESTANTS[family]
    models = {one.name: one.build(size) for one in contestants if one.without_dropout}
    return models | {
        f"{one.name} (same dropout)": one.build(size, **one.same_dropout) for one in contestants if one.same_dropout
    }


def without_dropout(family: str, size: Size) -> dict[str, nn.Module]:
    """Return all models, without dropout."""
    return {one.name: one.build(size, **one.without_dropout) for one in TRAINING_CONTESTANTS[family]}


def make_examples(family: str, rows: int, length: int) -> list[dict[str, list[int]]]:
    """Return one batch of ids and labels. An encoder's labels cover only the characters that it predicts."""
    ids = draw_ids(Settings(), rows, length)
    labels = ids
    if family == "encoder":
        predicted = torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < PREDICTED
        labels = ids.masked_fill(~predicted, -100)
    return [{"input_ids": one, "labels": other} for one, other in zip(ids.tolist(), labels.tolist())]


def make_trainer(model: nn.Module, examples: Sequence[Mapping[str, Any]], folder: str, settings: Settings) -> Trainer:
    """Return a Trainer that trains on the same batch at each step."""
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=len(examples),
        max_steps=TRAINING_WARM_UP_STEPS + TRAINING_STEPS,
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
    times = TrainingStepTimes(settings)
    trainer.add_callback(times)
    trainer.train()
    trainer.remove_callback(times)
    return 1000 * median(times.seconds[TRAINING_WARM_UP_STEPS:])
