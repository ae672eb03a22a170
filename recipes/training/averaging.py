"""The mean of the weights of several checkpoints of a run, which often scores better than any one of them."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import PreTrainedModel, TrainerState
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from atenta.recipes.training.checkpoints import checkpoints_of, step_of


def average_checkpoints(folders: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Return the arithmetic mean of the weights of several checkpoints (Vaswani et al., 2017, section 6.1).

    It is computed in float32, or in a tensor's own type where that is wider, and returned in the tensor's type. Of
    tied weights there is one, as it is saved: [`load_weights`] puts all into a model.

    Args:
        folders: each with a `model.safetensors`, or with the shards of one.

    Raises:
        FileNotFoundError: a folder without them, such as that of a LoRA adapter.
        ValueError: there are no folders, or two differ in a tensor's presence, type or shape, or in the values of one
            that is not floating-point and so has no mean. The message names the first that differs.
    """
    if not folders:
        raise ValueError("Found no checkpoints to average; expected one at least.")
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
                raise ValueError(f"{name} is {expected} in {folders[0]} and {found} in {folder}: they have no mean.")
            if weights[name].is_floating_point():
                sums[name] += weights[name]
            elif not torch.equal(weights[name], sums[name]):
                raise ValueError(f"{name} differs in {folders[0]} and {folder}, and only floating-point has a mean.")
    return {
        name: (total / len(folders)).to(first[name].dtype) if total.is_floating_point() else total
        for name, total in sums.items()
    }


def load_weights(model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
    """Give a model all its weights, as [`average_checkpoints`] returns them; tied ones stay tied.

    Raises:
        ValueError: a weight of the model is missing, or one is too many.
        RuntimeError: one has another shape.
    """
    missing, unexpected = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if name not in model.all_tied_weights_keys]
    if missing or unexpected:
        raise ValueError(f"These weights are not of this model: missing are {missing}, too many are {unexpected}.")


def last_checkpoints(folder: Path, n: int) -> list[Path]:
    """Return the last `n` checkpoints that transformers' Trainer left in a folder, the oldest of them first.

    Raises:
        ValueError: there are fewer, or `n` is not positive.
    """
    return _take(n, checkpoints_of(folder)[::-1], f"checkpoints in {folder}")[::-1]


def best_checkpoints(folder: Path, n: int, metric: str, greater_is_better: bool) -> list[Path]:
    """Return the `n` checkpoints with the best validation score, best first; of equal ones the later comes first.

    The score is the one that was logged at the checkpoint's step; checkpoints without one are passed over.

    Args:
        folder: the Trainer's output folder.
        n: how many.
        metric: name of the score, with or without `eval_`, as in `metric_for_best_model`.
        greater_is_better: whether the best is the highest.

    Raises:
        ValueError: there are fewer, or `n` is not positive.
    """
    metric = f"eval_{metric.removeprefix('eval_')}"
    scores = {}
    for checkpoint in checkpoints_of(folder):
        for entry in TrainerState.load_from_json(str(checkpoint / "trainer_state.json")).log_history:
            if entry["step"] == step_of(checkpoint) and metric in entry:
                scores[checkpoint] = entry[metric] if greater_is_better else -entry[metric]
    best = sorted(scores, key=lambda checkpoint: (scores[checkpoint], step_of(checkpoint)), reverse=True)
    return _take(n, best, f"checkpoints with {metric} in {folder}")


def _take(n: int, checkpoints: list[Path], what: str) -> list[Path]:
    if n < 1:
        raise ValueError(f"Asked for {n} {what}; expected a positive number.")
    if len(checkpoints) < n:
        raise ValueError(f"Found {len(checkpoints)} {what}; expected {n} at least: raise --save_total_limit.")
    return checkpoints[:n]


def _describe(weight: torch.Tensor | None) -> str:
    return "missing" if weight is None else f"{weight.dtype} of shape {tuple(weight.shape)}"


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Read the tensors that `save_pretrained` wrote, in one file or several."""
    index = folder / SAFE_WEIGHTS_INDEX_NAME
    files = {SAFE_WEIGHTS_NAME}
    if index.is_file():
        files = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    weights = {}
    for file in sorted(files):
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{folder} holds no {file}; expected the weights of a whole model.")
        weights |= load_file(folder / file)
    return weights
