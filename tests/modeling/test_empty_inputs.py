"""No texts, or no tokens: an error that names the input and its shape, before any layer runs."""

import re

import pytest
import torch

from support.models import ENCODER_DECODERS, GENERATORS, every_generator, every_model, inputs_for, texts, tiny_model

every_shape = pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)], ids=str)


def empty(shape):
    return torch.zeros(shape, dtype=torch.long)


def refused(name, shape):
    return pytest.raises(ValueError, match=rf"{name} has shape {re.escape(str(shape)[:-1])}")


@every_shape
@every_model
def test_every_model_refuses_them(model_class, shape):
    model, ids = tiny_model(model_class), dict.fromkeys(inputs_for(model_class), empty(shape))
    for inputs in ({}, {"attention_mask": empty(shape)}):
        with refused("input_ids", shape):
            model(**ids, **inputs)
    if model_class not in ENCODER_DECODERS:
        with refused("inputs_embeds", shape):
            model(inputs_embeds=torch.zeros(*shape, 32))
        return
    with refused("input_ids", shape):
        model(input_ids=empty(shape))
    for side in ids:
        with refused("input_ids", shape):
            model(**(inputs_for(model_class) | {side: empty(shape)}))


@every_shape
def test_empty_labels(shape):
    """The decoder's input is made of the labels, before the encoder reads the source."""
    with refused("labels", shape):
        tiny_model(GENERATORS[1])(input_ids=texts(), labels=empty(shape))


@every_shape
@pytest.mark.parametrize("options", [{}, {"num_beams": 2}, {"do_sample": True}], ids=str)
@every_generator
def test_generation_refuses_them(model_class, shape, options):
    model = tiny_model(model_class)
    for inputs in ({"inputs": empty(shape)}, {"input_ids": empty(shape)}):
        with refused("input_ids", shape):
            model.generate(**inputs, max_new_tokens=2, **options)
    with refused("inputs_embeds", shape):
        model.generate(inputs_embeds=torch.zeros(*shape, 32), max_new_tokens=2, **options)


def test_generation_from_nothing_starts_with_bos():
    """Without an input, `generate` gives the decoder `<bos>`, as in transformers."""
    assert tiny_model(GENERATORS[0]).generate(max_new_tokens=2, min_new_tokens=2).shape == (1, 3)
