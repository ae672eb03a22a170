"""Cache layers against transformers' own, which concatenate at every step and always reorder."""

import copy

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import DynamicCache, EncoderDecoderCache, StaticCache
from transformers.cache_utils import DynamicLayer, StaticLayer
from transformers.modeling_outputs import BaseModelOutput

from atenta import AtentaDecoderConfig
from atenta.modeling.cache_layers import GrowingLayer, SourceLayer, replace_layers
from support.models import (
    GENERATORS,
    assert_equal,
    double_model,
    every_generator,
    every_layout,
    inputs_for,
    pad,
    texts,
    tiny_config,
)


def states(length, batch=3, seed=0, dtype=torch.float32):
    """Return keys and values of some positions, (batch, 2 heads, length, 4) each."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(batch, 2, length, 4, generator=generator).to(dtype) for _ in range(2))


def assert_equal_layers(ours, theirs):
    assert ours.get_seq_length() == theirs.get_seq_length()
    if theirs.get_seq_length():
        assert torch.equal(ours.keys, theirs.keys)
        assert torch.equal(ours.values, theirs.values)


CHANGES = {
    "crop": lambda layer: layer.crop(-2),
    "crop nothing": lambda layer: layer.crop(0),
    "reorder": lambda layer: layer.reorder_cache(torch.tensor([2, 0, 0])),
    "reorder to fewer": lambda layer: layer.reorder_cache(torch.tensor([1, 0])),
    "select": lambda layer: layer.batch_select_indices(torch.tensor([1, 0])),
    "repeat": lambda layer: layer.batch_repeat_interleave(2),
    "reset": lambda layer: layer.reset(),
    "replace values": lambda layer: setattr(layer, "values", layer.values * 2),
}


@torch.no_grad()
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_equal_to_concatenation(change):
    """The buffers grow several times, and the cache is changed in the middle and at the end."""
    ours, theirs = GrowingLayer(), DynamicLayer()
    for _ in range(2):
        for step, length in enumerate([5, *[1] * 120, 60, 1]):
            batch = theirs.keys.shape[0] if theirs.is_initialized else 3
            new = states(length, batch, seed=step)
            assert all(map(torch.equal, ours.update(*new), theirs.update(*new)))
            if step == 70:
                change(ours), change(theirs)
                assert_equal_layers(ours, theirs)
        assert_equal_layers(ours, theirs)
        change(ours), change(theirs)


@torch.no_grad()
def test_most_steps_write_in_place():
    """The buffer keeps its address in most steps. Concatenation would allocate a new one in every step."""
    layer = GrowingLayer()
    layer.update(*states(16))
    addresses = [layer.update(*states(1, seed=step))[0].data_ptr() for step in range(1000)]
    assert len(set(addresses)) < 25


@pytest.mark.parametrize("differentiable", ["keys", "values", "queries"])
def test_gradients_flow_into_the_cache(differentiable):
    """Attention keeps its inputs for the backward pass, so nothing may be written into them."""
    gradients, (key, value) = {}, states(3)
    query = torch.randn(3, 2, 1, 4)
    {"keys": key, "values": value, "queries": query}[differentiable].requires_grad_()
    for layer in (GrowingLayer(), DynamicLayer()):
        outputs = [scaled_dot_product_attention(query, *layer.update(key, value))]
        outputs += [scaled_dot_product_attention(query, *layer.update(*states(1, seed=step))) for step in range(3)]
        parameter = {"keys": key, "values": value, "queries": query}[differentiable]
        (gradients[type(layer)],) = torch.autograd.grad(sum(output.sum() for output in outputs), parameter)
    assert torch.equal(gradients[GrowingLayer], gradients[DynamicLayer])


@pytest.mark.parametrize(("cached", "new"), [(3, 1), (1, 3)])
@torch.no_grad()
def test_another_batch_size_is_refused(cached, new):
    for layer in (GrowingLayer(), DynamicLayer()):
        layer.update(*states(4, batch=cached))
        with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
            layer.update(*states(1, batch=new))


@pytest.mark.parametrize(
    "steps",
    [
        [(mode, torch.float32) for mode in (torch.inference_mode, torch.no_grad) * 2],
        [(torch.no_grad, torch.bfloat16), (torch.no_grad, torch.float32)],
    ],
    ids=["inference mode begins and ends", "a wider data type"],
)
def test_steps_may_differ(steps):
    ours, theirs = GrowingLayer(), DynamicLayer()
    for step, (mode, dtype) in enumerate(steps):
        with mode():
            new = states(2, seed=step, dtype=dtype)
            for own, other in zip(ours.update(*new), theirs.update(*new)):
                assert own.dtype == dtype
                assert torch.equal(own, other)


def repeated(counts, length=5):
    """Return keys and values of sources, each repeated in `counts` rows."""
    return tuple(each.repeat_interleave(torch.tensor(counts), 0) for each in states(length, batch=len(counts)))


@settings(max_examples=25)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_rows_that_share_a_source_are_counted(counts):
    layer = SourceLayer()
    layer.update(*repeated(counts))
    assert layer.sharing() == (counts[0] if len(set(counts)) == 1 else 1)
    if sum(counts) > 1:
        layer.values = layer.values.clone()
        layer.values[0] += 1  # equal keys, different values
        assert layer.sharing() == 1


@settings(max_examples=25)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
@example([2, 0, 0, 5, 5, 3])
@example([3, 4, 5, 0, 1, 2])
def test_sources_are_reordered_only_between_texts(beam_idx):
    ours, theirs = SourceLayer(), DynamicLayer()
    ours.update(*repeated([3, 3])), theirs.update(*repeated([3, 3]))
    before = ours.keys
    for layer in (ours, theirs):
        layer.reorder_cache(torch.tensor(beam_idx))
    assert_equal_layers(ours, theirs)
    stays = [index // 3 for index in beam_idx] == [0, 0, 0, 1, 1, 1]
    assert (ours.keys is before) == stays


@torch.no_grad()
def test_only_empty_dynamic_layers_are_replaced():
    config = tiny_config(AtentaDecoderConfig)
    empty, lazy, filled, offloading = (
        DynamicCache(config=config),
        DynamicCache(),
        *(DynamicCache(config=config) for _ in range(2)),
    )
    filled.update(*states(2), layer_idx=0)
    offloading.offloading = True  # transformers makes such a cache only with a GPU
    static = StaticCache(config, 8)
    for cache in (empty, lazy, filled, offloading, static):
        replace_layers(cache, GrowingLayer)
    lazy.update(*states(2), layer_idx=0)
    assert {type(layer) for layer in empty.layers} == {type(lazy.layers[0])} == {GrowingLayer}
    assert [type(layer) for layer in filled.layers] == [DynamicLayer, GrowingLayer]
    assert {type(layer) for layer in offloading.layers} == {DynamicLayer}
    assert {type(layer) for layer in static.layers} == {StaticLayer}


def dynamic_cache(model, lazy=False):
    """Return a cache as a caller makes it, with transformers' own layers, or without any yet."""
    own, source = (DynamicCache() if lazy else DynamicCache(config=model.config) for _ in range(2))
    return EncoderDecoderCache(own, source) if model.config.is_encoder_decoder else own


def layer_types(cache):
    """Return the classes of a cache's layers, of self-attention and of cross-attention (or none)."""
    own = getattr(cache, "self_attention_cache", cache)
    source = getattr(cache, "cross_attention_cache", None)
    return {type(layer) for layer in own.layers}, {type(layer) for layer in (source.layers if source else ())}


@pytest.mark.parametrize("options", [{}, {"num_beams": 4, "num_return_sequences": 3}], ids=["greedy", "beams"])
@every_generator
def test_generation_in_caches_that_a_model_makes_and_in_given_ones(model_class, options):
    """What a model makes has our layers; a caller's own keeps its layers, and gives the same texts."""
    model, (ids, mask) = double_model(model_class), pad(texts(), [9, 4, 2], "left")
    options = {"attention_mask": mask, "max_new_tokens": 12, "return_dict_in_generate": True, **options}
    made = model.generate(ids, **options)
    given = model.generate(ids, past_key_values=dynamic_cache(model), **options)
    assert torch.equal(made.sequences, given.sequences)
    encoder_decoder = model.config.is_encoder_decoder
    assert layer_types(made.past_key_values) == ({GrowingLayer}, {SourceLayer} if encoder_decoder else set())
    assert layer_types(given.past_key_values) == ({DynamicLayer}, {DynamicLayer} if encoder_decoder else set())


@pytest.mark.parametrize("lazy", [True, False], ids=["lazy", "with layers"])
@every_generator
@torch.no_grad()
def test_a_given_cache_keeps_its_layers(model_class, lazy):
    """The caller may export it, copy it, or read it with another model; what it holds is what our layers hold."""
    model, inputs = double_model(model_class), inputs_for(model_class)
    given = dynamic_cache(model, lazy)
    outputs, made = model(**inputs, past_key_values=given), model(**inputs, use_cache=True)
    assert layer_types(given) == ({DynamicLayer}, {DynamicLayer} if model.config.is_encoder_decoder else set())
    for mine, its in zip(made.past_key_values, outputs.past_key_values):
        assert all(torch.equal(mine[index], its[index]) for index in range(2))
    step = inputs | {"decoder_input_ids" if model.config.is_encoder_decoder else "input_ids": texts(3, 1)}
    copied = copy.deepcopy(given)
    logits = [model(**step, past_key_values=cache).logits for cache in (given, copied, made.past_key_values)]
    assert_equal(logits[0], logits[2])
    assert torch.equal(logits[0], logits[1])


@every_generator
@torch.no_grad()
def test_a_cache_has_two_names(model_class):
    """transformers calls it `cache` from 5.24 on; nothing that is given may be ignored."""
    model, inputs = double_model(model_class), inputs_for(model_class)
    caches = [dynamic_cache(model) for _ in range(2)]
    for name, cache in zip(("past_key_values", "cache"), caches):
        model(**inputs, **{name: cache})
        assert cache.get_seq_length()
    step = inputs | {"decoder_input_ids" if model.config.is_encoder_decoder else "input_ids": texts(3, 1)}
    logits = [model(**step, **{name: cache}).logits for name, cache in zip(("cache", "past_key_values"), caches)]
    assert torch.equal(*logits)
    with pytest.raises(ValueError, match="past_key_values and cache"):
        model(**step, past_key_values=caches[0], cache=caches[1])


@every_generator
@pytest.mark.filterwarnings("ignore")
def test_gradient_checkpointing_writes_no_cache(model_class):
    """The blocks run twice, and would write twice into a cache that the caller gives."""
    model, inputs = double_model(model_class).train(), inputs_for(model_class)
    model.gradient_checkpointing_enable()
    cache = dynamic_cache(model)
    model(**inputs, past_key_values=cache).logits.sum().backward()
    assert cache.get_seq_length() == 0


# Steps in the cache that a model makes.


def one_by_one(model, ids, after_prompt=lambda cache: None, **given):
    """Read four characters of the targets at once and the others one by one.

    Args:
        after_prompt: called with the cache once the first four characters are read.
        given: the encoder's inputs, and options of every call.

    Returns:
        The logits of all but the first four, (batch, length - 4, vocab_size), and the outputs of the last step.
    """
    cache, logits = None, []
    for part in ids.split([4, *[1] * (ids.shape[1] - 4)], dim=1):
        outputs = model(decoder_input_ids=part, **given, past_key_values=cache, use_cache=True)
        cache = outputs.past_key_values
        if not logits:
            after_prompt(cache)
        logits.append(outputs.logits[:, -1])
    return torch.stack(logits[1:], dim=1), outputs


def share_sources(cache):
    """Make the keys and values of each three rows of one source equal to the last bit, as `generate` mostly does.

    Products of equal rows are not always: where a row is in its matrix may decide how it is rounded.
    """
    for layer in cache.cross_attention_cache.layers:
        layer.keys, layer.values = (states[::3].repeat_interleave(3, 0) for states in (layer.keys, layer.values))
        assert layer.sharing() == 3


@every_layout
@pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@torch.no_grad()
def test_targets_that_share_a_source(layout, attn_implementation, padded):
    """Three targets share each of two sources, whose keys and values are read once for all three."""
    model, ids = double_model(GENERATORS[1], attn_implementation=attn_implementation, **layout), texts(6)
    source, source_mask = pad(texts(2, 7, seed=3), [7, 4 if padded else 7], "right")
    given = {
        "input_ids": source.repeat_interleave(3, 0),
        "attention_mask": source_mask.repeat_interleave(3, 0),
        "output_attentions": attn_implementation == "eager",
    }
    expected = model(decoder_input_ids=ids, **given, use_cache=False)
    logits, last = one_by_one(model, ids, after_prompt=share_sources, **given)
    assert_equal(logits, expected.logits[:, 4:])
    for name in ("decoder_attentions", "cross_attentions") if attn_implementation == "eager" else ():
        for weights, of_all_positions in zip(last[name], expected[name], strict=True):
            assert_equal(weights, of_all_positions[:, :, -1:])


# Sources of eight tokens, here and below: some processors round the last rows of a product in another way unless their
# number is a multiple of four, and the keys of equal sources then differ in the last bit.
@pytest.mark.parametrize("options", [{"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3}], ids=str)
def test_each_source_is_read_once_for_all_its_targets(options, monkeypatch):
    read = []

    def counted(query, key, value, **given):
        read.append((len(query), query.shape[2], len(key)))
        return scaled_dot_product_attention(query, key, value, **given)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", counted)
    model, ids = double_model(GENERATORS[1]), texts(2, 8)
    model.generate(ids, max_new_tokens=6, min_new_tokens=6, **options)
    steps = read[model.config.encoder_layers :]  # each block attends to the target and then to the source
    assert set(steps[::2]) == {(6, 1, 6)}
    assert (2, 3, 2) in steps[1::2]
    assert set(steps[-3::2]) == {(2, 3, 2)}


@pytest.mark.parametrize("shape", [(2, 8), (1, 1, 1, 8)], ids=["a mask for each row", "one mask for all rows"])
@torch.no_grad()
def test_equal_sources_with_masks_of_their_own(shape):
    """Keys and values are equal but masks may differ, which no encoder produces."""
    model, ids = double_model(GENERATORS[1]), texts(2)
    encoded = BaseModelOutput(torch.randn(1, 8, 32, dtype=torch.float64).expand(2, -1, -1))
    mask = torch.ones(shape, dtype=torch.bool)
    mask[-1, ..., 3:] = False
    given = {"encoder_outputs": encoded, "attention_mask": mask}
    actual, last = one_by_one(model, ids, **given)
    assert last.past_key_values.cross_attention_cache.layers[0].sharing() == 2
    assert_equal(actual, model(decoder_input_ids=ids, **given, use_cache=False).logits[:, 4:])


def test_equal_sources_have_gradients_of_their_own():
    model, ids = double_model(GENERATORS[1]), texts(2, 1)
    gradients = []
    for use_cache in (True, False):
        encoded = torch.ones(2, 7, 32, dtype=torch.float64, requires_grad=True)
        outputs = model(decoder_input_ids=ids, encoder_outputs=BaseModelOutput(encoded), use_cache=use_cache)
        gradients += torch.autograd.grad(outputs.logits.square().sum(), encoded)
    assert_equal(*gradients)
