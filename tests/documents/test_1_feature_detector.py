"""Document 1: a feed-forward network with weights set by hand detects features and pairs of features."""

from torch import nn

from atenta import AtentaEncoderConfig
from atenta.modeling.block import FeedForward
from support.documents import LAST_DIGIT, worked_example
from support.models import assert_close


def test_feature_detector():
    example = worked_example("1/feature-detector")
    inner, width = example.inputs["W1"].shape
    network = FeedForward(
        AtentaEncoderConfig(hidden_size=width, num_attention_heads=1, intermediate_size=inner)
    ).double()
    network.up_proj.weight = nn.Parameter(example.inputs["W1"])
    network.up_proj.bias = nn.Parameter(example.inputs["b1"])
    network.down_proj = nn.Identity()
    found = network(example.inputs["context"])
    assert_close(network.up_proj(example.inputs["context"]), example.exact["hidden"], LAST_DIGIT)
    assert_close(found, example.exact["relu"], LAST_DIGIT)
    names = [name for name, strength in zip(example.inputs["feature_names"], found) if strength > 0]
    assert names == ["bateria", "executado", "bias", "bateria e executado"]
