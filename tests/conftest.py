"""Settings of all tests: no network, one thread per process by default, and the same random numbers every time."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, in child processes too

import pytest
from hypothesis import settings
from transformers import set_seed

settings.register_profile("no deadlines", deadline=None)  # a busy machine must not fail a test
settings.load_profile("no deadlines")


@pytest.fixture(autouse=True)
def _same_random_numbers():
    set_seed(0)
