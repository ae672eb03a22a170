"""Document 3, positional encoding: its table, caching, device and data type."""

from unittest.mock import Mock

import pytest
import torch

from atenta import AtentaDecoderConfig, AtentaDecoderModel
from atenta.modeling.positions import SinusoidalPositions
from support.documents import LAST_DIGIT, farthest, worked_example
from support.models import assert_close, texts, tiny_model


def test_table_of_sinusoidal_positions():
    """Five positions of width 4 are printed correctly."""
    example = worked_example("3/sinusoidal-positions")
    config = AtentaDecoderConfig(
        hidden_size=example.inputs["d_model"], num_attention_heads=1, position_embedding_theta=example.inputs["theta"]
    )
    table = SinusoidalPositions(config)(torch.arange(example.inputs["tokens"])[None])[0].double()
    assert_close(table, example.exact["table"], LAST_DIGIT)
    assert farthest(table, example.printed["table"]) < 1e-4


def test_the_table_is_computed_once():
    """Printed: every call computes the table. The package keeps it."""
    model = tiny_model(AtentaDecoderModel)
    positions = model.embeddings.positions
    positions.compute = Mock(wraps=positions.compute)
    first, second = model(texts()).last_hidden_state, model(texts()).last_hidden_state
    assert positions.compute.call_count == 1
    assert torch.equal(first, second)


def test_positions_are_on_the_models_device():
    """Printed: a table on the CPU, which cannot be added to embeddings on another device."""
    model = tiny_model(AtentaDecoderModel).to("meta")
    ids = texts().to("meta")
    embedded = model.embeddings.embed_tokens(ids)
    on_cpu = SinusoidalPositions(model.config)(torch.arange(9)[None])
    with pytest.raises(RuntimeError, match="device"):
        embedded + on_cpu
    assert model(ids).last_hidden_state.device.type == "meta"
