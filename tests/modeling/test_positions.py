"""Positions: sinusoidal, learned and rotary vectors, long texts, and counting over real tokens."""

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM, AtentaDecoderModel
from atenta.modeling.positions import RotaryPositions, SinusoidalPositions, apply_rotary
from support.models import assert_close, texts, tiny_config, tiny_model


def test_positions_are_added_to_the_scaled_embeddings():
    """Vaswani et al. (2017), sections 3.4 and 3.5."""
    model, ids = tiny_model(AtentaDecoderModel), texts()
    embeddings = model.embeddings
    table = SinusoidalPositions(model.config)(torch.arange(9)[None])
    expected = embeddings.embed_tokens.weight[ids] * 32**0.5 + table
    assert_close(model(ids, output_hidden_states=True).hidden_states[0], expected)
    unscaled = tiny_model(AtentaDecoderModel, scale_embedding=False)
    expected = unscaled.embeddings.embed_tokens.weight[ids] + table
    assert_close(unscaled(ids, output_hidden_states=True).hidden_states[0], expected)


def test_rotary_equals_llama():
    """Angles and rotation are those of transformers' Llama."""
    config = tiny_config(AtentaDecoderConfig, position_embedding_type="rotary", position_embedding_theta=500.0)
    rope = {"rope_type": "default", "rope_theta": 500.0}
    llama = LlamaRotaryEmbedding(LlamaConfig(hidden_size=32, num_attention_heads=4, rope_parameters=rope))
    query, key, positions = torch.randn(2, 4, 9, 8), torch.randn(2, 4, 9, 8), torch.arange(9)[None] + 3
    ours, theirs = RotaryPositions(config)(positions, torch.float32), llama(query, positions)
    assert_close(ours, theirs)
    rotated = apply_rotary(query, *ours), apply_rotary(key, *ours)
    assert_close(rotated, apply_rotary_pos_emb(query, key, *theirs))


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_texts_longer_than_in_training(kind):
    options = {"position_embedding_type": kind, "max_position_embeddings": 4}
    model, ids = tiny_model(AtentaDecoderForCausalLM, **options), texts(1, 50)
    assert model(ids).logits.isfinite().all()
    assert model.generate(ids, max_new_tokens=5, min_new_tokens=5).shape == (1, 55)


def test_learned_positions_end_with_their_table():
    options = {"position_embedding_type": "learned", "max_position_embeddings": 8}
    model = tiny_model(AtentaDecoderForCausalLM, **options)
    positions = model.model.embeddings.positions
    assert torch.equal(positions(torch.tensor([[2, 7]])), positions.weight[[2, 7]][None])
    with pytest.raises(ValueError, match=r"8 positions .*max_position_embeddings"):
        model(texts(1, 9))
    with pytest.raises(ValueError, match="max_position_embeddings"):
        model.generate(texts(1, 6), max_new_tokens=5, min_new_tokens=5)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_positions_keep_their_precision_in_half_precision(kind):
    """Angles are computed in float32 because bfloat16 rounds position 257 to 256."""
    model, places = tiny_model(AtentaDecoderModel, position_embedding_type=kind).bfloat16(), torch.tensor([[256, 257]])
    vectors = model.embeddings.positions(places) if kind == "sinusoidal" else model.rotary(places, torch.bfloat16)[0]
    assert not torch.allclose(vectors[0, 0].float(), vectors[0, 1].float(), atol=1e-2)
    assert model(texts(1, 5)).last_hidden_state.dtype == torch.bfloat16


@pytest.mark.parametrize("positions_class", [SinusoidalPositions, RotaryPositions])
def test_looked_up_equals_computed(positions_class):
    """The table grows up to a limit, and positions beyond it are computed."""
    positions = positions_class(tiny_config(AtentaDecoderConfig))
    for ids in ([[3, 0]], [[300, 700]], [[5, 16383]], [[2, 16384]], [[1_000_000]], [[-1, 4]], [[6, 7]]):
        ids = torch.tensor(ids)
        assert_close(positions.look_up(ids), positions.compute(ids), 1e-6)  # a few roundings of sines in float32
        assert positions.table is None or len(positions.table) <= positions.longest_table
    assert positions.look_up(torch.zeros(0, 4, dtype=torch.long)).shape[:2] == (0, 4)
    assert not positions.state_dict()


def test_a_table_made_in_inference_mode_may_be_trained_with():
    model, ids = tiny_model(AtentaDecoderForCausalLM, position_embedding_type="rotary"), texts()
    with torch.inference_mode():
        model(ids)
    model.train()(ids, labels=ids).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
