import os

import pytest
import torch

from atenta.recipes.cores import use_all_cores


@pytest.fixture(autouse=True)
def _threads_as_before():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1"}, 8),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "4"}, 2),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "16"}, 1),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 3),
    ],
)
def test_cores_are_shared_out_only_where_accelerate_gave_one_thread(monkeypatch, environment, threads):
    monkeypatch.delenv("ACCELERATE_MIXED_PRECISION", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    torch.set_num_threads(3)
    use_all_cores()
    assert torch.get_num_threads() == threads
