"""Heads, depths and outputs as the configuration sets them, and errors for wrong inputs."""

import pytest
import torch
from torch import nn

from atenta import (
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderDecoderModel,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from support.models import every_generator, inputs_for, named, texts, tiny_config, tiny_model

WITH_DROPOUT = (
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaDecoderForSequenceClassification,
)


@pytest.mark.parametrize("model_class", named(WITH_DROPOUT))
def test_classifier_dropout(model_class):
    """The rate defaults to `dropout`."""
    assert tiny_model(model_class, dropout=0.3).dropout.p == 0.3
    assert tiny_model(model_class, dropout=0.3, classifier_dropout=0.0).dropout.p == 0.0
    model = tiny_model(model_class, classifier_dropout=0.5)
    ids = texts()
    assert torch.equal(model(ids).logits, model(ids).logits)
    model.train()
    assert not torch.equal(model(ids).logits, model(ids).logits)


def test_hidden_states_end_with_the_output():
    for model_class in (AtentaEncoderModel, AtentaDecoderModel):
        for norm_first in (False, True):
            model, ids = tiny_model(model_class, norm_first=norm_first), texts()
            outputs = model(ids, output_hidden_states=True)
            assert len(outputs.hidden_states) == 3
            assert torch.equal(outputs.hidden_states[-1], outputs.last_hidden_state)


def test_inputs_that_exclude_each_other():
    ids, vectors = texts(), torch.zeros(3, 9, 32)
    for model in (tiny_model(AtentaEncoderModel), tiny_model(AtentaDecoderModel)):
        for inputs, found in (({}, "neither"), ({"input_ids": ids, "inputs_embeds": vectors}, "both")):
            with pytest.raises(ValueError, match=f"input_ids and inputs_embeds, got {found}"):
                model(**inputs)
    with pytest.raises(ValueError, match="encoder_hidden_states must not be given"):
        tiny_model(AtentaDecoderModel)(ids, encoder_hidden_states=vectors)
    with pytest.raises(ValueError, match="encoder_hidden_states must be given"):
        tiny_model(AtentaEncoderDecoderModel).decoder(ids)


@every_generator
def test_use_cache_of_the_configuration_and_of_the_call(model_class):
    inputs = inputs_for(model_class)
    for by_default in (True, False):
        model = tiny_model(model_class, use_cache=by_default)
        assert (model(**inputs).past_key_values is not None) == by_default
        assert (model(**inputs, use_cache=not by_default).past_key_values is not None) != by_default
        assert model.train()(**inputs).past_key_values is None


def test_initial_weights():
    """Weights are normal with the configured deviation, biases are 0 and norms 1."""
    model = AtentaEncoderModel(tiny_config(AtentaEncoderModel.config_class, hidden_size=128, initializer_range=0.05))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            assert 0.045 < module.weight.std() < 0.055
            assert module.bias is None or (module.bias == 0).all()
        elif isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all()
            assert (module.bias == 0).all()
