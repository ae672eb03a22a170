"""The cache's layers against transformers' own, which concatenate and reorder whatever they hold."""

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, StaticCache
from transformers.cache_utils import DynamicLayer, StaticLayer

from atenta.configuration import AtentaDecoderConfig
from atenta.modeling import AtentaDecoderForCausalLM
from atenta.modeling.cache_layers import GrowingLayer, SourceLayer, replace_layers
from support.models import assert_close, texts, tiny_config, tiny_model


def states(length, batch=3, seed=0, dtype=torch.float32):
    """Keys and values of some positions, (batch, 2 heads, length, 4) each."""
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


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_holds_what_concatenation_holds(change):
    """Past several growths, with something done to the cache halfway, and again after it."""
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


def test_a_step_copies_nothing_that_is_there():
    """The buffer stays where it is for most steps; by concatenation every step would have a new one."""
    layer = GrowingLayer()
    layer.update(*states(16))
    places = [layer.update(*states(1, seed=step))[0].data_ptr() for step in range(1000)]
    assert len(set(places)) < 25


def test_gradients_reach_what_is_cached():
    layer, (key, value) = GrowingLayer(), states(3)
    key.requires_grad_()
    layer.update(key, value)
    layer.update(*states(1, seed=1))[0].sum().backward()
    assert torch.equal(key.grad, torch.ones_like(key))


def test_what_inference_mode_wrote_may_go_on_outside():
    ours, theirs = GrowingLayer(), DynamicLayer()
    for step, mode in enumerate([True, False, True, False]):
        with torch.inference_mode(mode):
            new = states(2, seed=step)
            assert all(map(torch.equal, ours.update(*new), theirs.update(*new)))


def test_a_wider_type_is_not_rounded():
    ours, theirs = GrowingLayer(), DynamicLayer()
    for step, dtype in enumerate([torch.bfloat16, torch.float32]):
        new = states(2, seed=step, dtype=dtype)
        keys, values = ours.update(*new)
        expected = theirs.update(*new)
        assert keys.dtype == dtype
        assert torch.equal(keys, expected[0])
        assert torch.equal(values, expected[1])


def repeated(counts, length=5):
    """Keys and values of sources, each in as many rows."""
    return tuple(each.repeat_interleave(torch.tensor(counts), 0) for each in states(length, batch=len(counts)))


@pytest.mark.parametrize(
    ("counts", "sharing"),
    [([3, 3], 3), ([1, 1, 1], 1), ([2, 3], 1), ([4], 4), ([1], 1), ([2, 2, 2], 2), ([1, 2, 2], 1)],
    ids=str,
)
def test_rows_that_share_a_source_are_counted(counts, sharing):
    layer = SourceLayer()
    layer.update(*repeated(counts))
    assert layer.sharing() == sharing
    layer.values = layer.values.clone()
    layer.values[0] += 1  # alike in keys alone
    layer.keys = layer.keys.clone()
    assert layer.sharing() == (1 if sum(counts) > 1 else sharing)


@pytest.mark.parametrize(
    "beam_idx",
    [[0, 1, 2, 3, 4, 5], [2, 0, 0, 5, 5, 3], [3, 4, 5, 0, 1, 2], [0, 0, 0, 0, 0, 0], [5, 1], [2, 1, 0]],
    ids=str,
)
def test_sources_are_reordered_where_beams_change_places_with_another_texts(beam_idx):
    ours, theirs = SourceLayer(), DynamicLayer()
    ours.update(*repeated([3, 3])), theirs.update(*repeated([3, 3]))
    before = ours.keys
    for layer in (ours, theirs):
        layer.reorder_cache(torch.tensor(beam_idx))
    assert_equal_layers(ours, theirs)
    stays = [index // 3 for index in beam_idx] == [0, 0, 0, 1, 1, 1]
    assert (ours.keys is before) == stays


def test_only_empty_dynamic_layers_are_replaced():
    config = tiny_config(AtentaDecoderConfig)
    empty, lazy, filled = DynamicCache(config=config), DynamicCache(), DynamicCache(config=config)
    filled.update(*states(2), layer_idx=0)
    static = StaticCache(config, 8)
    for cache in (empty, lazy, filled, static):
        replace_layers(cache, GrowingLayer)
    lazy.update(*states(2), layer_idx=0)
    assert {type(layer) for layer in empty.layers} == {type(lazy.layers[0])} == {GrowingLayer}
    assert [type(layer) for layer in filled.layers] == [DynamicLayer, GrowingLayer]
    assert {type(layer) for layer in static.layers} == {StaticLayer}


def test_models_use_it_whoever_makes_the_cache():
    model, ids = tiny_model(AtentaDecoderForCausalLM), texts()
    for cache in (None, DynamicCache(), DynamicCache(config=model.config)):
        made = model(ids, past_key_values=cache, use_cache=True).past_key_values
        assert {type(layer) for layer in made.layers} == {GrowingLayer}
    generated = model.generate(ids, max_new_tokens=3, do_sample=False, return_dict_in_generate=True)
    cache = generated.past_key_values
    own = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
    assert {type(layer) for layer in own.layers} == {GrowingLayer}


def test_an_offloaded_cache_stays_as_it_is():
    cache = DynamicCache(config=tiny_config(AtentaDecoderConfig))
    cache.offloading = True  # transformers makes such a cache only where there is a GPU
    replace_layers(cache, GrowingLayer)
    assert {type(layer) for layer in cache.layers} == {DynamicLayer}


def test_outputs_of_earlier_steps_are_not_written_over():
    model, ids = tiny_model(AtentaDecoderForCausalLM), texts()
    with torch.no_grad():
        cache = model(ids[:, :5], use_cache=True).past_key_values
        keys = cache.layers[0].keys
        before = keys.clone()
        model(ids[:, 5:6], past_key_values=cache)
    assert_close(keys, before, 0)
