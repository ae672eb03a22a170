"""Heads, depths and outputs as the configuration sets them, and errors for wrong inputs."""

import pytest
import torch
from torch import nn

from atenta import (
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from support.models import ENCODERS, GENERATORS, inputs_for, named, texts, tiny_config, tiny_model

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


def test_encoder_and_decoder_may_differ_in_depth():
    for encoder_layers, decoder_layers in ((1, 3), (3, 1)):
        model = tiny_model(
            AtentaEncoderDecoderForConditionalGeneration, encoder_layers=encoder_layers, decoder_layers=decoder_layers
        )
        assert len(model.get_encoder().layers) == encoder_layers
        assert len(model.get_decoder().layers) == decoder_layers
        outputs = model(**inputs_for(type(model)), output_hidden_states=True)
        assert len(outputs.encoder_hidden_states) == encoder_layers + 1
        assert len(outputs.decoder_hidden_states) == decoder_layers + 1
        assert len(outputs.past_key_values.self_attention_cache.layers) == decoder_layers
        assert model.generate(texts(), max_new_tokens=4, min_new_tokens=4).shape == (3, 5)


def test_hidden_states_end_with_the_output():
    for model_class in (AtentaEncoderModel, AtentaDecoderModel):
        for norm_first in (False, True):
            model, ids = tiny_model(model_class, norm_first=norm_first), texts()
            outputs = model(ids, output_hidden_states=True)
            assert len(outputs.hidden_states) == 3
            assert torch.equal(outputs.hidden_states[-1], outputs.last_hidden_state)


@pytest.mark.parametrize("model_class", named(ENCODERS))
def test_only_heads_that_use_the_pooler_have_one(model_class):
    model = tiny_model(model_class)
    without = {"AtentaEncoderForMaskedLM", "AtentaEncoderForTokenClassification", "AtentaEncoderForQuestionAnswering"}
    assert (model.base_model.pooler is None) == (model_class.__name__ in without)


@pytest.mark.parametrize("model_class", named([AtentaEncoderModel, AtentaDecoderModel]))
def test_exactly_one_kind_of_input(model_class):
    model, ids = tiny_model(model_class), texts()
    for inputs in ({}, {"input_ids": ids, "inputs_embeds": torch.zeros(3, 9, 32)}):
        with pytest.raises(ValueError, match="exactly one of input_ids and inputs_embeds"):
            model(**inputs)


def test_only_cross_attention_takes_an_encoders_output():
    encoded = torch.zeros(3, 7, 32)
    with pytest.raises(ValueError, match="must not be given"):
        tiny_model(AtentaDecoderModel)(texts(), encoder_hidden_states=encoded)
    with pytest.raises(ValueError, match="must be given"):
        tiny_model(AtentaEncoderDecoderModel).decoder(texts())


@pytest.mark.parametrize("model_class", named(GENERATORS))
def test_use_cache_of_the_configuration_and_of_the_call(model_class):
    inputs = inputs_for(model_class)
    for by_default in (True, False):
        model = tiny_model(model_class, use_cache=by_default)
        assert (model(**inputs).past_key_values is not None) == by_default
        assert (model(**inputs, use_cache=not by_default).past_key_values is not None) != by_default
        assert model.train()(**inputs).past_key_values is None


@pytest.mark.parametrize("model_class", named([*ENCODERS, *GENERATORS, AtentaDecoderForSequenceClassification]))
def test_tuples_equal_the_output(model_class):
    model, inputs = (
        tiny_model(model_class, use_cache=False) if model_class not in ENCODERS else tiny_model(model_class),
        inputs_for(model_class),
    )
    with torch.no_grad():
        pairs = zip(model(**inputs, return_dict=False), model(**inputs).to_tuple(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)


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
