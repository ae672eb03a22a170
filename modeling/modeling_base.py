"""What the three families have in common as transformers models."""

import torch
from transformers import PreTrainedModel

from .attention import MultiHeadAttention
from .block import TransformerBlock

# For every model that holds blocks: each process keeps some heads, some columns of the feed-forward network and some
# tokens of the embeddings, which the output layer, split by tokens too, may be tied to.
TENSOR_PARALLEL_PLAN = {"embeddings.embed_tokens": "embedding_rowwise"} | {
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


def share_of_batch(
    loss: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
) -> torch.Tensor:
    """Weigh the mean loss of a part of a batch, as gradient accumulation makes them, so that the parts add up.

    Args:
        loss: mean over the labels of this part that are learned.
        labels: the labels that transformers' `Trainer` counts; -100 where nothing is learned.
        num_items_in_batch: their number in the whole batch; `None` when this is all of it.

    Returns:
        The part's share of the whole batch's mean.
    """
    if num_items_in_batch is None:
        return loss
    return loss * (labels != -100).sum() / num_items_in_batch
