"""Checkpoints that are whole or not there, and going on from the last one when the same command is given again."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import yaml
from transformers import TrainerState
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint

from atenta.recipes.training.options import RecipeArguments

WHOLE = "whole"  # an empty file, written into a checkpoint's folder last and deleted from it first
OPTIONS = "options.yaml"
# What may differ between the command that was stopped and the one that goes on: it does not touch the training.
_INCIDENTAL = {
    *("resume_from_checkpoint", "overwrite_output_dir", "config", "report_to", "run_name", "logging_dir"),
    *("disable_tqdm", "log_level", "dataloader_pin_memory", "local_rank", "ddp_timeout"),
    *("push_to_hub", "hub_token", "hub_model_id", "hub_private_repo"),
    *("num_beams", "num_return_sequences", "prompt", "sample_length"),  # how a run that ended is scored and shown
}


def mark_whole(checkpoint: Path) -> None:
    """Say that a checkpoint has been written to its end, by every process."""
    (checkpoint / WHOLE).touch()


def unmark(checkpoint: Path) -> None:
    """Say that a checkpoint, if there is one, is about to be deleted or written anew."""
    (checkpoint / WHOLE).unlink(missing_ok=True)


def checkpoints_of(folder: Path) -> list[Path]:
    """Return the checkpoints that transformers' Trainer left in a folder, whole or not, the oldest of them first."""
    found = folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")
    return sorted((path for path in found if path.name.rpartition("-")[2].isdecimal()), key=step_of)


def step_of(checkpoint: Path) -> int:
    """Return the number of optimizer steps at which a checkpoint was written."""
    return int(checkpoint.name.rpartition("-")[2])


def delete_checkpoint(checkpoint: Path) -> None:
    """Delete a checkpoint, so that one half deleted is not taken for a whole one either."""
    unmark(checkpoint)
    shutil.rmtree(checkpoint)


def delete_old_checkpoints(folder: Path, limit: int | None, best: str | None) -> None:
    """Keep the last `limit` checkpoints of a folder, all without a limit, and the best one."""
    for checkpoint in checkpoints_of(folder)[:-limit] if limit else []:
        if best is None or checkpoint.name != Path(best).name:
            delete_checkpoint(checkpoint)


def find_checkpoint(training: RecipeArguments, options: Sequence[Any]) -> Path | None:
    """Return the checkpoint to go on from: the one named, or the last whole one of the same command; or none.

    Checkpoints that are not whole are deleted, and with `overwrite_output_dir` all are. The options of the run are
    written to `options.yaml` in the output folder, which tells whether the command is the same. The main process
    does both; the others must wait for it, as in `training.main_process_first()`.

    Args:
        training: names the output folder.
        options: all dataclasses of options of the recipe, `training` among them.

    Raises:
        SystemExit: the checkpoint named is not a whole one, or the folder holds those of a run with other options, or
            a model or checkpoints that no recipe left.
    """
    folder = Path(training.output_dir)
    now = {"processes": training.world_size}
    now |= {name: value for one in options for name, value in _plain(asdict(one)).items() if name not in _INCIDENTAL}
    if training.resume_from_checkpoint:
        named = Path(training.resume_from_checkpoint)
        if not (named / WHOLE).is_file():
            raise SystemExit(f"--resume_from_checkpoint {named}: there is no whole checkpoint of a recipe.")
        _write_options(folder, training, now)
        return named
    others = [] if (folder / OPTIONS).is_file() else [*checkpoints_of(folder), *folder.glob("config.json")]
    if others and not training.overwrite_output_dir:
        raise SystemExit(
            f"{others[0]} is of no run of a recipe: there is no {OPTIONS} beside it. Give another --output_dir, or "
            "--overwrite_output_dir to replace it."
        )
    if training.process_index == 0:
        for checkpoint in checkpoints_of(folder):
            if training.overwrite_output_dir or not (checkpoint / WHOLE).is_file():
                delete_checkpoint(checkpoint)
    last = get_last_checkpoint(folder) if folder.is_dir() else None
    if last is not None:
        before = yaml.safe_load((folder / OPTIONS).read_text(encoding="utf-8"))
        named = (before.keys() | now.keys()) - _INCIDENTAL
        changed = [name for name in sorted(named) if before.get(name) != now.get(name)]
        if changed:
            differences = ", ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in changed)
            raise SystemExit(
                f"{last} is of a run with other options ({differences}). Give another --output_dir, or "
                "--overwrite_output_dir to train anew, or --resume_from_checkpoint to go on with the options changed."
            )
        return Path(last)
    _write_options(folder, training, now)
    return None


def is_finished(checkpoint: Path) -> bool:
    """Tell whether training had ended, by its number of steps or early, when a checkpoint was written."""
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    return state.stateful_callbacks["TrainerControl"]["args"]["should_training_stop"]


def _write_options(folder: Path, training: RecipeArguments, options: dict[str, Any]) -> None:
    if training.process_index == 0:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OPTIONS).write_text(yaml.safe_dump(options, allow_unicode=True, sort_keys=False), encoding="utf-8")


def _plain(value: Any) -> Any:
    """Return a value as YAML can hold it."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if type(value) in (int, float, bool, str, type(None)) else str(value)
