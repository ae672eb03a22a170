"""Tests of the demands of vLLM's and SGLang's transformers backends on a model, without either of them.

Both build the base model without weights, put their own layers in place of the linear layers that the plan names, and
call it with all requests in one row. Their attention tells the requests apart; the model passes on its arguments and
may add no mask.
"""

import re

import pytest
import torch
from torch import nn
from transformers import AttentionInterface, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from atenta import AtentaDecoderForCausalLM, AtentaDecoderModel, AtentaEncoderForMaskedLM, AtentaEncoderModel
from support.models import CONFIGS, assert_equal, double_model, every_layout, named, texts, tiny_config

BASES = named([AtentaEncoderModel, AtentaDecoderModel])
HEADS = named([AtentaEncoderForMaskedLM, AtentaDecoderForCausalLM])
LENGTHS = (5, 1, 9, 3)  # of the requests


class Engine:
    """One layer's attention in the engine: it knows where each request begins, and computes each alone."""

    def __init__(self):
        self.calls = 0

    def __call__(self, query, key, value, scaling, is_causal):
        self.calls += 1
        requests = zip(*(states.split(LENGTHS, dim=2) for states in (query, key, value)))
        outputs = [
            nn.functional.scaled_dot_product_attention(*request, scale=scaling, is_causal=is_causal)
            for request in requests
        ]
        return torch.cat(outputs, dim=2).transpose(1, 2)


def attend(module, query, key, value, attention_mask, scaling, attention_instances, **kwargs):
    assert attention_mask is None
    return attention_instances[module.layer_idx](query, key, value, scaling, module.is_causal), None


@pytest.fixture
def engine():
    """Register an implementation of attention, without one of masks: transformers then makes none."""
    AttentionInterface.register("engine", attend)
    yield
    del ALL_ATTENTION_FUNCTIONS._global_mapping["engine"]


@torch.no_grad()
def serve(model, name="input_ids"):
    """Return the model's first output for the requests in one row, (total length, ...), and for each alone."""
    requests = texts(batch=1, length=sum(LENGTHS)).split(LENGTHS, dim=1)
    alone = torch.cat([model(request)[0] for request in requests], dim=1)[0]
    model.set_attn_implementation("engine")
    instances = {layer: Engine() for layer in range(model.config.num_hidden_layers)}
    row = torch.cat(requests, dim=1)
    served = model(
        **{name: model.get_input_embeddings()(row) if name == "inputs_embeds" else row},
        position_ids=torch.cat([torch.arange(length) for length in LENGTHS])[None],
        use_cache=False,
        return_dict=False,
        attention_instances=instances,
    )
    assert [instance.calls for instance in instances.values()] == [1] * len(instances)
    return served[0][0], alone


@every_layout
@pytest.mark.parametrize("model_class", HEADS)
@pytest.mark.parametrize("name", ["input_ids", "inputs_embeds"])
def test_requests_in_one_row_are_separate(engine, model_class, layout, name):
    assert_equal(*serve(double_model(model_class, **layout), name))


@pytest.mark.parametrize("model_class", BASES)
def test_a_model_is_built_without_weights_and_given_other_layers(engine, model_class):
    source = double_model(model_class, position_embedding_type="rotary", attention_bias=True)
    with torch.device("meta"):
        model = AutoModel.from_config(source.config)
    assert type(model) is model_class
    patterns = [re.compile(name) for name in source.config.base_model_tp_plan]
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and any(pattern.match(name) for pattern in patterns):
            model.set_submodule(name, nn.Linear(layer.in_features, layer.out_features))
    model.set_input_embeddings(nn.Embedding(source.config.vocab_size, source.config.hidden_size))
    replaced = {re.sub(r"\d+", "*", name) for name, weight in model.named_parameters() if not weight.is_meta}
    assert {name.removesuffix(".weight").removesuffix(".bias") for name in replaced} == set(
        source.config.base_model_tp_plan
    )
    model.load_state_dict(source.state_dict(), assign=True)
    assert_equal(*serve(model.eval()))


@pytest.mark.parametrize("config_class", CONFIGS)
def test_the_plan_is_on_the_configuration_and_not_saved(config_class):
    config = tiny_config(config_class)
    assert config.base_model_tp_plan == AutoModel.from_config(config).tp_plan  # test_devices.py has what it covers
    assert "base_model_tp_plan" not in config.to_dict()


@pytest.mark.parametrize(
    ("auto_class", "model_class"),
    [(AutoModelForMaskedLM, AtentaEncoderForMaskedLM), (AutoModelForCausalLM, AtentaDecoderForCausalLM)],
)
def test_engines_find_their_options_and_parts(auto_class, model_class):
    config = tiny_config(model_class.config_class)
    assert config.get_text_config() is config
    sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim")
    assert [getattr(config, name) for name in sizes] == [40, 32, 2, 4, 8]
    assert (config.max_position_embeddings, config.tie_word_embeddings) == (64, False)
    model = auto_class.from_config(config)
    base = getattr(model, model.base_model_prefix)
    assert model._supports_attention_backend
    assert base.get_input_embeddings() is model.get_input_embeddings()
    attentions = [module for module in base.modules() if hasattr(module, "is_causal")]
    assert [attention.layer_idx for attention in attentions] == [0, 1]
    assert {attention.is_causal for attention in attentions} == {model_class is AtentaDecoderForCausalLM}
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == {"model", "lm_head"}
    assert not list(base.buffers())  # they would be lost where a model is built without weights
