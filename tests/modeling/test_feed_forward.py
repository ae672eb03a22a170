"""The feed-forward network with every activation of transformers."""

import pytest
import torch
from transformers.activations import ACT2FN

from atenta import AtentaEncoderConfig
from atenta.modeling.block import FeedForward
from support.models import assert_close, tiny_config


@pytest.mark.parametrize("hidden_act", sorted(ACT2FN))
def test_every_activation(hidden_act):
    config = tiny_config(AtentaEncoderConfig, hidden_act=hidden_act)
    network, states = FeedForward(config), torch.randn(2, 3, 32)
    output = network(states)
    expected = network.down_proj(ACT2FN[hidden_act](network.up_proj(states)))
    assert_close(output, expected)


def test_gelu_is_exact():
    """Document 1: the tanh form is close to the exact form but not equal to it."""
    states = torch.linspace(-3, 3, 50)[:, None].expand(-1, 32)
    outputs = []
    for hidden_act in ("gelu", "gelu_pytorch_tanh"):
        network = FeedForward(tiny_config(AtentaEncoderConfig, hidden_act=hidden_act))
        outputs.append(network.activation(states))
    assert_close(outputs[0], states * 0.5 * (1 + torch.erf(states / 2**0.5)))
    assert_close(outputs[0], outputs[1], 1e-3)
    assert not torch.equal(*outputs)
