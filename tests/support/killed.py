"""Run a recipe that is killed as by `kill -9`: `python -m support.killed PLACE NUMBER script.py ...`.

The process receives SIGKILL when it reaches the PLACE, one of `PLACES`, for the NUMBER-th time, after half of the work
there.
"""

import gc
import itertools
import multiprocessing
import os
import runpy
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import modeling_utils

from atenta.recipes.training import checkpoints, trainer

FOLDERS = SimpleNamespace(
    rmtree=shutil.rmtree
)  # replaces shutil in `checkpoints` only, because libraries delete folders too


def write_half(tensors: Any, path: str, **options: Any) -> None:
    """Write the first half of a file of weights."""
    save_file(tensors, path, **options)
    os.truncate(path, Path(path).stat().st_size // 2)


def delete_half(folder: Path) -> None:
    """Delete one file of a checkpoint."""
    (folder / "optimizer.pt").unlink()


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing, so that the process is killed before the work."""


PLACES: dict[str, tuple[Any, str, Callable]] = {
    "step": (trainer.RecipeTrainer, "training_step", nothing),
    "weights": (modeling_utils, "safe_save_file", write_half),
    "states": (torch, "save", nothing),  # of optimizer, schedule and random numbers, and the options
    "mark": (checkpoints, "mark_complete", nothing),
    "deletion": (FOLDERS, "rmtree", delete_half),
}


def kill_at(place: str, number: int) -> None:
    """Let this process be killed when it reaches a place for the `number`-th time, counted from 1."""
    checkpoints.shutil = FOLDERS
    owner, name, half = PLACES[place]
    function, times = getattr(owner, name), itertools.count(1)

    def dying(*arguments: Any, **options: Any) -> Any:
        if next(times) == number:
            half(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)

    setattr(owner, name, dying)


# Its processes are forks of one that has imported the recipes, which takes seconds.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [f"atenta.recipes.{name}" for name in ("finetune_classification", "pretrain_causal", "pretrain_denoising")]
)


def run_fork(
    folder: Path, printed: Path, killed_at: tuple[str, int] | None, *words: str, seconds: float = 300
) -> int | None:
    """Run a script with its options in a folder, with a file for what it prints.

    `killed_at` is as in [`kill_at`]. Returns the exit status, None if it was killed after the `seconds`.
    """
    process = FORKS.Process(target=_run_script, args=(folder, printed, killed_at, words))
    process.start()
    process.join(seconds)
    status = process.exitcode
    process.kill()
    process.join()
    return status


def _run_script(folder: Path, printed: Path, killed_at: tuple[str, int] | None, words: Sequence[str]) -> None:
    gc.freeze()  # what was imported: each training asks for a collection
    os.chdir(folder)
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if killed_at:
        kill_at(*killed_at)
    sys.argv = [*words]
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    _, place, number, *sys.argv = sys.argv
    kill_at(place, int(number))
    runpy.run_path(sys.argv[0], run_name="__main__")
