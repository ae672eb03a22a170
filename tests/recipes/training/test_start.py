"""The first step: cores shared out, a seed set, and as many processes seen as were started."""

import os

import pytest
import torch

from atenta.recipes.training import RecipeArguments, start
from atenta.recipes.training.checkpoints import mark_whole
from atenta.recipes.training.start import use_all_cores


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


def training(folder, **options):
    return RecipeArguments(output_dir=str(folder), use_cpu=True, report_to="none", **options)


def test_it_sets_the_seed_and_finds_the_checkpoint(tmp_path):
    assert start(training(tmp_path, seed=3)) is None
    first = torch.rand(4)
    (tmp_path / "checkpoint-5").mkdir()
    mark_whole(tmp_path / "checkpoint-5")
    assert start(training(tmp_path, seed=3)) == tmp_path / "checkpoint-5"
    assert torch.equal(torch.rand(4), first)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), first)


def test_processes_that_do_not_see_each_other_are_an_error(tmp_path, monkeypatch):
    arguments = training(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit, match="2 processes were started, but this one sees 1: on CPUs give --use_cpu true"):
        start(arguments)
