"""What the three families have in common as transformers models."""

from transformers import PreTrainedModel

from .attention import MultiHeadAttention
from .block import TransformerBlock

# For every model that holds blocks: each process keeps some heads and some columns of the feed-forward network.
TENSOR_PARALLEL_PLAN = {
    f"layers.*.{layer}": style
    for layer, style in {
        "self_attn.q_proj": "colwise",
        "self_attn.k_proj": "colwise",
        "self_attn.v_proj": "colwise",
        "self_attn.o_proj": "rowwise",
        "feed_forward.up_proj": "colwise",
        "feed_forward.down_proj": "rowwise",
    }.items()
}


class AtentaPreTrainedModel(PreTrainedModel):
    """What every model declares to transformers: how it may attend, be split, checkpointed, compiled and recorded."""

    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["TransformerBlock"]
    _skip_keys_device_placement = ["past_key_values"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": TransformerBlock, "attentions": MultiHeadAttention}
