"""Decoding steps on the blocks' bare parameters: equal to the blocks' own, and taken only when they may be."""

import copy
import pickle
from contextlib import nullcontext

import pytest
import torch
from accelerate import cpu_offload
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrizations
from transformers import EncoderDecoderCache, StaticCache
from transformers.modeling_outputs import BaseModelOutput

from atenta.modeling import AtentaDecoderForCausalLM
from atenta.modeling.bare_blocks import BareBlocks
from support.models import (
    GENERATORS,
    all_layouts,
    assert_close,
    assert_equal,
    double_model,
    every_layout,
    named,
    pad,
    texts,
    tiny_model,
)

every_generator = pytest.mark.parametrize("model_class", named(GENERATORS))


@pytest.fixture
def steps(monkeypatch):
    """Collect the arguments of each step on bare parameters."""
    taken, step = [], BareBlocks.step

    def counted(self, *args):
        taken.append(args)
        return step(self, *args)

    monkeypatch.setattr(BareBlocks, "step", counted)
    return taken


def decode(model, ids, mask=None, source=None, source_mask=None, after_prompt=None, **options):
    """Read four characters at once and the others one by one.

    Args:
        after_prompt: called with the cache once the first four characters are read.

    Returns:
        The logits of all but the first four, (batch, length - 4, vocab_size).
    """
    given = {"use_cache": True, **options}
    if model.config.is_encoder_decoder:
        given |= {"input_ids": texts(len(ids), 7, seed=3) if source is None else source, "attention_mask": source_mask}
        names = ("decoder_input_ids", "decoder_attention_mask")
    else:
        names = ("input_ids", "attention_mask")
    cache, logits = None, []
    for start, end in ((0, 4), *((position, position + 1) for position in range(4, ids.shape[1]))):
        inputs = dict(zip(names, (ids[:, start:end], None if mask is None else mask[:, :end])))
        outputs = model(**inputs, past_key_values=cache, **given)
        cache = outputs.past_key_values
        if after_prompt and not logits:
            after_prompt(cache)
        logits.append(outputs.logits[:, -1])
    return torch.stack(logits[1:], dim=1)


def through_modules(model, *args, **options):
    """Do the same with a hook on a block, which has no effect except that bare steps are not allowed."""
    decoder = (model.get_decoder() if model.config.is_encoder_decoder else model.model).layers[0]
    hook = decoder.register_forward_hook(lambda *_: None)
    try:
        return decode(model, *args, **options)
    finally:
        hook.remove()


@all_layouts
@every_generator
@pytest.mark.parametrize(
    "options", [{}, {"attention_bias": True, "hidden_act": "gelu"}], ids=["default", "bias and gelu"]
)
@torch.no_grad()
def test_equal_to_the_blocks(model_class, layout, options, steps):
    model, ids = double_model(model_class, **layout, **options), texts()
    expected = through_modules(model, ids)
    assert not steps
    assert_equal(decode(model, ids), expected)
    assert len(steps) == 5


@every_layout
@every_generator
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_equal_to_the_blocks_with_padding(model_class, layout, side, steps):
    model, (ids, mask) = double_model(model_class, **layout), pad(texts(), [9, 7, 5], side)
    source, source_mask = pad(texts(3, 7, seed=3), [7, 3, 1], side)
    expected = through_modules(model, ids, mask, source, source_mask)
    assert not steps
    assert_equal(decode(model, ids, mask, source, source_mask), expected)
    assert len(steps) == 5


def share_sources(cache):
    """Make the keys and values of each three rows of one source equal to the last bit, as `generate` does.

    Products of equal rows are not: where a row is in its matrix may decide how it is rounded.
    """
    for layer in cache.cross_attention_cache.layers:
        layer.keys, layer.values = (states[::3].repeat_interleave(3, 0) for states in (layer.keys, layer.values))


@every_layout
@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@torch.no_grad()
def test_equal_to_the_blocks_where_beams_share_a_source(layout, padded, steps):
    """Three targets share each of two sources, whose keys and values are read once for all three."""
    model, ids = double_model(GENERATORS[1], **layout), texts(6)
    source, source_mask = pad(texts(2, 7, seed=3), [7, 4 if padded else 7], "right")
    source, source_mask = source.repeat_interleave(3, 0), source_mask.repeat_interleave(3, 0)
    expected = through_modules(model, ids, None, source, source_mask)
    assert_equal(decode(model, ids, None, source, source_mask, after_prompt=share_sources), expected)
    assert len(steps) == 5
    assert {layer.sharing() for layer in steps[-1][-1].cross_attention_cache.layers} == {3}


@torch.no_grad()
def test_rows_that_see_different_parts_of_one_source(steps):
    """Keys and values are equal but masks are not, which no encoder produces."""
    model, ids = double_model(GENERATORS[1]), texts(2)
    encoded = BaseModelOutput(torch.randn(1, 7, 32, dtype=torch.float64).expand(2, -1, -1))
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 3:] = 0
    expected = through_modules(model, ids, source=None, source_mask=mask, encoder_outputs=encoded)
    actual = decode(model, ids, source=None, source_mask=mask, encoder_outputs=encoded)
    assert_equal(actual, expected)
    assert len(steps) == 5


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
def test_beam_search_gives_what_the_blocks_give(padded, steps):
    model = double_model(GENERATORS[1])
    source, mask = pad(texts(3, 7, seed=3), [7, 4, 2] if padded else [7, 7, 7], "right")
    options = {"attention_mask": mask, "num_beams": 4, "num_return_sequences": 3, "max_new_tokens": 12}
    actual = model.generate(source, **options)
    assert steps
    model.model.decoder.layers[0].register_forward_hook(lambda *_: None)
    assert torch.equal(actual, model.generate(source, **options))


@every_generator
def test_generation_takes_bare_steps(model_class, steps):
    model, ids = double_model(model_class), texts()
    model.generation_config.eos_token_id = None
    model.generate(ids, max_new_tokens=9, do_sample=False)
    assert len(steps) == 8  # the prompt gives the first character


@every_generator
@torch.no_grad()
def test_bfloat16(model_class, steps):
    model, ids = tiny_model(model_class).bfloat16(), texts()
    assert_close(decode(model, ids).float(), through_modules(model, ids).float(), 0.05)
    assert len(steps) == 5


@torch.no_grad()
def test_new_weights_are_seen(steps):
    """Parameters are read at every step, also those that replace others."""
    model, other, ids = double_model(AtentaDecoderForCausalLM), double_model(AtentaDecoderForCausalLM, seed=1), texts()
    decode(model, ids)
    for mine, its in zip(model.modules(), other.modules()):
        for name, parameter in its._parameters.items():
            mine._parameters[name] = parameter
    steps.clear()
    assert_equal(decode(model, ids), decode(other, ids))
    assert len(steps) == 10


@torch.no_grad()
def test_another_block_is_seen(steps):
    model, other, ids = double_model(AtentaDecoderForCausalLM), double_model(AtentaDecoderForCausalLM, seed=1), texts()
    decode(model, ids)
    model.model.layers[1] = other.model.layers[1]
    model.model.layers[0].feed_forward = other.model.layers[0].feed_forward
    expected = through_modules(model, ids)
    steps.clear()
    assert_equal(decode(model, ids), expected)
    assert len(steps) == 5


class Doubled(nn.Linear):
    def forward(self, states):
        return 2 * super().forward(states)


def with_a_replaced_module(model):
    block = model.model.layers[1]
    block.self_attn.v_proj, old = Doubled(32, 32, bias=False, dtype=torch.float64), block.self_attn.v_proj
    block.self_attn.v_proj.load_state_dict(old.state_dict())


def hooked(model):
    model.model.layers[0].self_attn.o_proj.register_forward_hook(lambda module, inputs, output: output + 1)


def hooked_before(model):
    model.model.layers[1].feed_forward.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))


def wrapped(model):
    block = model.model.layers[1]
    forward = block.feed_forward.forward
    block.feed_forward.forward = lambda states: forward(states) * 2


def with_lora(model):
    adapted = get_peft_model(model, LoraConfig(target_modules="all-linear", init_lora_weights=False))
    adapted.eval()


def with_parametrization(model):
    parametrizations.weight_norm(model.model.layers[0].feed_forward.up_proj)


def in_int8(model):
    torch.ao.quantization.quantize_dynamic(model.model, {nn.Linear}, dtype=torch.qint8, inplace=True)


def fetched_by_accelerate(model):
    cpu_offload(model, execution_device="cpu")


def dropping_out(model):
    torch.manual_seed(0)
    for module in model.model.layers.modules():
        if isinstance(module, nn.Dropout):
            module.train()


def attending_eagerly(model):
    model.set_attn_implementation("eager")


CHANGES = [
    with_a_replaced_module,
    hooked,
    hooked_before,
    wrapped,
    with_lora,
    with_parametrization,
    in_int8,
    fetched_by_accelerate,
    dropping_out,
    attending_eagerly,
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torchao will replace torch.ao
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@torch.no_grad()
def test_not_taken_when_parameters_are_replaced_or_wrapped(change, steps):
    """The replacement takes effect. Cached logits equal uncached ones, except with dropout and with int8.

    In int8, rounding depends on all characters of a step.
    """
    kind = tiny_model if change in (in_int8, attending_eagerly) else double_model
    model, ids = kind(AtentaDecoderForCausalLM, dropout=0.5 if change is dropping_out else 0.0), texts()
    decode(model, ids)
    assert len(steps) == 5
    steps.clear()
    change(model)
    actual = decode(model, ids)
    assert not steps
    if change is dropping_out:
        assert not torch.equal(actual, decode(model, ids))
    elif change is in_int8:
        assert_equal(actual, through_modules(model, ids))
    else:
        assert_equal(actual, model(ids, use_cache=False).logits[:, 4:])


@pytest.mark.parametrize(
    ("options", "context"),
    [
        ({"output_attentions": True}, nullcontext()),
        ({"output_hidden_states": True}, nullcontext()),
        ({}, torch.enable_grad()),
        ({}, torch.autocast("cpu", torch.bfloat16)),
    ],
    ids=["attentions", "hidden states", "gradients", "autocast"],
)
@every_generator
def test_not_taken_where_more_is_requested(model_class, options, context, steps):
    model = tiny_model(model_class)
    with torch.no_grad(), context:
        decode(model, texts(), **options)
    assert not steps


@pytest.mark.parametrize("name", ["attentions", "hidden_states"])
@every_generator
@torch.no_grad()
def test_not_taken_where_the_configuration_requests_more(model_class, name, steps):
    model, ids = double_model(model_class, attn_implementation="eager" if name == "attentions" else "sdpa"), texts()
    prefix = "decoder_" if model.config.is_encoder_decoder else ""
    source = {"input_ids": ids} if prefix else {}
    cache = model(**source, **{f"{prefix}input_ids": ids}, use_cache=True).past_key_values
    setattr(model.config, f"output_{name}", True)
    outputs = model(**source, **{f"{prefix}input_ids": ids[:, :1]}, past_key_values=cache)
    assert not steps
    assert len(outputs[f"{prefix}{name}"]) == 2 + (name == "hidden_states")


@pytest.mark.parametrize("name", ["attentions", "hidden_states"])
@every_generator
@torch.no_grad()
def test_taken_again_after_more_was_requested(model_class, name, steps):
    """transformers leaves its recording hooks on the modules after their first use."""
    model, ids = double_model(model_class), texts()
    expected = decode(model, ids)
    model.set_attn_implementation("eager" if name == "attentions" else "sdpa")
    for _ in range(2):
        steps.clear()
        inputs = {"input_ids": ids} | ({"decoder_input_ids": ids} if model.config.is_encoder_decoder else {})
        recorded = model(**inputs, **{f"output_{name}": True})
        prefix = "decoder_" if model.config.is_encoder_decoder else ""
        assert len(recorded[f"{prefix}{name}"]) == 2 + (name == "hidden_states")
        decode(model, ids, **{f"output_{name}": True})
        assert not steps
        model.set_attn_implementation("sdpa")
        assert_equal(decode(model, ids), expected)
        assert len(steps) == 5
        model.set_attn_implementation("eager" if name == "attentions" else "sdpa")


@torch.no_grad()
def test_not_taken_with_a_hook_beside_the_recording_ones(steps):
    model, ids = double_model(AtentaDecoderForCausalLM), texts()
    model(ids, output_hidden_states=True)
    hook = model.model.layers[0].register_forward_hook(lambda module, inputs, output: output + 1)
    changed = decode(model, ids)
    assert not steps
    hook.remove()
    assert not torch.equal(decode(model, ids), changed)
    assert len(steps) == 5


@torch.no_grad()
def test_not_taken_where_a_tuple_is_returned(steps):
    model, ids = double_model(AtentaDecoderForCausalLM).model, texts()
    cache = model(ids, use_cache=True).past_key_values
    model.config.return_dict = False
    assert isinstance(model(input_ids=ids[:, :1], past_key_values=cache), tuple)
    assert not steps


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copied", "pickled"]
)
@torch.no_grad()
def test_a_copy_decides_for_itself(copied, steps):
    model, ids = double_model(AtentaDecoderForCausalLM, dropout=0.5), texts()
    expected = decode(model, ids)
    steps.clear()
    other = copied(model.train()).eval()
    assert_equal(decode(other, ids), expected)
    assert len(steps) == 5
    other.train()
    steps.clear()
    cache = other.eval()(ids, use_cache=True).past_key_values
    other.train()
    other(ids[:, :1], past_key_values=cache)
    assert not steps


@torch.no_grad()
def test_not_taken_with_a_hook_on_all_modules(steps):
    model, ids, seen = double_model(AtentaDecoderForCausalLM), texts(), []
    hook = register_module_forward_hook(lambda module, *_: seen.append(module))
    try:
        decode(model, ids)
    finally:
        hook.remove()
    assert not steps
    assert seen.count(model.model.layers[0].self_attn.q_proj) == 6


@torch.no_grad()
def test_masks_of_another_length_than_the_cache(steps):
    """The blocks' own path cuts longer masks and fills up shorter ones with zeros."""
    model, (ids, mask) = double_model(AtentaDecoderForCausalLM), pad(texts(), [9, 7, 5], "left")
    cache = model(ids[:, :4], attention_mask=mask[:, :4], use_cache=True).past_key_values
    expected = model(ids[:, :5], attention_mask=mask[:, :5], use_cache=False).logits[:, -1]
    places = (mask.cumsum(1) - 1).clamp(min=0)[:, 4:5]
    actual = model(ids[:, 4:5], attention_mask=mask, position_ids=places, past_key_values=cache).logits[:, -1]
    assert not steps
    real = mask[:, 4].bool()
    assert_equal(actual[real], expected[real])


@torch.no_grad()
def test_given_position_ids(steps):
    model, ids = double_model(AtentaDecoderForCausalLM), texts()
    places = torch.tensor([[7], [2], [40]])
    cache = model(ids[:, :4], use_cache=True).past_key_values
    actual = model(ids[:, 4:5], position_ids=places, past_key_values=cache).logits
    assert len(steps) == 1
    model.model.layers[0].register_forward_hook(lambda *_: None)
    cache = model(ids[:, :4], use_cache=True).past_key_values
    assert_equal(actual, model(ids[:, 4:5], position_ids=places, past_key_values=cache).logits)
    assert len(steps) == 1


@torch.no_grad()
def test_not_taken_with_a_static_cache(steps):
    model, ids = double_model(AtentaDecoderForCausalLM), texts()
    cache = StaticCache(model.config, 16)
    parts = [model(part, past_key_values=cache).logits for part in ids.split([4, 1, 1, 1, 1, 1], dim=1)]
    assert not steps
    assert_equal(torch.cat(parts, dim=1), model(ids, use_cache=False).logits)


@torch.no_grad()
def test_fewer_blocks_during_an_early_exit(steps):
    model, ids = double_model(AtentaDecoderForCausalLM), texts()
    model.config.num_hidden_layers = 1  # as `generate(assistant_early_exit=1)` does
    expected = through_modules(model, ids)
    steps.clear()
    assert_equal(decode(model, ids), expected)
    assert len(steps) == 5
    model.config.num_hidden_layers = 2
    assert_equal(decode(model, ids), through_modules(model, ids))


@torch.no_grad()
def test_an_encoder_decoder_needs_the_source_in_its_cache(steps):
    """The first character of a target is read while the source's keys and values are not cached yet."""
    model = double_model(GENERATORS[1])
    model(input_ids=texts(), decoder_input_ids=texts(3, 1), use_cache=True)
    assert not steps
    assert isinstance(model(input_ids=texts(), decoder_input_ids=texts(3, 1)).past_key_values, EncoderDecoderCache)
