"""`torch.compile` without graph breaks, and flex attention."""

import pytest
import torch

from support.models import (
    GENERATORS,
    LANGUAGE_MODELS,
    LAYOUTS,
    assert_close,
    assert_equal,
    double_model,
    every_generator,
    every_traced_model,
    inputs_for,
    masked,
    one_block,
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
    """Compile a model, or its forward pass; a graph break raises an error."""
    return torch.compile(model, fullgraph=True, backend=backend)


# Graphs compute positions, and modules look them up. Both are in float32, hence the tolerance of 1e-5.


@every_traced_model
def test_every_model_is_one_graph(model_class):
    model, inputs = one_block(model_class), masked(inputs_for(model_class))
    with torch.no_grad():
        assert_close(one_graph(model)(**inputs)[0], model(**inputs)[0])


# test_trainer.py trains with inductor, whose compiler takes most of a minute.
@pytest.mark.parametrize(
    ("model_class", "layout"),  # an encoder-decoder has both stacks, in either layout
    [
        (LANGUAGE_MODELS[0], LAYOUTS[0]),
        (LANGUAGE_MODELS[1], LAYOUTS[2]),
        *((LANGUAGE_MODELS[2], layout) for layout in (LAYOUTS[0], LAYOUTS[2])),
    ],
)
def test_training_is_one_graph(model_class, layout):
    inputs = masked(inputs_for(model_class))
    labels = inputs.get("decoder_input_ids", inputs["input_ids"])
    gradients = []
    for compiled in (False, True):
        model = one_block(model_class, **layout).train()
        (one_graph(model, "aot_eager") if compiled else model)(**inputs, labels=labels).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert_close(*gradients)


@pytest.mark.parametrize(
    ("model_class", "backend", "layout"),
    [
        *((model_class, "counted", layout) for model_class in GENERATORS for layout in LAYOUTS),
        pytest.param(GENERATORS[1], "inductor", LAYOUTS[0], marks=pytest.mark.slow),
    ],
)
def test_a_step_of_generation_is_one_graph(model_class, layout, backend):
    """All steps share the graph that `generate` compiles, with a static cache and its mask."""
    model, (ids, mask) = one_block(model_class, **layout), pad(texts(), [9, 5, 2], "left")
    options = {"attention_mask": mask, "max_new_tokens": 6, "min_new_tokens": 6}
    expected = model.generate(ids, **options)
    graphs = []

    def counted(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    model.forward = one_graph(model.forward, counted if backend == "counted" else backend)
    actual = model.generate(ids, **options, cache_implementation="static", disable_compile=True)
    assert torch.equal(actual, expected)
    assert backend != "counted" or 0 < len(graphs) <= 3  # the prompt, the first step, and all others


@every_generator
@torch.no_grad()
def test_a_step_in_the_cache_that_a_model_makes_is_one_graph(model_class):
    """Also where all rows share one source, as in beam search."""
    model, ids = one_block(model_class), texts(1).expand(3, -1)
    given = {"input_ids": ids, "use_cache": True}
    step = {("decoder_" if model.config.is_encoder_decoder else "") + "input_ids": texts(3, 1, seed=2)}
    caches = [model(**(given | dict.fromkeys(step, ids))).past_key_values for _ in range(2)]
    expected = model(**(given | step), past_key_values=caches[0]).logits
    assert_close(one_graph(model)(**(given | step), past_key_values=caches[1]).logits, expected)


@pytest.mark.parametrize(
    ("model_class", "compiled"),
    [*((each, False) for each in LANGUAGE_MODELS), pytest.param(LANGUAGE_MODELS[2], True, marks=pytest.mark.slow)],
)
def test_flex_attention_equals_sdpa(model_class, compiled):
    """transformers compiles flex attention, which takes half a minute, unless compilation is turned off."""
    inputs = masked(inputs_for(model_class))
    kind, stance = (tiny_model, "default") if compiled else (double_model, "force_eager")
    logits = {}
    options = {"hidden_size": 64, "position_embedding_type": "rotary"}
    for implementation in ("sdpa", "flex_attention"):
        model = kind(model_class, attn_implementation=implementation, **options).requires_grad_(False)
        with torch.compiler.set_stance(stance):
            logits[implementation] = model(**inputs).logits
    real = inputs.get("decoder_attention_mask", inputs["attention_mask"]).bool()
    assert_equal(logits["flex_attention"][real], logits["sdpa"][real])


@every_generator
def test_beam_search_with_flex_attention_equals_sdpa(model_class):
    """Its masks have blocks of their own shape, which cannot be split by rows."""
    model, (ids, mask) = double_model(model_class, hidden_size=64), pad(texts(), [9, 5, 2], "left")
    options = {"attention_mask": mask, "num_beams": 3, "max_new_tokens": 6, "min_new_tokens": 6}
    expected = model.generate(ids, **options)
    model.set_attn_implementation("flex_attention")
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(model.generate(ids, **options), expected)
