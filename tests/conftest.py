"""Settings of every test: no network, one thread a process, the same random numbers each time."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is imported, in child processes too

import pytest
from hypothesis import settings
from transformers import set_seed

settings.register_profile("no deadlines", deadline=None)  # a busy machine is no failure
settings.load_profile("no deadlines")


@pytest.fixture(autouse=True)
def _same_random_numbers():
    set_seed(0)
