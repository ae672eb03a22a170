"""Settings of all tests: no network, one thread per process by default, and the same random numbers every time."""

import copy
import gc
import hashlib
import os
import pickle
import shutil
from functools import cache, partial

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, in child processes too

import pytest
from filelock import FileLock
from hypothesis import settings
from playwright.sync_api import sync_playwright

settings.register_profile("no deadlines", deadline=None)  # a busy machine must not fail a test
settings.load_profile("no deadlines")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while all is imported, and never again in what was: each training asks for a collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def _same_random_numbers():
    from transformers import set_seed  # not above: the process that hands tests to workers needs no torch

    set_seed(0)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id):
    """A function that returns a copy of what another returns, which one worker calls for all, by a name."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent

    def made_once(name, make):
        record = shared / f"{name}.pickle"
        with FileLock(f"{record}.lock"):
            if not record.exists():
                record.write_bytes(pickle.dumps(make()))
            return pickle.loads(record.read_bytes())

    return made_once


@pytest.fixture(scope="session", autouse=True)
def _trace_each_model_once(made_once):
    """Tracing a model for ONNX takes seconds, and many tests export the same weights with the same options."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    from atenta.engines import onnx_export

    graphs_of = onnx_export.graphs_of
    new_registry = cache(ONNXRegistry.from_torchlib)  # half a second of each export

    def graphs(model):
        weights = b"".join(each.float().numpy().tobytes() for each in model.state_dict().values())
        key = hashlib.sha256(repr(model.config).encode() + weights).hexdigest()
        return {name: partial(made_once, f"{key}-{name}", export) for name, export in graphs_of(model).items()}

    def registry(**options):
        copied = copy.copy(new_registry(**options))
        copied.functions = {name: [*several] for name, several in copied.functions.items()}
        return copied

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(registry))
        patch.setattr(onnx_export, "graphs_of", graphs)
        yield


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
