"""Test that the decoding limit does the same arithmetic as our models."""

import pytest
import torch

from benchmarks.contestants import bind_generate, draw_ids
from benchmarks.measuring import Settings
from benchmarks.plain_torch import GreedyLimit
from support.models import GENERATORS, named, tiny_model


@pytest.mark.parametrize("model_class", named(GENERATORS))
def test_limit_gives_the_same_ids_as_generate(model_class):
    model = tiny_model(model_class, vocab_size=128)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    ids = draw_ids(Settings(), 3, 5)
    expected = bind_generate(model, num_beams=1)(ids, 20)
    assert len(expected.unique()) > 8  # the text is not one repeated character
    limit = GreedyLimit(model, batch_size=3, max_length=32)
    assert torch.equal(limit.generate(ids, 20), expected)
    assert torch.equal(limit.generate(ids, 20), expected)  # the second call overwrites the cache
