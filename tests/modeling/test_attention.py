"""Attention: the documents' worked examples, masks and weights, and where the documents are wrong."""

import pytest
import torch
from torch import nn
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask

from atenta.configuration import AtentaDecoderConfig
from atenta.modeling import AtentaDecoderModel, AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderModel
from atenta.modeling.attention import MultiHeadAttention, eager_attention_forward
from support.documents import LAST_DIGIT, worked_example
from support.models import assert_close, pad, texts, tiny_config, tiny_model

both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])


def one_head(inputs, attn_implementation, is_causal):
    """A layer of one head with an example's matrices, whose output is left as it is."""
    width, head_dim = inputs["W_Q"].shape
    config = AtentaDecoderConfig(
        hidden_size=width, num_attention_heads=1, head_dim=head_dim, position_embedding_type="learned"
    )
    config._attn_implementation = attn_implementation
    layer = MultiHeadAttention(config, layer_idx=0, is_causal=is_causal).double()
    layer.o_proj = nn.Identity()
    for name in ("q", "k", "v"):
        getattr(layer, f"{name}_proj").weight = nn.Parameter(inputs[f"W_{name.upper()}"].mT)
    return layer.requires_grad_(False)


def scores_of(layer, states):
    return layer.q_proj(states) @ layer.k_proj(states).mT * layer.scaling


@both_implementations
def test_every_word_sees_every_word(attn_implementation):
    """Document 1, three words: projections, scaled scores, weights and output."""
    inputs, exact = worked_example("1/three-words")
    layer, states = one_head(inputs, attn_implementation, is_causal=False), inputs["X"][None]
    for name in ("q", "k", "v"):
        assert_close(getattr(layer, f"{name}_proj")(states)[0], exact[name.upper()], LAST_DIGIT)
    assert_close(scores_of(layer, states)[0], exact["scores"], LAST_DIGIT)
    output, weights = layer(states)
    assert_close(output[0], exact["output"], LAST_DIGIT)
    if attn_implementation == "eager":
        assert_close(weights[0, 0], exact["weights"], LAST_DIGIT)


@both_implementations
def test_a_masked_word_has_no_weight(attn_implementation):
    """Document 1, five words, corrected: the mask is added before softmax, so that the other weights sum to 1."""
    inputs, exact = worked_example("1/five-tokens")
    layer, states = one_head(inputs, attn_implementation, is_causal=False), inputs["X"][None]
    last = int(inputs["query_position"])
    assert_close(layer.q_proj(states)[0, last], exact["q4"], LAST_DIGIT)
    assert_close(layer.k_proj(states)[0, 0], exact["k0"], LAST_DIGIT)
    assert_close(scores_of(layer, states)[0, last], exact["scores"], LAST_DIGIT)
    output, weights = layer(states, create_bidirectional_mask(layer.config, states, inputs["keep"][None].long()))
    assert_close(output[0, last], exact["context"], LAST_DIGIT)
    if attn_implementation == "eager":
        assert_close(weights[0, 0, last], exact["weights"], LAST_DIGIT)
        assert weights[0, 0, last, [1, 3]].tolist() == [0, 0]


@both_implementations
@pytest.mark.parametrize("scaled", ["unscaled", "scaled"])
def test_no_word_sees_a_later_one(attn_implementation, scaled):
    """Document 2, three words, corrected: causal, with and without the scaling of the scores."""
    inputs, exact = worked_example("2/projection-scoring-weighting")
    layer, states = one_head(inputs, attn_implementation, is_causal=True), inputs["X"][None]
    for name in ("q", "k", "v"):
        assert_close(getattr(layer, f"{name}_proj")(states)[0], exact[name.upper()], LAST_DIGIT)
    if scaled == "unscaled":
        layer.scaling = 1.0
        assert_close(scores_of(layer, states)[0], exact["unscaled_scores"], LAST_DIGIT)
    output, weights = layer(states, create_causal_mask(layer.config, states, None, None))
    assert_close(output[0], exact[f"output_{scaled}"], LAST_DIGIT)
    if attn_implementation == "eager":
        assert_close(weights[0, 0], exact[f"weights_{scaled}"], LAST_DIGIT)


def test_causal_weights_of_given_scores():
    """Document 2, four words, corrected."""
    inputs, exact = worked_example("2/causal-mask")
    scores = inputs["scores"][None, None]
    config = AtentaDecoderConfig()
    config._attn_implementation = "eager"
    mask = create_causal_mask(config, scores[0], None, None)
    identity = torch.eye(4, dtype=torch.float64)[None, None]
    output, weights = eager_attention_forward(nn.Module(), scores, identity, identity, mask, scaling=1.0)
    assert_close(weights[0, 0], exact["weights"], LAST_DIGIT)
    assert_close(output[0, :, 0], exact["weights"], LAST_DIGIT)


def weights_of(model, **inputs):
    """What a model gives when it is asked for all its attention weights."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def assert_weights(attentions, layers, shape, visible):
    """A tensor for each layer, rows that sum to 1 where anything is visible, exactly 0 on what is not.

    Args:
        visible: (batch, queries, keys), of the queries that are real.
    """
    assert [tuple(weights.shape) for weights in attentions] == [shape] * layers
    visible = visible[:, None].expand(shape).bool()
    for weights in attentions:
        rows = visible.any(-1)
        assert_close(weights.sum(-1)[rows], torch.ones(int(rows.sum())))
        assert (weights[rows][~visible[rows]] == 0).all()
        assert (weights[visible] > 0).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_weights_are_given_for_every_layer_and_head(side):
    ids, mask = pad(texts(), [9, 5, 2], side)
    visible = mask[:, :, None] * mask[:, None, :]

    outputs = weights_of(tiny_model(AtentaEncoderModel), input_ids=ids, attention_mask=mask)
    assert_weights(outputs.attentions, 2, (3, 4, 9, 9), visible)

    outputs = weights_of(tiny_model(AtentaDecoderModel), input_ids=ids, attention_mask=mask)
    assert_weights(outputs.attentions, 2, (3, 4, 9, 9), visible.tril())

    target, target_mask = pad(texts(3, 6, seed=2), [6, 1, 4], side)
    outputs = weights_of(
        tiny_model(AtentaEncoderDecoderForConditionalGeneration),
        input_ids=ids,
        attention_mask=mask,
        decoder_input_ids=target,
        decoder_attention_mask=target_mask,
    )
    assert_weights(outputs.encoder_attentions, 3, (3, 4, 9, 9), visible)
    target_visible = (target_mask[:, :, None] * target_mask[:, None, :]).tril()
    assert_weights(outputs.decoder_attentions, 2, (3, 4, 6, 6), target_visible)
    assert_weights(outputs.cross_attentions, 2, (3, 4, 6, 9), mask[:, None, :].expand(3, 6, 9))


def test_a_later_character_changes_nothing_before_it():
    """Self-attention is causal, and cross-attention carries no position's future (document 3, corrected)."""
    for model, inputs in (
        (tiny_model(AtentaDecoderModel), {}),
        (tiny_model(AtentaEncoderDecoderForConditionalGeneration), {"input_ids": texts(3, 7, seed=3)}),
    ):
        name = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
        ids = texts()
        other = ids.clone()
        other[:, 5:] = texts(seed=9)[:, 5:]
        with torch.no_grad():
            one, two = (model(**inputs, **{name: these})[0] for these in (ids, other))
        assert_close(one[:, :5], two[:, :5])
        assert not torch.allclose(one[:, 5:], two[:, 5:], atol=1e-2)


def test_the_whole_source_is_seen_from_the_first_character():
    """Cross-attention has no causal mask: keys and values come from the encoder (document 4)."""
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    source, target = texts(1, 7), texts(1, 3, seed=2)
    other = source.clone()
    other[:, -1] = (source[:, -1] - 2) % 37 + 3
    with torch.no_grad():
        one, two = (model(input_ids=ids, decoder_input_ids=target).logits for ids in (source, other))
    assert not torch.allclose(one[:, 0], two[:, 0], atol=1e-4)


@both_implementations
def test_the_padding_of_the_source_is_masked_in_self_and_cross_attention(attn_implementation):
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, attn_implementation=attn_implementation)
    (ids, mask), target = pad(texts(), [9, 5, 2], "right"), texts(3, 4, seed=2)
    other = torch.where(mask.bool(), ids, texts(seed=9))
    with torch.no_grad():
        one, two = (model(input_ids=these, attention_mask=mask, decoder_input_ids=target) for these in (ids, other))
        unmasked = model(input_ids=ids, decoder_input_ids=target)
        encoded = one.encoder_last_hidden_state
        cross_unmasked = model(encoder_outputs=(encoded,), decoder_input_ids=target)
    assert_close(one.logits, two.logits)
    assert_close(encoded[mask.bool()], two.encoder_last_hidden_state[mask.bool()])
    assert not torch.allclose(one.logits[1:], unmasked.logits[1:], atol=1e-3)
    assert not torch.allclose(one.logits[1:], cross_unmasked.logits[1:], atol=1e-3)


def test_each_decoder_block_projects_the_source_with_matrices_of_its_own():
    """The encoder's output is the same for all blocks, its keys and values are not (document 4, corrected)."""
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    model(input_ids=texts(3, 7), labels=texts(3, 5, seed=2)).loss.backward()
    for projection in ("k_proj", "v_proj"):
        first, second = (getattr(layer.cross_attn, projection).weight for layer in model.model.decoder.layers)
        assert first is not second
        assert not torch.allclose(first, second)
        assert not torch.allclose(first.grad, second.grad)


def test_attention_without_and_with_biases():
    for attention_bias in (False, True):
        model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, attention_bias=attention_bias)
        layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
        assert len(layers) == 3 + 2 + 2
        for layer in layers:
            biases = [name for name, _ in layer.named_parameters() if name.endswith("bias")]
            assert len(biases) == (4 if attention_bias else 0)


def test_attention_dropout_acts_in_training_only():
    for attn_implementation in ("eager", "sdpa"):
        model = tiny_model(AtentaDecoderModel, attention_dropout=0.5, attn_implementation=attn_implementation)
        ids = texts()
        with torch.no_grad():
            assert torch.equal(model(ids)[0], model(ids)[0])
            model.train()
            assert not torch.allclose(model(ids)[0], model(ids)[0], atol=1e-3)


def test_a_head_may_be_wider_or_narrower_than_its_share():
    config = tiny_config(AtentaDecoderConfig, head_dim=6)
    layer = MultiHeadAttention(config, layer_idx=0, is_causal=True)
    assert layer.q_proj.weight.shape == (4 * 6, 32)
    assert layer.o_proj.weight.shape == (32, 4 * 6)
    assert layer.scaling == 6**-0.5
    assert tiny_model(AtentaDecoderModel, head_dim=6)(texts())[0].shape == (3, 9, 32)
