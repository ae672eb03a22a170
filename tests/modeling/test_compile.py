"""`torch.compile` in one graph, and flex attention."""

import pytest
import torch

from atenta.modeling import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
)
from support.models import (
    DECODERS,
    ENCODER_DECODERS,
    ENCODERS,
    GENERATORS,
    LANGUAGE_MODELS,
    assert_close,
    every_layout,
    inputs_for,
    named,
    pad,
    texts,
    tiny_model,
)


@pytest.fixture(autouse=True)
def _forget_graphs():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def one_graph(model, backend="eager"):
    """The model's forward, which fails where it would break into several graphs."""
    return torch.compile(model, fullgraph=True, backend=backend)


def masked(inputs):
    """With padding on the left of every text but the first."""
    for name in list(inputs):
        mask = torch.ones_like(inputs[name])
        mask[1:, :2] = 0
        inputs[name.replace("input_ids", "attention_mask")] = mask
    return inputs


@pytest.mark.parametrize("model_class", named([*ENCODERS, *DECODERS, *ENCODER_DECODERS]))
def test_every_model_is_one_graph(model_class):
    model, inputs = tiny_model(model_class), masked(inputs_for(model_class))
    with torch.no_grad():
        assert_close(one_graph(model)(**inputs)[0], model(**inputs)[0])


@pytest.mark.parametrize("layout", [{}, {"position_embedding_type": "rotary", "norm_first": True}], ids=str)
@pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
def test_training_is_one_graph(model_class, layout):
    inputs = masked(inputs_for(model_class))
    labels = inputs.get("decoder_input_ids", inputs["input_ids"])
    gradients = []
    for compiled in (False, True):
        model = tiny_model(model_class, **layout).train()
        (one_graph(model, "aot_eager") if compiled else model)(**inputs, labels=labels).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert_close(*gradients)


@every_layout
@pytest.mark.parametrize("model_class", named(GENERATORS))
def test_a_step_of_generation_is_one_graph(model_class, layout):
    """With the static cache and the mask that `generate` compiles with; the same graph for every step."""
    model, (ids, mask) = tiny_model(model_class, **layout), pad(texts(), [9, 5, 2], "left")
    expected = model.generate(ids, attention_mask=mask, max_new_tokens=6, min_new_tokens=6)
    graphs = []

    def counted(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    model.forward = torch.compile(model.forward, fullgraph=True, backend=counted)
    options = {"cache_implementation": "static", "disable_compile": True, "max_new_tokens": 6, "min_new_tokens": 6}
    assert torch.equal(model.generate(ids, attention_mask=mask, **options), expected)
    assert 0 < len(graphs) <= 3  # the prompt, the first step, and all others


@pytest.mark.parametrize(
    "model_class",
    [
        pytest.param(AtentaEncoderForMaskedLM, marks=pytest.mark.slow),
        AtentaDecoderForCausalLM,
        pytest.param(AtentaEncoderDecoderForConditionalGeneration, marks=pytest.mark.slow),
    ],
)
def test_flex_attention_equals_eager(model_class):
    inputs = masked(inputs_for(model_class))
    logits = {}
    for implementation in ("eager", "flex_attention"):
        model = tiny_model(model_class, attn_implementation=implementation, hidden_size=64).requires_grad_(False)
        logits[implementation] = model(**inputs).logits
    real = inputs.get("decoder_attention_mask", inputs["attention_mask"]).bool()
    assert_close(logits["flex_attention"][real], logits["eager"][real])


@pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
def test_flash_attention_is_supported_and_only_its_package_missing(model_class):
    model = tiny_model(model_class)
    assert model._supports_flash_attn
    with pytest.raises(ImportError, match="FlashAttention2"):
        model.set_attn_implementation("flash_attention_2")


@pytest.mark.slow
@pytest.mark.parametrize("model_class", named(GENERATORS))
def test_generate_compiles_with_inductor(model_class):
    model, (ids, mask) = tiny_model(model_class), pad(texts(), [9, 5, 2], "left")
    options = {"max_new_tokens": 6, "min_new_tokens": 6}
    expected = model.generate(ids, attention_mask=mask, **options)
    model.forward = torch.compile(model.forward, fullgraph=True)
    actual = model.generate(ids, attention_mask=mask, cache_implementation="static", disable_compile=True, **options)
    assert torch.equal(actual, expected)


@pytest.mark.slow
@pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
def test_training_compiles_with_inductor(model_class):
    inputs = masked(inputs_for(model_class))
    labels = inputs.get("decoder_input_ids", inputs["input_ids"])
    losses = []
    for compiled in (False, True):
        model = tiny_model(model_class).train()
        loss = (one_graph(model, "inductor") if compiled else model)(**inputs, labels=labels).loss
        loss.backward()
        losses.append(loss.detach())
    assert_close(*losses)
