"""The feed-forward network: document 1's feature detector, and every activation of transformers."""

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from atenta.configuration import AtentaEncoderConfig
from atenta.modeling.feed_forward import FeedForward
from support.documents import LAST_DIGIT, worked_example
from support.models import assert_close, tiny_config


def test_feature_detector():
    """Document 1: hand-set weights find pairs of features, ReLU keeps what is found."""
    inputs, exact = worked_example("1/feature-detector")
    inner, width = inputs["W1"].shape
    network = FeedForward(
        AtentaEncoderConfig(hidden_size=width, num_attention_heads=1, intermediate_size=inner)
    ).double()
    network.up_proj.weight = nn.Parameter(inputs["W1"])
    network.up_proj.bias = nn.Parameter(inputs["b1"])
    network.down_proj = nn.Identity()
    assert_close(network.up_proj(inputs["context"]), exact["hidden"], LAST_DIGIT)
    assert_close(network(inputs["context"]), exact["relu"], LAST_DIGIT)


@pytest.mark.parametrize("hidden_act", sorted(ACT2FN))
def test_every_activation(hidden_act):
    config = tiny_config(AtentaEncoderConfig, hidden_act=hidden_act)
    network, states = FeedForward(config), torch.randn(2, 3, 32)
    output = network(states)
    expected = network.down_proj(ACT2FN[hidden_act](network.up_proj(states)))
    assert_close(output, expected)


def test_gelu_is_exact_and_the_other_its_approximation():
    """Document 1: the tanh form is close to the exact one and not equal to it."""
    states = torch.linspace(-3, 3, 50)[:, None].expand(-1, 32)
    outputs = []
    for hidden_act in ("gelu", "gelu_pytorch_tanh"):
        network = FeedForward(tiny_config(AtentaEncoderConfig, hidden_act=hidden_act))
        outputs.append(network.activation(states))
    assert_close(outputs[0], states * 0.5 * (1 + torch.erf(states / 2**0.5)))
    assert_close(outputs[0], outputs[1], 1e-3)
    assert not torch.equal(*outputs)
