"""Saving, device maps, offloading, the plan of tensor parallelism and data types."""

import ast
import re

import pytest
import torch
from accelerate import cpu_offload, dispatch_model
from torch import nn

from atenta.hub.bundle import flat_sources
from atenta.modeling.attention import MultiHeadAttention
from atenta.modeling.block import FeedForward
from atenta.registration import AUTO_CLASSES, PIPELINES
from support.models import (
    assert_close,
    assert_equal,
    double_model,
    every_language_model,
    every_layout,
    every_model,
    inputs_for,
    tiny_model,
)


@torch.no_grad()
def output(model):
    return model(**inputs_for(type(model)))[0]


def private_names_of_torch(source):
    """Return the private names of torch in a source: modules, names that are imported, and attributes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found.append(ast.unparse(node))
    return [name for name in found if re.match(r"torch\b.*\._(?!_)", name)]


def test_saved_code_uses_nothing_private_of_torch():
    """Saved models are loaded with versions of torch that are not out yet, where private names may be gone."""
    modules = {each.__module__ for models in AUTO_CLASSES.values() for each in models.values()}
    modules |= {f"atenta.pipelines.{name.partition('.')[0]}" for name in PIPELINES.values()}
    sources = flat_sources(modules)
    assert {"modeling_decoder.py", "attention.py", "cache_layers.py"} <= sources.keys()
    assert {name: names for name, source in sources.items() if (names := private_names_of_torch(source))} == {}
    for source in ("from torch.nn.modules.module import _hook", "import torch._C", "torch._C.f()"):
        assert private_names_of_torch(source)


@every_language_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_data_type_is_kept(model_class, dtype, tmp_path):
    tiny_model(model_class).to(dtype).save_pretrained(tmp_path)
    loaded = model_class.from_pretrained(tmp_path)
    assert {parameter.dtype for parameter in loaded.parameters()} == {dtype}
    assert output(loaded).dtype == dtype


@every_layout
@every_language_model
def test_bfloat16_is_close_to_float32(model_class, layout):
    model = tiny_model(model_class, initializer_range=0.05, **layout)
    expected = output(model)
    for implementation in ("eager", "sdpa"):
        model.set_attn_implementation(implementation)
        assert_close(output(model.bfloat16()).float(), expected, 0.05)


@every_language_model
@pytest.mark.parametrize("tie_word_embeddings", [False, True], ids=["untied", "tied"])
def test_offloaded_weights(model_class, tie_word_embeddings, tmp_path):
    """accelerate keeps weights in memory or on disk and fetches them block by block."""
    expected = output(double_model(model_class, tie_word_embeddings=tie_word_embeddings))
    model = double_model(model_class, tie_word_embeddings=tie_word_embeddings)
    cpu_offload(model, execution_device="cpu")
    assert_equal(output(model), expected)

    model = double_model(model_class, tie_word_embeddings=tie_word_embeddings)
    blocks = [name for name, module in model.named_modules() if type(module).__name__ in model._no_split_modules]
    modules = model.named_modules(remove_duplicate=False)  # tied embeddings are one module under two names
    places = {name: "cpu" for name, module in modules if not list(module.children())}
    places = {name: place for name, place in places.items() if not name.startswith(tuple(blocks))}
    places |= {name: "disk" if index % 2 else "cpu" for index, name in enumerate(blocks)}
    dispatch_model(model, places, main_device="cpu", offload_dir=tmp_path / "offloaded")
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu", "meta"}
    assert_equal(output(model), expected)


@every_model
def test_tensor_parallel_plan_covers_exactly_the_projections(model_class):
    model = tiny_model(model_class)
    modules = {re.sub(r"\d+", "*", name): module for name, module in model.named_modules()}
    planned = {
        f"{name}.{child}"
        for name, module in modules.items()
        if isinstance(module, MultiHeadAttention | FeedForward)
        for child, layer in module.named_children()
        if isinstance(layer, nn.Linear)
    }
    planned |= {name for name in modules if name.endswith(("embed_tokens", "lm_head"))}
    assert model.tp_plan.keys() == planned
