"""How many CPU cores a recipe computes on."""

import os

import torch


def use_all_cores() -> None:
    """Share the machine's cores out over its processes where `accelerate launch` gave each one thread.

    It does so unless OMP_NUM_THREADS or `--num_cpu_threads_per_process` say more, which makes training on two cores
    take twice as long. A recipe started by `python` or `torchrun` computes on what OMP_NUM_THREADS says.
    """
    launched_by_accelerate = "ACCELERATE_MIXED_PRECISION" in os.environ
    if launched_by_accelerate and os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
