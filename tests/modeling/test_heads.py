"""Heads, depths and outputs as the configuration sets them, and errors for wrong inputs."""

import pytest
import torch
from peft import LoraConfig
from torch import nn
from transformers import AttentionInterface

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from atenta.modeling.attention import eager_attention_forward
from support.models import every_generator, inputs_for, named, texts, tiny_config, tiny_model

WITH_DROPOUT = (
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaDecoderForSequenceClassification,
)
MAY_BE_TUPLES = (
    *(*WITH_DROPOUT, AtentaDecoderForCausalLM, AtentaEncoderForPreTraining, AtentaEncoderForQuestionAnswering),
    AtentaEncoderDecoderForConditionalGeneration,
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


@pytest.mark.parametrize("model_class", named(MAY_BE_TUPLES))
def test_a_configuration_may_ask_for_tuples(model_class):
    model, inputs = tiny_model(model_class), inputs_for(model_class)
    expected = model(**inputs).to_tuple()
    model.config.return_dict = False
    found = model(**inputs)
    assert isinstance(found, tuple)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(model(**inputs, return_dict=True)[0], expected[0])


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    model.generation_config.pad_token_id = model.generation_config.eos_token_id
    with pytest.raises(ValueError, match="pad_token_id is 2; expected 0"):
        model.save_pretrained(tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_adapter_is_saved_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.integrations.peft.check_peft_version", lambda **_: None)  # asks for a newer one
    model = tiny_model(AtentaDecoderForCausalLM)
    model.add_adapter(LoraConfig(target_modules=["q_proj"]))
    (tmp_path / "private.safetensors").touch(0o600)
    model.save_pretrained(tmp_path)
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {path.name for path in tmp_path.iterdir()}
    assert not (tmp_path / "config.json").exists()
    assert (tmp_path / "private.safetensors").stat().st_mode & 0o777 == 0o600


def test_an_encoder_is_loaded_without_its_pooler(tmp_path):
    tiny_model(AtentaEncoderModel).save_pretrained(tmp_path)
    assert AtentaEncoderModel.from_pretrained(tmp_path, add_pooling_layer=False).pooler is None


def test_positions_reach_the_attention_which_knows_packed_texts_by_them():
    seen = []

    def attention(module, query, key, value, mask, scaling, dropout=0.0, **kwargs):
        seen.append(kwargs.get("position_ids"))
        return eager_attention_forward(module, query, key, value, mask, scaling, dropout)

    AttentionInterface.register("recorded", attention)
    model, positions = tiny_model(AtentaDecoderModel, attn_implementation="recorded"), torch.tensor([[0, 1, 0, 1, 2]])
    model(texts(1, 5), position_ids=positions)
    assert all(torch.equal(each, positions) for each in seen)
    assert len(seen) == model.config.num_hidden_layers


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
