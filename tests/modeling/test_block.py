"""Blocks against `torch.nn.TransformerEncoder` and `TransformerDecoder`, and their dropout and activations."""

from itertools import product

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from atenta import AtentaEncoderConfig, AtentaEncoderDecoderModel, AtentaEncoderModel
from atenta.modeling.block import AddAndNorm, FeedForward
from atenta.modeling.embeddings import Embeddings
from support.models import assert_close, assert_equal, double_model, pad, texts, tiny_config, tiny_model

every_block = pytest.mark.parametrize(
    "options",
    [
        {"norm_first": norm_first, "hidden_act": hidden_act, "attention_bias": attention_bias}
        for norm_first, hidden_act, attention_bias in product((False, True), ("relu", "gelu"), (False, True))
    ],
    ids=lambda options: (
        f"{'pre' if options['norm_first'] else 'post'}_norm-{options['hidden_act']}"
        f"{'-attention_bias' if options['attention_bias'] else ''}"
    ),
)
both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
both_sides = pytest.mark.parametrize("side", ["left", "right"])

ENCODER_PARTS = {
    "self_attn": "self_attn",
    "self_attn_frame.norm": "norm1",
    "feed_forward.up_proj": "linear1",
    "feed_forward.down_proj": "linear2",
    "feed_forward_frame.norm": "norm2",
}
DECODER_PARTS = ENCODER_PARTS | {
    "cross_attn": "multihead_attn",
    "cross_attn_frame.norm": "norm2",
    "feed_forward_frame.norm": "norm3",
}


def torch_stack(model, parts, layer_class, stack_class, **options):
    """Return torch's stack with the depth and the weights of our blocks and final norm."""
    config = model.config
    block = layer_class(
        config.hidden_size,
        config.num_attention_heads,
        config.intermediate_size,
        dropout=0.0,
        activation=config.hidden_act,
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
        norm_first=config.norm_first,
    )
    norm = nn.LayerNorm(config.hidden_size) if config.norm_first else None
    stack = stack_class(block, len(model.layers), norm, **options)
    for ours, theirs in zip(model.layers, stack.layers):
        theirs.load_state_dict(renamed({name: value.detach() for name, value in ours.named_parameters()}, parts))
    if norm is not None:
        stack.norm.load_state_dict(model.norm.state_dict())
    return stack.double().eval()


def renamed(values, parts):
    """Return our parameters or gradients under torch's names, with queries, keys and values as one matrix."""
    values, theirs = dict(values), {}
    for ours, name in parts.items():
        if not ours.endswith("attn"):
            for kind in ("weight", "bias"):
                theirs[f"{name}.{kind}"] = values[f"{ours}.{kind}"]
            continue
        for kind in ("weight", "bias"):
            zeros = torch.zeros_like(values["feed_forward_frame.norm.bias"])
            projections = [values.get(f"{ours}.{part}_proj.{kind}", zeros) for part in "qkvo"]
            theirs[f"{name}.in_proj_{kind}"] = torch.cat(projections[:3])
            theirs[f"{name}.out_proj.{kind}"] = projections[3]
    return theirs


def assert_equal_outputs_and_gradients(ours, theirs, layers, stack, parts):
    """Check that outputs, and the gradients of each parameter relative to their length, differ by rounding."""
    assert_equal(ours, theirs)
    direction = torch.randn_like(ours)
    (ours * direction).sum().backward()
    (theirs * direction).sum().backward()
    for own, other in zip(layers, stack.layers):
        gradients = renamed({name: parameter.grad for name, parameter in own.named_parameters()}, parts)
        for name, parameter in other.named_parameters():
            if own.self_attn.q_proj.bias is not None or not name.endswith(("in_proj_bias", "out_proj.bias")):
                assert (gradients[name] - parameter.grad).norm() < 1e-9 * parameter.grad.norm(), name


@every_block
@both_implementations
@both_sides
def test_encoder_equals_torch(options, attn_implementation, side):
    model = double_model(AtentaEncoderModel, attn_implementation=attn_implementation, **options)
    stack = torch_stack(
        model, ENCODER_PARTS, nn.TransformerEncoderLayer, nn.TransformerEncoder, enable_nested_tensor=False
    )
    ids, mask = pad(texts(), [9, 5, 2], side)
    outputs = model(ids, attention_mask=mask, output_hidden_states=True)
    real = mask.bool()
    theirs = stack(outputs.hidden_states[0].detach(), src_key_padding_mask=~real)
    assert_equal_outputs_and_gradients(
        outputs.last_hidden_state[real], theirs[real], model.layers, stack, ENCODER_PARTS
    )


@every_block
@both_implementations
@both_sides
def test_decoder_equals_torch(options, attn_implementation, side):
    model = double_model(AtentaEncoderDecoderModel, attn_implementation=attn_implementation, **options)
    stack = torch_stack(model.decoder, DECODER_PARTS, nn.TransformerDecoderLayer, nn.TransformerDecoder)
    source, source_mask = pad(texts(3, 7, seed=3), [3, 7, 1], side)
    ids, mask = pad(texts(), [9, 5, 2], side)
    outputs = model(
        input_ids=source,
        attention_mask=source_mask,
        decoder_input_ids=ids,
        decoder_attention_mask=mask,
        output_hidden_states=True,
    )
    real = mask.bool()
    # Torch gives NaN for a position that sees nothing, such as padding on the left, so each position sees itself.
    hidden = nn.Transformer.generate_square_subsequent_mask(9).isinf() | ~real[:, None]
    hidden &= ~torch.eye(9, dtype=torch.bool)
    theirs = stack(
        outputs.decoder_hidden_states[0].detach(),
        outputs.encoder_last_hidden_state.detach(),
        tgt_mask=hidden.repeat_interleave(4, dim=0),
        memory_key_padding_mask=~source_mask.bool(),
    )
    assert_equal_outputs_and_gradients(
        outputs.last_hidden_state[real], theirs[real], model.decoder.layers, stack, DECODER_PARTS
    )


def test_dropout_is_on_every_sub_layer_and_on_the_embeddings():
    """Document 4; Vaswani et al. (2017), section 5.4."""
    model = tiny_model(AtentaEncoderDecoderModel, dropout=0.25)
    owners = [module for module in model.modules() if isinstance(module, AddAndNorm | Embeddings)]
    assert [owner.dropout.p for owner in owners] == [0.25] * (2 + 3 * 2 + 2 * 3)  # of three blocks and two
    inputs = {"input_ids": texts(), "decoder_input_ids": texts(seed=2)}
    dropouts = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    assert len(dropouts) == len(owners)
    with torch.no_grad():
        assert torch.equal(model(**inputs)[0], model(**inputs)[0])
        model.train()
        for acting in dropouts:  # one at a time
            for module in dropouts:
                module.p = 0.25 if module is acting else 0.0
            assert not torch.allclose(model(**inputs)[0], model(**inputs)[0], atol=1e-3)


@pytest.mark.parametrize("hidden_act", sorted(ACT2FN))
def test_every_activation(hidden_act):
    network, states = FeedForward(tiny_config(AtentaEncoderConfig, hidden_act=hidden_act)), torch.randn(2, 3, 32)
    assert_equal(network(states), network.down_proj(ACT2FN[hidden_act](network.up_proj(states))))


def test_gelu_is_exact():
    """Document 1: the tanh form is close to the exact form but not equal to it."""
    states = torch.linspace(-3, 3, 50)
    exact, with_tanh = (
        FeedForward(tiny_config(AtentaEncoderConfig, hidden_act=name)).activation(states)
        for name in ("gelu", "gelu_pytorch_tanh")
    )
    assert_equal(exact, states * 0.5 * (1 + torch.erf(states / 2**0.5)))
    assert_close(exact, with_tanh, 1e-3)
    assert not torch.equal(exact, with_tanh)
