"""Settings of all tests: no network, one thread per process by default, and the same random numbers every time."""

import os
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, in child processes too

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright
from transformers import set_seed

settings.register_profile("no deadlines", deadline=None)  # a busy machine must not fail a test
settings.load_profile("no deadlines")


@pytest.fixture(autouse=True)
def _same_random_numbers():
    set_seed(0)


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for the tests of the demo and of the site: two would be one too many in a process."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
