"""The limit does all of our models' arithmetic: it writes what `generate` does."""

import pytest
import torch

from benchmarks.decoding import draw_ids, generator
from benchmarks.limits import GreedyLimit
from benchmarks.settings import Settings
from support.models import GENERATORS, named, tiny_model


@pytest.mark.parametrize("model_class", named(GENERATORS))
def test_the_limit_writes_what_generate_writes(model_class):
    model = tiny_model(model_class, vocab_size=128)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    ids = draw_ids(Settings(), 3, 5)
    expected = generator(model, num_beams=1)(ids, 20)
    assert len(expected.unique()) > 8  # not one character again and again
    limit = GreedyLimit(model, batch_size=3, max_length=32)
    assert torch.equal(limit.generate(ids, 20), expected)
    assert torch.equal(limit.generate(ids, 20), expected)  # its cache is written over
