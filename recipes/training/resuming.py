"""Resuming a run from a checkpoint with changed options: which may change, and how the change takes effect."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import EarlyStoppingCallback, Trainer

from atenta.recipes.option_annotations import Mark
from atenta.recipes.training.checkpoints import is_listed, read_data, trained_steps
from atenta.recipes.training.runs import Run, as_typed

_OF_A_GROUP = ("lr", "initial_lr", "betas", "eps", "weight_decay", "momentum")  # options that an optimizer's state has


def expect_same_data(checkpoint: Path, digests: Mapping[str, str], named: bool) -> list[str]:
    """Check that the data are those that a checkpoint was trained with, and return what differs.

    Args:
        checkpoint: The checkpoint.
        digests: The digests of the data by their names.
        named: Whether `resume_from_checkpoint` names it, which lets rows differ, but not ids.

    Raises:
        SystemExit: If other data differ.
    """
    if not is_listed(checkpoint):
        print(f"{checkpoint} is of an earlier version: whether its files and data are the same is unknown.")
        return []
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
    before = read_data(checkpoint)["options"] if is_listed(checkpoint) else None
    if not before or not run.options:  # of an earlier version, or a run that keeps no options
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
    data = read_data(checkpoint) if is_listed(checkpoint) else {}
    earlier = dict(data.get("earlier options", {}))
    if changed:
        earlier[str(trained_steps(checkpoint))] = {**changed, **data.get("settled", {})}
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
    if isinstance(schedule, LambdaLR):  # those that follow the scores begin again with the rate of this run
        schedule.base_lrs = [group["initial_lr"] for group in groups]
        schedule._last_lr = [
            rate * scale(schedule.last_epoch) for rate, scale in zip(schedule.base_lrs, schedule.lr_lambdas)
        ]
        for group, rate in zip(trainer.optimizer.param_groups, schedule._last_lr):
            group["lr"] = rate.clone() if isinstance(rate, torch.Tensor) else rate


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
