"""The first step of a recipe: cores, seed, and the checkpoint to go on from."""

import os
from pathlib import Path
from typing import Any

import torch
from transformers import logging, set_seed

from atenta.recipes.training.checkpoints import find_checkpoint
from atenta.recipes.training.options import RecipeArguments


def start(*options: Any) -> Path | None:
    """Set cores and seed, and return the checkpoint of the same command to go on from, if there is one.

    Args:
        options: the recipe's dataclasses of options, `RecipeArguments` last.

    Raises:
        SystemExit: as in `find_checkpoint`.
    """
    training: RecipeArguments = options[-1]
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if launched != training.world_size:
        raise SystemExit(
            f"{launched} processes were started, but this one sees {training.world_size}: on CPUs give "
            "--use_cpu true, or set ACCELERATE_USE_CPU=true."
        )
    use_all_cores()
    logging.disable_progress_bar()  # those of saving and loading, which take no time here
    set_seed(training.seed)
    with training.main_process_first():
        return find_checkpoint(training, options)


def use_all_cores() -> None:
    """Share the machine's cores out over its processes where `accelerate launch` gave each one thread.

    It does so unless OMP_NUM_THREADS or `--num_cpu_threads_per_process` say more, which makes training on two cores
    take twice as long. A recipe started by `python` or `torchrun` computes on what OMP_NUM_THREADS says.
    """
    launched_by_accelerate = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched_by_accelerate and os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
