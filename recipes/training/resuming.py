"""Writing checkpoints, and resuming a run from one: its data must be the same, and changed options take effect."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy
from accelerate.utils import broadcast_object_list
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from atenta.recipes.option_annotations import Mark
from atenta.recipes.training.checkpoints import (
    best_of,
    delete_old_checkpoints,
    expect_intact,
    mark_complete,
    read_data,
    trained_steps,
)
from atenta.recipes.training.runs import Run, as_typed

_HASHED_ROWS = 1_000  # rows that are hashed at once
_OF_A_GROUP = ("lr", "betas", "eps", "weight_decay", "momentum")  # options that an optimizer's state has


class CheckpointCallback(TrainerCallback):
    """Completes the checkpoints of a `RecipeTrainer`, and lets the options of its run hold when it is resumed.

    A checkpoint is complete once every process has written its part and what it was trained with is recorded; only
    then old ones are deleted.
    """

    def __init__(self, trainer: Trainer, save_total_limit: int | None) -> None:
        """Watch a trainer, and keep so many of its checkpoints, besides the best one; None keeps all."""
        self.trainer, self.save_total_limit = trainer, save_total_limit
        self.groups: list[dict[str, Any]] = []  # options of the optimizer, before a state is loaded
        self.changed_options: dict[str, Any] = {}  # since the checkpoint that the run is resumed from
        self.earlier_options: dict[str, dict[str, Any]] = {}  # by the number of the last step that they held for

    def check(self, checkpoint: Path) -> bool:
        """Check that the run can go on from a checkpoint, and return whether training had ended there.

        Raises:
            SystemExit: If it cannot, because of other rows, another alphabet or model, or too few steps.
        """
        trainer = self.trainer
        ended, changed, earlier = False, {}, {}
        if trainer.is_world_process_zero():
            rows = expect_same_data(checkpoint, self.digests, bool(trainer.args.resume_from_checkpoint))
            ended = read_data(checkpoint)["ended"]
            trained_on = {"training rows"} if ended else {"training rows", "validation rows"}
            changed = changed_options(checkpoint, trainer.run)
            changed |= {name: "others" for name in rows if name in trained_on}
            if changed:
                steps = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())[-1]
                expect_steps_left(checkpoint, list(changed), steps)
                ended = False
            earlier = earlier_options(checkpoint, changed)
        ended, self.changed_options, self.earlier_options = broadcast_object_list([ended, changed, earlier])
        return ended

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

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Let the options of this run hold for what was loaded; find the best checkpoint of a folder that moved."""
        checkpoint = self.trainer.run.checkpoint
        if checkpoint is None:
            return
        best = best_of(checkpoint)
        state.best_model_checkpoint = best and str(best)
        if self.changed_options:
            apply_options(self.trainer, self.groups)
        apply_to_callbacks(self.trainer, self.changed_options)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Complete the checkpoint once every process has written its part, and only then delete old ones."""
        folder = Path(args.output_dir)
        self.trainer.accelerator.wait_for_everyone()
        if args.should_save:
            data = {
                **self.digests,
                "options": dict(self.trainer.run.options),
                "settled": {name: getattr(args, name) for name in ("learning_rate", "warmup_steps")},
                "earlier options": self.earlier_options,
                "ended": control.should_training_stop,  # by the number of steps, or early
            }
            mark_complete(folder / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}", data)
            delete_old_checkpoints(folder, self.save_total_limit, best=state.best_model_checkpoint)
        self.trainer.accelerator.wait_for_everyone()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Check the best checkpoint at the end of training: the mean loss is logged before its weights are loaded."""
        ends = "train_loss" in (logs or {}) and args.load_best_model_at_end and state.best_model_checkpoint
        if ends and state.is_world_process_zero:
            expect_intact([Path(state.best_model_checkpoint)])


def digest_rows(rows: datasets.Dataset | datasets.IterableDataset | None, files: Iterable[str] = ()) -> str:
    """Return the SHA-256 of the names, types and values of rows, in their order, however they are stored.

    Args:
        rows: The rows. Of a stream, whose rows are not known before they are read, the names and sizes of its files
            are hashed instead: a change that keeps the size is not seen, nor is any of a data set on the Hub.
        files: The files that a stream is read from.
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


def expect_same_data(checkpoint: Path, digests: Mapping[str, str], named: bool) -> list[str]:
    """Check that the data are those that a checkpoint was trained with, and return what differs.

    Args:
        checkpoint: The checkpoint.
        digests: The digests of the data by their names.
        named: Whether `resume_from_checkpoint` names it, which lets rows differ, but not ids.

    Raises:
        SystemExit: If other data differ.
    """
    before = read_data(checkpoint)
    changed = [name for name, digest in digests.items() if before.get(name) != digest]
    if "test rows" in changed:
        changed.remove("test rows")
        print(f"The test rows have changed since {checkpoint} was written: they are scored now.", flush=True)
    only_rows = all(name.endswith("rows") for name in changed)
    if changed and only_rows and named:
        print(f"{checkpoint} is resumed with other {' and '.join(changed)}.", flush=True)
    elif changed:
        resume = f", or --resume_from_checkpoint {checkpoint} to train it further on the new rows" if only_rows else ""
        raise SystemExit(
            f"{checkpoint} belongs to a run with other {' and '.join(changed)}. Give the earlier data, or another "
            f"--output_dir, or --overwrite_output_dir to start from the beginning{resume}."
        )
    return changed


def changed_options(checkpoint: Path, run: Run) -> dict[str, Any]:
    """Return the options of training that differ from those of a checkpoint, with the values that it was trained with.

    Raises:
        SystemExit: If the state in the checkpoint does not fit one of them.
    """
    before = read_data(checkpoint)["options"]
    if not before or not run.options:  # a run that keeps no options
        return {}
    changed = run.changed_since(before)
    if fixed := [name for name in changed if Mark.FIXED in run.marks(name)]:
        words = (f"--{name} was {as_typed(changed[name])}, is {as_typed(run.options.get(name))}" for name in fixed)
        raise SystemExit(
            f"{checkpoint} cannot be resumed with another model or optimizer ({', '.join(words)}): leave it as it "
            "was, or give another --output_dir, or --overwrite_output_dir to start from the beginning."
        )
    return {name: value for name, value in changed.items() if Mark.AFTER_TRAINING not in run.marks(name)}


def earlier_options(checkpoint: Path, changed: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options that held up to a step and do not any more, by the number of that step.

    Args:
        checkpoint: The checkpoint that a run is resumed from, perhaps not for the first time.
        changed: What has changed since, as `changed_options` returns it.
    """
    data = read_data(checkpoint)
    earlier = dict(data["earlier options"])
    if changed:
        earlier[str(trained_steps(checkpoint))] = {**changed, **data["settled"]}
    return earlier


def expect_steps_left(checkpoint: Path, changed: list[str], steps: int) -> None:
    """Check that a run with changed options takes a step with them.

    Args:
        checkpoint: The checkpoint that it is resumed from.
        changed: Names of what has changed.
        steps: The steps of the run, with those of the checkpoint.

    Raises:
        SystemExit: If it takes none.
    """
    if (done := trained_steps(checkpoint)) >= steps:
        raise SystemExit(
            f"{checkpoint} has {done:,} steps, and this run has {steps:,}: it would take none with the changed "
            f"{', '.join(changed)}. Raise --max_steps or --num_train_epochs, or resume from an earlier checkpoint, or "
            "leave the options as they were."
        )


def apply_options(trainer: Trainer, groups: list[dict[str, Any]]) -> None:
    """Let the options of this run hold for an optimizer and a schedule whose states are those of a checkpoint.

    Args:
        trainer: Has the optimizer and the schedule.
        groups: The optimizer's groups before its state was loaded.
    """
    schedule = trainer.lr_scheduler
    for group, own in zip(trainer.optimizer.param_groups, groups, strict=True):
        group.update({name: own[name] for name in _OF_A_GROUP if name in own and name in group})
        group["initial_lr"] = own["lr"]
    if isinstance(schedule, LambdaLR):  # those that follow the scores begin again with the rate of this run
        schedule.base_lrs = [own["lr"] for own in groups]
        schedule._last_lr = [
            rate * scale(schedule.last_epoch) for rate, scale in zip(schedule.base_lrs, schedule.lr_lambdas)
        ]
        for group, rate in zip(trainer.optimizer.param_groups, schedule._last_lr):
            group["lr"] = rate


def apply_to_callbacks(trainer: Trainer, changed: Mapping[str, Any]) -> None:
    """Let the options of this run hold for a state and callbacks that have been loaded from a checkpoint."""
    state, args = trainer.state, trainer.args
    state.compute_steps(args, state.max_steps)
    if {
        "metric_for_best_model",
        "greater_is_better",
        "validation rows",
    } & changed.keys():  # scores that cannot be compared
        state.best_metric = state.best_model_checkpoint = state.best_global_step = None
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, EarlyStoppingCallback):
            callback.early_stopping_patience = args.early_stopping_patience
