"""Trains JoeyNMT with its example for short sequences of symbols, configs/transformer_reverse.yaml, and decodes.

Other than there, training ends by the clock instead of after 30 epochs, and source and target have vocabularies of
their own, so that they do not share their embeddings.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from job import Job, finish, read_job
from joeynmt.config import TestConfig, parse_global_args, set_validation_args
from joeynmt.helpers import make_model_dir, resolve_ckpt_path
from joeynmt.prediction import predict, prepare
from joeynmt.training import TrainManager

_SPACE = "▁"  # stands for a space in a word: symbols are separated by spaces


class TimedManager(TrainManager):
    """A training that ends after some seconds, as it does after its last update."""

    seconds: float
    started: float | None = None

    def _train_step(self, batch: Any) -> tuple[float, int]:
        self.started = self.started or perf_counter()
        self.stats.is_max_update |= perf_counter() - self.started >= self.seconds
        return super()._train_step(batch)


def write_symbols(job: Job) -> int:
    """Write the files as symbols separated by spaces, tags before letters; return the length of the longest target."""
    longest = 0
    for split in ("train", "validation", "test"):
        sides: dict[str, list[str]] = {"source": [], "target": []}
        for source, target, *tags in job.read(split):
            tokens = [f"[{tag}]" for tag in ";".join(tags).split(";") if tag]
            units = target.split(job.separator) if job.separator else list(target.replace(" ", _SPACE))
            sides["source"].append(" ".join([*tokens, *source.replace(" ", _SPACE)]))
            sides["target"].append(" ".join(units))
            longest = max(longest, len(units))
        for side, lines in sides.items():
            (Path(job.folder) / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return longest


def configuration(job: Job, longest: int) -> dict[str, Any]:
    """Return what JoeyNMT's command would read from YAML."""
    stack = {
        "type": "transformer",
        "num_layers": 2,
        "num_heads": 4,
        "embeddings": {"embedding_dim": 64, "scale": True},
        "hidden_size": 64,
        "ff_size": 256,
        "dropout": 0.1,
    }
    side = {"level": "word", "lowercase": False}
    return {
        "name": job.contestant,
        "model_dir": str(Path(job.folder) / "model"),
        "use_cuda": False,
        "random_seed": job.seed,
        "data": {
            "train": str(Path(job.folder) / "train"),
            "dev": str(Path(job.folder) / "validation"),
            "test": str(Path(job.folder) / "test"),
            "dataset_type": "plain",
            "src": {"lang": "source", **side},
            "trg": {"lang": "target", **side},
        },
        "testing": {"beam_size": job.beams, "beam_alpha": 1.0, "max_output_length": 2 * longest},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "scheduling": "noam",
            "loss": "crossentropy",
            "learning_rate": 0.001,
            "learning_rate_min": 0.00000001,
            "learning_rate_factor": 2,
            "learning_rate_warmup": 5000,
            "label_smoothing": 0.1,
            "weight_decay": 0.0,
            "batch_size": 250,
            "batch_type": "token",
            "epochs": 1_000_000,
            "validation_freq": 1000,
            "logging_freq": 100,
            "print_valid_sents": [],
            "keep_best_ckpts": 2,
        },
        "model": {
            "initializer": "xavier",
            "init_gain": 1.0,
            "bias_initializer": "zeros",
            "embed_initializer": "xavier",
            "embed_init_gain": 1.0,
            "tied_embeddings": False,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }


def decode(width: int, job: Job, test: TestConfig, **options: Any) -> Sequence[str]:
    """Return the output for each line of the test, by JoeyNMT's own search."""
    found = predict(args=test._replace(beam_size=width), rank=0, n_gpu=0, **options)[2]
    return found if job.separator else [text.replace(" ", "").replace(_SPACE, " ") for text in found]


if __name__ == "__main__":
    job = read_job()
    config = configuration(job, write_symbols(job))
    make_model_dir(Path(config["model_dir"]), overwrite=True)
    settings = parse_global_args(config, rank=0, mode="train")
    model, train, validation, test = prepare(settings, rank=0, mode="train")
    common = {"model": model, "device": settings.device, "autocast": settings.autocast}
    manager = TimedManager(
        rank=0,
        model_dir=settings.model_dir,
        seed=settings.seed,
        train_args=settings.train,
        dev_args=set_validation_args(settings.test),
        **common,
    )
    manager.seconds = job.seconds
    manager.train_and_validate(train, validation)
    training_seconds = perf_counter() - manager.started
    best = resolve_ckpt_path(None, settings.model_dir)  # the last, if it was never validated
    model.load_state_dict(torch.load(best, weights_only=False)["model_state"])
    of_test = partial(decode, job=job, test=settings.test, data=test, **common)
    finish(job, model, training_seconds, of_test, ["torch", "joeynmt"])
