"""Checkpoints: what they were trained with, which are intact and kept, the mean of their weights, and resuming."""

import hashlib
import json
import math
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import datasets
import numpy
import torch
from accelerate.utils import broadcast_object_list
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_pt_utils import safe_globals
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, SaveStrategy

from atenta.recipes.option_annotations import Mark
from atenta.recipes.training.options import RecipeArguments

ANEW = "another --output_dir, or --overwrite_output_dir to start from the beginning"
"""The options that begin another run, for messages."""

# A file in the folder of a complete checkpoint, created last and deleted first: the JSON list of the other files with
# their sizes and SHA-256.
_MARK, _UNFINISHED = "whole", "whole.tmp"
_DATA = "data.json"
_HASHED_ROWS = 1_000  # rows that are hashed at once
_OF_A_GROUP = ("lr", "betas", "eps", "weight_decay", "momentum")  # options that an optimizer's state has


def mark_complete(checkpoint: Path, data: Mapping[str, Any]) -> None:
    """Record that every process has written its part of a checkpoint, and what it was trained with."""
    (checkpoint / _DATA).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name not in (_MARK, _UNFINISHED))
    listed = [
        {"file": path.relative_to(checkpoint).as_posix(), "size": path.stat().st_size, "sha256": _digest(path)}
        for path in files
    ]
    write_whole(checkpoint / _MARK, json.dumps(listed, indent=1) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a process that is killed meanwhile leaves no half-written one."""
    path.with_name(f"{path.name}.tmp").write_text(text, encoding="utf-8")
    path.with_name(f"{path.name}.tmp").replace(path)


def mark_incomplete(checkpoint: Path) -> None:
    """Record that the checkpoint, if it exists, is about to be deleted or overwritten."""
    (checkpoint / _MARK).unlink(missing_ok=True)


def is_complete(checkpoint: Path) -> bool:
    """Return whether every process has written its part of the checkpoint, and nothing has begun to delete it."""
    return (checkpoint / _MARK).is_file()


def read_data(checkpoint: Path) -> dict[str, Any]:
    """Return the data that `mark_complete` recorded."""
    return json.loads((checkpoint / _DATA).read_text(encoding="utf-8"))


def read_state(checkpoint: Path) -> TrainerState:
    """Return the Trainer's state in a checkpoint, which has its number of steps, whatever the name of its folder."""
    return TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))


def damage_of(checkpoint: Path, *, with_best: bool = False) -> str | None:
    """Return what is wrong with a checkpoint, or None.

    It must be complete, and each file that the mark lists must have its size and SHA-256; others are ignored. Pickles
    must hold nothing but tensors and plain values. The best checkpoint that it names is looked at likewise if training
    ends `with_best`.
    """
    if not is_complete(checkpoint):
        return "it is missing or incomplete"
    try:
        listed = [
            (each["file"], each["size"], each["sha256"])
            for each in json.loads((checkpoint / _MARK).read_text(encoding="utf-8"))
        ]
    except (ValueError, TypeError, KeyError):
        return f"{_MARK} is not the list of its files"
    for name, size, digest in listed:
        path = checkpoint / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size:,} bytes instead of {size:,}"
        if _digest(path) != digest:
            return f"{name} has other contents than when it was written"
        if path.parent == checkpoint and path.suffix in (".pt", ".pth"):
            try:
                with safe_globals():  # NumPy's state of random numbers, as transformers allows it
                    torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except Exception as error:  # torch has many for a file that is not a pickle of tensors
                return f"{name} cannot be read: {type(error).__name__}, {' '.join(str(error).split())[:200]}"
    if with_best and (best := best_of(checkpoint)) not in (None, checkpoint) and (damage := damage_of(best)):
        return f"its best checkpoint, {best}: {damage}"
    return None


def best_of(checkpoint: Path) -> Path | None:
    """Return the best checkpoint that a checkpoint names: beside it, as a folder may be moved, or where it was."""
    named = read_state(checkpoint).best_model_checkpoint
    if named is None:
        return None
    beside = checkpoint.with_name(Path(named).name)
    return beside if beside.is_dir() else Path(named)


def check_intact(checkpoints: Iterable[Path]) -> None:
    """Check the checkpoints with which training ends; one that is damaged ends the process with a line."""
    for checkpoint in checkpoints:
        if damage := damage_of(checkpoint):
            raise SystemExit(
                f"{checkpoint} is damaged ({damage}), and the run ends with its weights: put the file back, or give "
                "--resume_from_checkpoint with the last checkpoint and another choice of the weights to keep, such as "
                "--load_best_model_at_end false or fewer --average_last_checkpoints."
            )


def set_aside(checkpoint: Path, why: str) -> Path:
    """Add a word to the name of a checkpoint, so that nothing uses or replaces it, and return its new path."""
    names = (checkpoint.with_name(f"{checkpoint.name}.{why}{number or ''}") for number in count())
    return checkpoint.rename(next(path for path in names if not path.exists()))


def checkpoints_of(folder: Path) -> list[Path]:
    """Return the checkpoints that transformers' Trainer wrote to a folder, complete or not, oldest first."""
    found = folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")
    return sorted((path for path in found if path.name.rpartition("-")[2].isdecimal()), key=step_of)


def step_of(checkpoint: Path) -> int:
    """Return the number of optimizer steps after which the checkpoint was written."""
    return int(checkpoint.name.rpartition("-")[2])


def delete_checkpoint(checkpoint: Path) -> None:
    """Delete a checkpoint, marking it incomplete first in case the deletion is interrupted."""
    mark_incomplete(checkpoint)
    shutil.rmtree(checkpoint)


def delete_old_checkpoints(folder: Path, limit: int | None, best: str | None) -> None:
    """Delete all checkpoints but the last `limit` ones and the best one; without a limit, delete none."""
    for checkpoint in checkpoints_of(folder)[:-limit] if limit else []:
        if best is None or checkpoint.name != Path(best).name:
            delete_checkpoint(checkpoint)


def checkpoints_to_average(training: RecipeArguments, history: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Return the checkpoints whose mean a run ends with, the last or the best; none if it ends with a single one.

    A checkpoint's score is the one that the history has at its step; of equal scores, the later one is the better.

    Raises:
        ValueError: If there are fewer than the run averages.
    """
    found, what = checkpoints_of(Path(training.output_dir))[::-1], "checkpoints"
    if training.average_best_checkpoints:
        metric = f"eval_{str(training.metric_for_best_model).removeprefix('eval_')}"
        sign = 1 if training.greater_is_better else -1
        scores = {entry["step"]: sign * entry[metric] for entry in history if metric in entry}
        scored = [checkpoint for checkpoint in found if step_of(checkpoint) in scores]
        found, what = sorted(scored, key=lambda each: -scores[step_of(each)]), f"checkpoints with {metric}"
    number = training.average_last_checkpoints or training.average_best_checkpoints or 0
    if len(found) < number:
        folder = training.output_dir
        raise ValueError(
            f"Found {len(found)} {what} in {folder}; expected {number}: raise --save_total_limit, or save more often."
        )
    return found[:number]


def load_mean(model: PreTrainedModel, checkpoints: Sequence[Path]) -> None:
    """Load the arithmetic mean of the weights of checkpoints into a model (Vaswani et al., 2017, section 6.1).

    Sums are in float64. torch refuses the weights of another model by their names.
    """
    sums: dict[str, Any] = defaultdict(float)
    for checkpoint in checkpoints:
        weights = type(model).from_pretrained(checkpoint).state_dict()
        model.load_state_dict(weights)  # only to refuse the weights of another model: the mean replaces them
        for name, weight in weights.items():
            sums[name] = sums[name] + weight.double()
    model.load_state_dict({name: total / len(checkpoints) for name, total in sums.items()})


class CheckpointCallback(TrainerCallback):
    """Completes the checkpoints of a `RecipeTrainer`, and lets the options of its run hold when it is resumed.

    A checkpoint is complete once every process has written its part and what it was trained with is recorded; only
    then old ones are deleted.
    """

    def __init__(self, trainer: Trainer, save_total_limit: int | None) -> None:
        """Watch a trainer, and keep so many of its checkpoints, besides the best one; None keeps all."""
        self.trainer, self.save_total_limit = trainer, save_total_limit
        self.groups: list[dict[str, Any]] = []  # options of the optimizer, before a state is loaded
        self.changed: dict[str, Any] = {}  # options and rows, since the checkpoint that the run is resumed from
        self.earlier_options: dict[str, dict[str, Any]] = {}  # by the number of the last step that they held for

    def check(self, checkpoint: Path) -> bool:
        """Check that the run can go on from a checkpoint, and return whether training had ended there.

        Raises:
            SystemExit: If it cannot, because of other rows, another alphabet or model, or too few steps.
        """
        trainer, ended, earlier = self.trainer, False, {}
        changed: dict[str, Any] = {}
        if trainer.is_world_process_zero():
            data = read_data(checkpoint)
            rows = self._check_data(checkpoint, data)
            changed = self._changed_options(checkpoint, data["options"])
            changed |= {name: "others" for name in rows if name == "training rows" or not data["ended"]}
            earlier, ended = data["earlier options"], data["ended"] and not changed
            if changed:
                done = read_state(checkpoint).global_step
                steps = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())[-1]
                if done >= steps:
                    raise SystemExit(
                        f"{checkpoint} has {done:,} steps, and this run has {steps:,}: it would take none with the "
                        f"changed {', '.join(changed)}. Raise --max_steps or --num_train_epochs, or resume from an "
                        "earlier checkpoint, or leave the options as they were."
                    )
                earlier[str(done)] = {**changed, **data["settled"]}
        ended, self.changed, self.earlier_options = broadcast_object_list([ended, changed, earlier])
        return ended

    def _check_data(self, checkpoint: Path, before: Mapping[str, Any]) -> list[str]:
        """Return which rows differ from those of a checkpoint, which only a checkpoint that is named allows."""
        changed = [name for name, digest in self.digests.items() if before.get(name) != digest]
        if "test rows" in changed:
            changed.remove("test rows")
            print(f"The test rows have changed since {checkpoint} was written: they are scored now.", flush=True)
        only_rows = all(name.endswith("rows") for name in changed)
        if changed and only_rows and self.trainer.args.resume_from_checkpoint:
            print(f"{checkpoint} is resumed with other {' and '.join(changed)}.", flush=True)
        elif changed:
            resume = f", or --resume_from_checkpoint {checkpoint} to train it further on the new rows" * only_rows
            raise SystemExit(
                f"{checkpoint} belongs to a run with other {' and '.join(changed)}. Give the earlier data, "
                f"or {ANEW}{resume}."
            )
        return changed

    def _changed_options(self, checkpoint: Path, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of training that differ from those of a checkpoint, with their values then."""
        run = self.trainer.run
        if not before or not run.options:  # a run that keeps no options
            return {}
        changed = run.changed_since(before)
        if fixed := {name: value for name, value in changed.items() if Mark.FIXED in run.marks(name)}:
            raise SystemExit(
                f"{checkpoint} cannot be resumed with another model or optimizer ({run.describe_changes(fixed)}): "
                f"leave it as it was, or {ANEW}."
            )
        return {name: value for name, value in changed.items() if Mark.AFTER_TRAINING not in run.marks(name)}

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what decides the weights and the meaning of ids, and of the test rows, by a name to print."""
        trainer = self.trainer
        vocabulary, config = trainer.processing_class.get_vocab(), trainer.model.config
        tags = set(getattr(config, "tag_token_ids", None) or [])
        tokens = sorted(vocabulary.items(), key=lambda pair: pair[1])
        parts = {
            "alphabet": [token for token, index in tokens if index not in tags],
            "tags": [pair for pair in tokens if pair[1] in tags],
            "labels": sorted((getattr(config, "id2label", None) or {}).items()),
            "positions": getattr(config, "rotary_cross_attention", None),  # weights fit a model with others
        }
        return {
            "training rows": digest_rows(trainer.train_dataset, trainer.run.options.get("train_file") or []),
            "validation rows": digest_rows(trainer.eval_dataset),
            "test rows": digest_rows(trainer.test_dataset),
            **{name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()},
        }

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Let the options of this run hold for what was loaded; find the best checkpoint of a folder that moved.

        Raises:
            SystemExit: If fewer checkpoints will be written than are averaged.
        """
        trainer = self.trainer
        if (checkpoint := trainer.run.checkpoint) is None:
            by_step = args.save_strategy == SaveStrategy.STEPS
            written = math.ceil(state.max_steps / state.save_steps if by_step else state.num_train_epochs)
            number = args.average_last_checkpoints or args.average_best_checkpoints or 0
            if written < number and args.save_strategy != SaveStrategy.BEST:  # which nobody knows before
                how = "lower --save_steps" if by_step else "raise --num_train_epochs"
                raise SystemExit(
                    f"This run writes {written} checkpoint{'s' * (written != 1)} in {state.max_steps:,} steps; "
                    f"expected at least the {number} that are averaged: {how}, or average fewer."
                )
            return
        best = best_of(checkpoint)
        state.best_model_checkpoint = best and str(best)
        if best is not None and not is_complete(best):  # deleted when a later checkpoint was better
            state.best_metric = state.best_model_checkpoint = state.best_global_step = None
        if self.changed:
            self._apply_to_optimizer()
        state.compute_steps(args, state.max_steps)
        if "validation rows" in self.changed or any(Mark.RANKING in trainer.run.marks(name) for name in self.changed):
            state.best_metric = state.best_model_checkpoint = state.best_global_step = None
        for callback in trainer.callback_handler.callbacks:
            if isinstance(callback, EarlyStoppingCallback):
                callback.early_stopping_patience = args.early_stopping_patience

    def _apply_to_optimizer(self) -> None:
        """Let the options of this run hold for the optimizer and the schedule that were loaded."""
        schedule, loaded = self.trainer.lr_scheduler, self.trainer.optimizer.param_groups
        for group, own in zip(loaded, self.groups, strict=True):
            group.update({name: own[name] for name in _OF_A_GROUP if name in own and name in group})
            group["initial_lr"] = own["lr"]
        if isinstance(schedule, LambdaLR):  # those that follow the scores begin again with the rate of this run
            schedule.base_lrs = [own["lr"] for own in self.groups]
            scales = [scale(schedule.last_epoch) for scale in schedule.lr_lambdas]
            schedule._last_lr = [rate * scale for rate, scale in zip(schedule.base_lrs, scales)]
            for group, rate in zip(loaded, schedule._last_lr):
                group["lr"] = rate

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        """Log before each checkpoint, which does not hold the losses since the last log."""
        control.should_log |= control.should_save
        return control

    on_epoch_end = on_step_end

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Complete the checkpoint once every process has written its part, and only then delete old ones."""
        folder = Path(args.output_dir)
        self.trainer.accelerator.wait_for_everyone()
        if args.should_save:
            data = {
                **self.digests,
                "options": self.trainer.run.options,
                "settled": {name: getattr(args, name) for name in ("learning_rate", "warmup_steps")},
                "earlier options": self.earlier_options,
                "ended": control.should_training_stop,  # by the number of steps, or early
            }
            mark_complete(folder / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}", data)
            delete_old_checkpoints(folder, self.save_total_limit, best=state.best_model_checkpoint)
        self.trainer.accelerator.wait_for_everyone()

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Check the best checkpoint at the end of training: the mean loss is logged before its weights are loaded."""
        ends = "train_loss" in (logs or {}) and args.load_best_model_at_end and state.best_model_checkpoint
        if ends and state.is_world_process_zero:
            check_intact([Path(state.best_model_checkpoint)])


def digest_rows(rows: datasets.Dataset | datasets.IterableDataset | None, files: Iterable[str] = ()) -> str:
    """Return the SHA-256 of the names, types and values of rows, in their order, however they are stored.

    Of a stream, whose rows are not known before they are read, the names and sizes of its files are hashed instead: a
    change that keeps the size is not seen, nor is any of a data set on the Hub.
    """
    digest = hashlib.sha256()
    if isinstance(rows, datasets.IterableDataset):
        digest.update(json.dumps([(Path(file).name, Path(file).stat().st_size) for file in files]).encode())
    elif rows is not None:
        for batch in rows.with_format("arrow").iter(_HASHED_ROWS):
            # `take` makes a copy, whose buffers hold these rows and nothing else.
            table = batch.take(numpy.arange(len(batch))).combine_chunks().replace_schema_metadata(None)
            digest.update(str(table.schema).encode())
            for record in table.to_batches():
                digest.update(record.serialize())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
