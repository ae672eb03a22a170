"""The start of a run and its checkpoints: which one is resumed, which are kept, and the mean of their weights."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import load_file
from transformers import PreTrainedModel, TrainerState, logging, set_seed
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from atenta.recipes.training.options import RecipeArguments

_MARK = "whole"  # an empty file in the folder of a complete checkpoint: created last, deleted first
_OPTIONS = "options.yaml"
# Options that may change when a run is resumed: they have no effect on training.
_INCIDENTAL = {
    *("resume_from_checkpoint", "overwrite_output_dir", "config", "report_to", "run_name", "logging_dir"),
    *("disable_tqdm", "log_level", "dataloader_pin_memory", "local_rank", "ddp_timeout"),
    *("push_to_hub", "hub_token", "hub_model_id", "hub_private_repo"),
    # For scoring and showing a finished run.
    *("num_beams", "num_return_sequences", "keep_letters", "prompt", "sample_length"),
}


def start_run(*options: Any) -> Path | None:
    """Set the number of threads and the seed, and return the checkpoint to resume from, if there is one.

    Args:
        options: The dataclasses of options of the recipe, `RecipeArguments` last.

    Raises:
        SystemExit: If the launched processes do not see each other, or as in `checkpoint_to_resume`.
    """
    training: RecipeArguments = options[-1]
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if launched != training.world_size:
        raise SystemExit(
            f"{launched} processes were started, but this process sees {training.world_size}. On CPUs give "
            "--use_cpu true, or set ACCELERATE_USE_CPU=true."
        )
    use_all_cores()
    logging.disable_progress_bar()  # saving and loading take no time at these sizes
    set_seed(training.seed)
    with training.main_process_first():
        return checkpoint_to_resume(training, options)


def use_all_cores() -> None:
    """Divide the cores of the machine among its processes if `accelerate launch` gave each process one thread.

    `accelerate launch` sets OMP_NUM_THREADS to 1 unless it or `--num_cpu_threads_per_process` is given, and training
    on two cores then takes twice as long. A recipe started by `python` or `torchrun` keeps the number of threads that
    OMP_NUM_THREADS sets.
    """
    launched_by_accelerate = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched_by_accelerate and os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


def checkpoint_to_resume(training: RecipeArguments, options: Sequence[Any]) -> Path | None:
    """Return the checkpoint to resume from, or None to start from the beginning.

    This is the checkpoint named by `resume_from_checkpoint`, or else the last complete one of the same command.
    Incomplete checkpoints are deleted; with `overwrite_output_dir` all are. The options are written to `options.yaml`
    in the output folder; a later run is the same command if its options are the same. The main process does both, so
    the others must wait for it, as in `training.main_process_first()`.

    Args:
        training: Names the output folder.
        options: All dataclasses of options of the recipe, including `training`.

    Raises:
        SystemExit: If the named checkpoint is missing or incomplete, or the folder holds checkpoints of a run with
            other options, or a model or checkpoints that were not written by a recipe.
    """
    folder = Path(training.output_dir)
    now = {"processes": training.world_size}
    now |= {name: value for one in options for name, value in _plain(asdict(one)).items() if name not in _INCIDENTAL}
    if training.resume_from_checkpoint:
        named = Path(training.resume_from_checkpoint)
        if not (named / _MARK).is_file():
            raise SystemExit(f"--resume_from_checkpoint {named}: expected a complete checkpoint of a recipe.")
        _write_options(folder, training, now)
        return named
    foreign = [] if (folder / _OPTIONS).is_file() else [*checkpoints_of(folder), *folder.glob("config.json")]
    if foreign and not training.overwrite_output_dir:
        raise SystemExit(
            f"{foreign[0]} was not written by a recipe: there is no {_OPTIONS} next to it. Give another --output_dir, "
            "or --overwrite_output_dir to replace it."
        )
    if training.process_index == 0:
        for checkpoint in checkpoints_of(folder):
            if training.overwrite_output_dir or not (checkpoint / _MARK).is_file():
                delete_checkpoint(checkpoint)
    last = get_last_checkpoint(folder) if folder.is_dir() else None
    if last is None:
        _write_options(folder, training, now)
        return None
    before = yaml.safe_load((folder / _OPTIONS).read_text(encoding="utf-8"))
    names = sorted((before.keys() | now.keys()) - _INCIDENTAL)
    changed = [name for name in names if before.get(name) != now.get(name)]
    if changed:
        differences = ", ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in changed)
        raise SystemExit(
            f"{last} belongs to a run with other options ({differences}). Give another --output_dir, or "
            "--overwrite_output_dir to start from the beginning, or --resume_from_checkpoint to resume with the "
            "changed options."
        )
    return Path(last)


def is_finished(checkpoint: Path) -> bool:
    """Return whether training had ended, by its number of steps or early, when the checkpoint was written."""
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    return state.stateful_callbacks["TrainerControl"]["args"]["should_training_stop"]


def mark_complete(checkpoint: Path) -> None:
    """Record that every process has written its part of the checkpoint."""
    (checkpoint / _MARK).touch()


def mark_incomplete(checkpoint: Path) -> None:
    """Record that the checkpoint, if it exists, is about to be deleted or overwritten."""
    (checkpoint / _MARK).unlink(missing_ok=True)


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


def newest_checkpoints(folder: Path, n: int) -> list[Path]:
    """Return the last `n` checkpoints that transformers' Trainer wrote to a folder, oldest first.

    Raises:
        ValueError: If there are fewer, or `n` is not positive.
    """
    return _take(n, checkpoints_of(folder)[::-1], f"checkpoints in {folder}")[::-1]


def best_checkpoints(folder: Path, n: int, metric: str, greater_is_better: bool) -> list[Path]:
    """Return the `n` checkpoints with the best validation scores, best first; of equal scores, the later one first.

    A checkpoint's score is the one logged at its step. Checkpoints without one are ignored.

    Args:
        folder: The Trainer's output folder.
        n: Number of checkpoints.
        metric: Name of the score, with or without `eval_`, as in `metric_for_best_model`.
        greater_is_better: Whether the highest score is the best.

    Raises:
        ValueError: If there are fewer, or `n` is not positive.
    """
    metric = f"eval_{metric.removeprefix('eval_')}"
    scores = {}
    for checkpoint in checkpoints_of(folder):
        for entry in TrainerState.load_from_json(str(checkpoint / "trainer_state.json")).log_history:
            if entry["step"] == step_of(checkpoint) and metric in entry:
                scores[checkpoint] = entry[metric] if greater_is_better else -entry[metric]
    best = sorted(scores, key=lambda checkpoint: (scores[checkpoint], step_of(checkpoint)), reverse=True)
    return _take(n, best, f"checkpoints with {metric} in {folder}")


def average_checkpoints(folders: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Return the arithmetic mean of the weights of several checkpoints (Vaswani et al., 2017, section 6.1).

    The mean is computed in float32, or in a tensor's own type if that is wider, and returned in the tensor's type.
    Tied weights are returned once, as they are saved; [`load_weights`] sets all of them.

    Args:
        folders: Each holds a `model.safetensors` or its shards.

    Raises:
        FileNotFoundError: If a folder holds no such file, as with a LoRA adapter.
        ValueError: If there are no folders, or a tensor is missing in one of them, or differs in type, in shape or,
            if it is not floating-point, in its values. The message names the first such tensor.
    """
    if not folders:
        raise ValueError("Found no checkpoints to average; expected at least one.")
    first = _read_weights(folders[0])
    sums = {
        name: weight.to(torch.promote_types(weight.dtype, torch.float32)) if weight.is_floating_point() else weight
        for name, weight in first.items()
    }
    for folder in folders[1:]:
        weights = _read_weights(folder)
        for name in sorted(first.keys() | weights.keys()):
            expected, found = _describe(first.get(name)), _describe(weights.get(name))
            if expected != found:
                raise ValueError(f"{name} is {expected} in {folders[0]} and {found} in {folder}; cannot average it.")
            if weights[name].is_floating_point():
                sums[name] += weights[name]
            elif not torch.equal(weights[name], sums[name]):
                raise ValueError(
                    f"{name} differs between {folders[0]} and {folder}; only floating-point tensors are averaged."
                )
    return {
        name: (total / len(folders)).to(first[name].dtype) if total.is_floating_point() else total
        for name, total in sums.items()
    }


def load_weights(model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
    """Load the weights that [`average_checkpoints`] returns into a model; tied weights stay tied.

    Raises:
        ValueError: If a weight of the model is missing, or one is unexpected.
        RuntimeError: If a weight has another shape.
    """
    missing, unexpected = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if name not in model.all_tied_weights_keys]
    if missing or unexpected:
        raise ValueError(f"These are the weights of another model: missing {missing}, unexpected {unexpected}.")


def _write_options(folder: Path, training: RecipeArguments, options: dict[str, Any]) -> None:
    if training.process_index == 0:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _OPTIONS).write_text(yaml.safe_dump(options, allow_unicode=True, sort_keys=False), encoding="utf-8")


def _plain(value: Any) -> Any:
    """Convert a value to one that YAML can hold."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if type(value) in (int, float, bool, str, type(None)) else str(value)


def _take(n: int, checkpoints: list[Path], what: str) -> list[Path]:
    if n < 1:
        raise ValueError(f"Asked for {n} {what}; expected a positive number.")
    if len(checkpoints) < n:
        raise ValueError(f"Found {len(checkpoints)} {what}; expected at least {n}: raise --save_total_limit.")
    return checkpoints[:n]


def _describe(weight: torch.Tensor | None) -> str:
    return "missing" if weight is None else f"{weight.dtype} of shape {tuple(weight.shape)}"


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Read the tensors that `save_pretrained` wrote, in one file or several."""
    index = folder / SAFE_WEIGHTS_INDEX_NAME
    files = {SAFE_WEIGHTS_NAME}
    if index.is_file():
        files = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    weights: dict[str, torch.Tensor] = {}
    for file in sorted(files):
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{folder} holds no {file}; expected the weights of a complete model.")
        weights |= load_file(folder / file)
    return weights
