"""Settings of the tests of the models: marks of Hugging Face's suites, and faster saving and messages."""

import pytest
import torch

from atenta.hub import card

MARKS = (
    "accelerate_tests",
    "flash_attn_test",
    "flash_attn_3_test",
    "flash_attn_4_test",
    "is_training_test",
    "torch_compile_test",
)


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: set by Hugging Face's suites")


@pytest.fixture(autouse=True)
def _save_quickly(monkeypatch):
    """Write no model cards. tests/hub tests them."""
    monkeypatch.setattr(card, "write_model_card", lambda *args, **options: None)


@pytest.fixture
def short_tensors():
    """Shorten printed tensors: Hugging Face's suites format a message for every comparison, also of equal tensors."""
    torch.set_printoptions(threshold=1, edgeitems=1)
    yield
    torch.set_printoptions(profile="default")
