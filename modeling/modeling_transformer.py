"""The base class of the three Transformer families, and the functions that their heads share."""

from typing import Any

import torch
from transformers import PreTrainedConfig
from transformers.utils import ModelOutput

from .attention import MultiHeadAttention
from .block import Dropout, TransformerBlock
from .modeling_base import AtentaPreTrainedModel


class AtentaTransformerPreTrainedModel(AtentaPreTrainedModel):
    """Base class of the Transformers: the features of transformers that all of them support."""

    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["TransformerBlock"]
    _skip_keys_device_placement = ["past_key_values", "cache"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": TransformerBlock, "attentions": MultiHeadAttention}


def check_one_input(input_ids: torch.Tensor | None, inputs_embeds: torch.Tensor | None) -> None:
    """Check that either token ids or embeddings were given, with at least one token, or raise ValueError."""
    if (input_ids is None) == (inputs_embeds is None):
        given = "neither" if input_ids is None else "both"
        raise ValueError(f"Expected exactly one of input_ids and inputs_embeds, got {given}.")
    name, tokens = ("input_ids", input_ids) if inputs_embeds is None else ("inputs_embeds", inputs_embeds)
    check_not_empty(name, tokens)


def check_not_empty(name: str, tokens: torch.Tensor) -> None:
    """Check that tokens, (batch, length, ...), have at least one text of at least one token, or raise ValueError."""
    if 0 in tokens.shape[:2]:
        raise ValueError(
            f"{name} has shape {tuple(tokens.shape)}; expected at least one text, of at least one token. Leave empty "
            "batches out; a text without characters still has its special tokens."
        )


def without_states(outputs: ModelOutput) -> dict[str, Any]:
    """Return the outputs of a stack that a model with a head has too: all but the vectors that the head reads."""
    return {name: value for name, value in outputs.items() if name not in ("last_hidden_state", "pooler_output")}


def classifier_dropout(config: PreTrainedConfig) -> Dropout:
    """Return the dropout before a classification head: `classifier_dropout`, or `dropout` if that is `None`."""
    return Dropout(config.dropout if config.classifier_dropout is None else config.classifier_dropout)


def share_of_batch(
    loss: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
) -> torch.Tensor:
    """Scale the mean loss of a micro-batch so that the losses of all micro-batches add up to the mean of the batch.

    Args:
        loss: mean over the labels of this micro-batch that are not -100.
        labels: the labels that transformers' `Trainer` counts; -100 is ignored.
        num_items_in_batch: number of labels in the whole batch; `None` if there is no gradient accumulation.

    Returns:
        The micro-batch's share of the batch's mean loss.
    """
    if num_items_in_batch is None:
        return loss
    return loss * (labels != -100).sum() / num_items_in_batch
