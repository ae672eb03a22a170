"""Document 3, attention with several heads: shapes and the scaling factor."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from atenta import AtentaDecoderConfig
from atenta.modeling.attention import MultiHeadAttention
from support.documents import LAST_DIGIT, farthest, one_head, worked_example
from support.models import assert_close


def test_width_of_a_head():
    """Printed: h/d. It is d/h, since h/d is not an integer."""
    config = AtentaDecoderConfig(hidden_size=512, num_attention_heads=8)
    assert config.head_dim == 512 / 8
    with pytest.raises(StrictDataclassError, match="head_dim"):
        AtentaDecoderConfig(hidden_size=512, num_attention_heads=8, head_dim=8 / 512)

    config._attn_implementation = "eager"
    output, weights = MultiHeadAttention(config, layer_idx=0, is_causal=True)(torch.randn(2, 9, 512))
    assert weights.shape == (2, 8, 9, 9)
    assert output.shape == (2, 9, 512)


def test_scores_are_scaled_by_the_width_of_a_head():
    """Printed: √d, the width of the embeddings. It is √d_k: document 1's example has d = 4 and d_k = 3."""
    example = worked_example("1/three-words")
    layer = one_head(example.inputs, is_causal=False)
    assert layer.scaling == 3**-0.5
    _, weights = layer(example.inputs["X"][None])
    assert_close(weights[0, 0], example.exact["weights"], LAST_DIGIT)
    layer.scaling = 4**-0.5
    _, weights = layer(example.inputs["X"][None])
    assert farthest(weights[0, 0], example.exact["weights"]) > 5e-4
    assert MultiHeadAttention(AtentaDecoderConfig(), layer_idx=0, is_causal=True).scaling == 64**-0.5  # 8 heads of 512
