"""Checkpoints: which ones are intact, which are kept, and the mean of their weights."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import PreTrainedModel, TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_pt_utils import safe_globals
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from atenta.recipes.training.options import RecipeArguments

# A file in the folder of a complete checkpoint, created last and deleted first: the JSON list of the other files with
# their sizes and SHA-256.
_MARK, _UNFINISHED = "whole", "whole.tmp"
_DATA = "data.json"


def mark_complete(checkpoint: Path, data: Mapping[str, Any]) -> None:
    """Record that every process has written its part of a checkpoint.

    Args:
        checkpoint: The checkpoint. The mark has the size and SHA-256 of each of its files.
        data: What it was trained with, and whether training had `ended`, as `read_data` returns it.
    """
    (checkpoint / _DATA).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name not in (_MARK, _UNFINISHED))
    listed = [
        {"file": path.relative_to(checkpoint).as_posix(), "size": path.stat().st_size, "sha256": _digest(path)}
        for path in files
    ]
    unfinished = checkpoint / _UNFINISHED
    unfinished.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    unfinished.rename(checkpoint / _MARK)  # a process that is killed leaves no half of it


def mark_incomplete(checkpoint: Path) -> None:
    """Record that the checkpoint, if it exists, is about to be deleted or overwritten."""
    (checkpoint / _MARK).unlink(missing_ok=True)


def is_complete(checkpoint: Path) -> bool:
    """Return whether every process has written its part of the checkpoint, and nothing has begun to delete it."""
    return (checkpoint / _MARK).is_file()


def read_data(checkpoint: Path) -> dict[str, Any]:
    """Return the data that `mark_complete` recorded."""
    return json.loads((checkpoint / _DATA).read_text(encoding="utf-8"))


def trained_steps(checkpoint: Path) -> int:
    """Return the number of optimizer steps of a checkpoint, whatever the name of its folder."""
    return _read_state(checkpoint).global_step


def damage_of(checkpoint: Path) -> str | None:
    """Return what is wrong with a checkpoint, or None.

    It must be complete, and each file that the mark lists must have its size and SHA-256; others are ignored. Pickles
    must hold nothing but tensors and plain values.
    """
    if not is_complete(checkpoint):
        return "it is missing or incomplete"
    try:
        listed = [
            (checkpoint / each["file"], each["size"], each["sha256"])
            for each in json.loads((checkpoint / _MARK).read_text(encoding="utf-8"))
        ]
    except (ValueError, TypeError, KeyError):
        return f"{_MARK} is not the list of its files"
    for path, size, digest in listed:
        name = path.relative_to(checkpoint).as_posix()
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
            except Exception as error:  # torch has many for a file that is no pickle of tensors
                return f"{name} cannot be read: {type(error).__name__}, {' '.join(str(error).split())[:200]}"
    return None


def newest_intact(checkpoints: Sequence[Path], *, with_best: bool) -> tuple[Path | None, dict[Path, str]]:
    """Return the newest checkpoint that is intact, if there is one, and what is wrong with those after it.

    Args:
        checkpoints: Complete checkpoints, oldest first.
        with_best: Whether the best checkpoint that it names must be intact too, because training ends with it.
    """
    damaged: dict[Path, str] = {}
    for checkpoint in reversed(checkpoints):
        damage = damage_of(checkpoint)
        if damage is None and with_best and (best := best_of(checkpoint)) not in (None, checkpoint):
            damage = (wrong := damage_of(best)) and f"its best checkpoint, {best}: {wrong}"
        if damage is None:
            return checkpoint, damaged
        damaged[checkpoint] = damage
    return None, damaged


def best_of(checkpoint: Path) -> Path | None:
    """Return the best checkpoint that a checkpoint names: where it was, or beside it if the folder has been moved."""
    named = _read_state(checkpoint).best_model_checkpoint
    if named is None:
        return None
    beside = checkpoint.with_name(Path(named).name)
    return beside if beside.is_dir() and not Path(named).is_dir() else Path(named)


def expect_intact(checkpoints: Sequence[Path]) -> None:
    """Check the checkpoints with which training ends.

    Raises:
        SystemExit: If one is damaged. The message says how to end with others.
    """
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


def checkpoints_to_average(training: RecipeArguments) -> list[Path]:
    """Return the checkpoints whose mean a run ends with, the last or the best; none if it ends with a single one.

    A checkpoint's score is the one logged at its step; of equal scores, the later one is the better. Checkpoints
    without one are ignored.

    Raises:
        ValueError: If there are fewer than the run averages.
    """
    found, what = checkpoints_of(Path(training.output_dir))[::-1], "checkpoints"
    if training.average_best_checkpoints:
        metric = f"eval_{str(training.metric_for_best_model).removeprefix('eval_')}"
        sign = 1 if training.greater_is_better else -1
        scores = {
            checkpoint: sign * entry[metric]
            for checkpoint in found
            for entry in _read_state(checkpoint).log_history
            if entry["step"] == step_of(checkpoint) and metric in entry
        }
        found, what = sorted(scores, key=scores.__getitem__, reverse=True), f"checkpoints with {metric}"
    number = training.average_last_checkpoints or training.average_best_checkpoints or 0
    if len(found) < number:
        folder = training.output_dir
        raise ValueError(f"Found {len(found)} {what} in {folder}; expected {number}: raise --save_total_limit.")
    return found[:number]


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


def _read_state(checkpoint: Path) -> TrainerState:
    return TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
