"""Trains a Transformer of yoyodyne with the options of its own tests on words (tests/testdata/configs), and decodes.

Other than there, training ends by the clock instead of after 50 epochs or 10 without a better loss, in float32.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from job import Job, finish, read_job
from yoyodyne import data, models
from yoyodyne.cli.main import YoyodyneCLI

_MODULES = "yoyodyne.models.modules"
_SIZES = {"dropout": 0.2, "embedding_size": 64, "hidden_size": 256, "layers": 4}
_LINEAR = {"dropout": 0.2, "embedding_size": 64, "output_size": 64}
_KINDS: dict[str, tuple[str, str, Any]] = {  # the class of the model, that of its encoder, and what reads tags
    "yoyodyne_rotary": ("RotaryTransformerModel", "RotaryTransformerEncoder", True),
    "yoyodyne_pointer": (
        "PointerGeneratorTransformerModel",
        "TransformerEncoder",
        {"class_path": f"{_MODULES}.LinearEncoder", "init_args": _LINEAR},
    ),
}


def configuration(job: Job) -> dict[str, Any]:
    """Return what yoyodyne's command would read from YAML."""
    model, encoder, tags = _KINDS[job.contestant]
    rows = [row for split in ("train", "validation", "test") for row in job.read(split)]
    lengths = [
        (len(source), len(target.split(job.separator) if job.separator else target)) for source, target, *_ in rows
    ]
    monitor = "lightning.pytorch.callbacks.LearningRateMonitor"
    return {
        "seed_everything": job.seed,
        "trainer": {
            "accelerator": "cpu",
            "callbacks": [{"class_path": monitor, "init_args": {"logging_interval": "epoch"}}],
            "enable_progress_bar": False,
            "gradient_clip_val": 3,
            "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger"},
            "max_epochs": -1,
        },
        "checkpoint": {"filename": "best", "mode": "max", "monitor": "val_accuracy"},
        "data": {
            "model_dir": job.folder,
            "train": job.train,
            "val": job.validation,
            "predict": job.test,
            "target_sep": job.separator or "",
            "features_col": 3 if job.tagged else 0,
            "batch_size": 100,
            "max_source_length": max(source for source, _ in lengths),
            "max_target_length": 2 * max(target for _, target in lengths),
        },
        "model": {
            "class_path": f"yoyodyne.models.{model}",
            "init_args": {
                "source_encoder": {"class_path": f"{_MODULES}.{encoder}", "init_args": _SIZES},
                **({"features_encoder": tags} if job.tagged else {}),
                **{f"decoder_{name}": _SIZES[name] for name in ("dropout", "hidden_size", "layers")},
                "embedding_size": _SIZES["embedding_size"],
                "label_smoothing": 0.1,
                "optimizer": {"class_path": "torch.optim.Adam", "init_args": {"lr": 0.01}},
                "scheduler": {
                    "class_path": "yoyodyne.schedulers.WarmupInverseSquareRoot",
                    "init_args": {"warmup_epochs": 10},
                },
            },
        },
    }


def decode(width: int, model: models.BaseModel, words: data.DataModule) -> Iterator[str]:
    """Yield the output for each line of the test, by yoyodyne's own search."""
    model.beam_width = width
    mapper = data.Mapper(words.index)
    for number, batch in enumerate(words.predict_dataloader()):
        with torch.inference_mode():
            found = model.predict_step(batch, number)
        best = found[0][:, 0] if width > 1 else found
        for ids in best:
            yield words.target_sep.join(mapper.decode_target(ids))


if __name__ == "__main__":
    job = read_job()
    config = Path(job.folder) / "config.yaml"
    config.write_text(json.dumps(configuration(job)), encoding="utf-8")  # JSON is YAML
    made = YoyodyneCLI(
        models.BaseModel,
        data.DataModule,
        parser_kwargs={"parser_mode": "omegaconf"},
        save_config_callback=None,
        subclass_mode_model=True,
        trainer_defaults={"max_time": timedelta(seconds=job.seconds), "enable_model_summary": False},
        run=False,
        args=["--config", str(config)],
    )
    started = perf_counter()
    made.trainer.fit(made.model, made.datamodule)
    training_seconds = perf_counter() - started
    if best := made.trainer.checkpoint_callback.best_model_path:  # none if not even an epoch was completed
        made.model.load_state_dict(torch.load(best, weights_only=False)["state_dict"])
    of_test = partial(decode, model=made.model, words=made.datamodule)
    finish(job, made.model, training_seconds, of_test, ["torch", "yoyodyne", "lightning"])
