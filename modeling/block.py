"""A Transformer block and its parts: dropout, feed-forward network, residual sum and LayerNorm (documents 4 and 5).

The attention of a block is in `attention.py`.
"""

from typing import Any

import torch
from torch import nn
from transformers import Cache, PreTrainedConfig
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import MultiHeadAttention
from .cache_layers import given_cache

DROPOUT_LEVELS = 1 << 16  # values of the 16 random bits that decide for each number


class Dropout(nn.Dropout):
    """`torch.nn.Dropout` with a faster random draw on a CPU (Srivastava et al., 2014; Vaswani et al., section 5.4).

    torch spends most of its time on a CPU drawing one random number for each number of the input. Here, each draw of
    64 bits decides for four numbers, with 16 bits each: a number is dropped with the probability `p`, rounded to a
    multiple of 1/65,536, and the other numbers are scaled up so that the mean stays the same. On other devices, and
    in compiled code, where the draw is fused with other operations, torch's own dropout is used.
    """

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Drop numbers of a tensor of any shape, and return a tensor of the same shape."""
        if not self.training or self.p == 0:
            return hidden_states
        dropped = round(self.p * DROPOUT_LEVELS)
        if hidden_states.device.type != "cpu" or dropped == DROPOUT_LEVELS or torch.compiler.is_compiling():
            return super().forward(hidden_states)
        draws = torch.empty(-(-hidden_states.numel() // 4), dtype=torch.int64, device="cpu").random_(-(1 << 63), None)
        levels = draws.view(torch.int16)[: hidden_states.numel()].view(hidden_states.shape)
        kept = (levels >= dropped - DROPOUT_LEVELS // 2).to(hidden_states.dtype)
        return hidden_states * kept.mul_(DROPOUT_LEVELS / (DROPOUT_LEVELS - dropped))


class FeedForward(nn.Module):
    """The position-wise feed-forward network, act(xW₁ + b₁)W₂ + b₂ (documents 1 and 4; Vaswani et al., equation 2)."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACT2FN[config.hidden_act]
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, hidden_size) to (batch, length, hidden_size), each position in the same way."""
        return self.down_proj(self.activation(self.up_proj(hidden_states)))


class AddAndNorm(nn.Module):
    """The frame of a sub-layer: dropout, residual sum and LayerNorm (document 4; Vaswani et al., section 3.1).

    LayerNorm comes after the sum or, with `norm_first`, before the sub-layer (Xiong et al., 2020).
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        self.norm_first = config.norm_first
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)

    def before(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Return the input of the sub-layer, (batch, length, hidden_size), of the same shape."""
        return self.norm(hidden_states) if self.norm_first else hidden_states

    def after(self, residual: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the input of the next sub-layer; both arguments and the result are (batch, length, hidden_size)."""
        hidden_states = residual + self.dropout(output)
        return hidden_states if self.norm_first else self.norm(hidden_states)


class TransformerBlock(GradientCheckpointingLayer):
    """Self-attention, cross-attention if there is an encoder to attend to, and a feed-forward network.

    An encoder's block has bidirectional self-attention and no cross-attention; a decoder's block is causal; a block of
    the encoder-decoder's decoder has all three sub-layers (document 4; document 3 leaves out two of the norms).

    Args:
        config: the model's hyper-parameters.
        layer_idx: index of the block.
        is_causal: whether self-attention hides later positions.
        cross_attention: whether the block has the sub-layer that attends to the encoder.
    """

    def __init__(
        self, config: PreTrainedConfig, layer_idx: int, is_causal: bool, cross_attention: bool = False
    ) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(config, layer_idx, is_causal=is_causal)
        self.self_attn_frame = AddAndNorm(config)
        self.cross_attn = MultiHeadAttention(config, layer_idx, is_causal=False) if cross_attention else None
        self.cross_attn_frame = AddAndNorm(config) if cross_attention else None
        self.rotary_cross_attention = cross_attention and config.rotary_cross_attention
        self.feed_forward = FeedForward(config)
        self.feed_forward_frame = AddAndNorm(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        encoder_position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """Apply the sub-layers in turn.

        Args:
            hidden_states: (batch, length, hidden_size).
            encoder_hidden_states: (batch, source_length, hidden_size), for a block with cross-attention.
            attention_mask: mask of self-attention, as built by transformers' `masking_utils`.
            encoder_attention_mask: mask of cross-attention, which hides the source's padding only.
            position_embeddings: rotary cosines and sines, (batch or 1, length, head_dim) each.
            encoder_position_embeddings: those of the source, (batch or 1, source_length, head_dim) each, for rotary
                cross-attention whose keys are not yet in the cache.
            past_key_values: cache, read and written in place; `cache` is another name for it.
            kwargs: passed to the attention implementation.

        Returns:
            (batch, length, hidden_size).
        """
        past_key_values = given_cache(past_key_values, kwargs)
        residual = hidden_states
        hidden_states, _ = self.self_attn(
            self.self_attn_frame.before(hidden_states),
            attention_mask=attention_mask,
            position_embeddings=position_embeddings,
            past_key_values=past_key_values,
            **kwargs,
        )
        hidden_states = self.self_attn_frame.after(residual, hidden_states)

        if self.cross_attn is not None:
            residual = hidden_states
            hidden_states, _ = self.cross_attn(
                self.cross_attn_frame.before(hidden_states),
                attention_mask=encoder_attention_mask,
                position_embeddings=position_embeddings if self.rotary_cross_attention else None,
                key_value_states=encoder_hidden_states,
                key_position_embeddings=encoder_position_embeddings,
                past_key_values=past_key_values,
                **kwargs,
            )
            hidden_states = self.cross_attn_frame.after(residual, hidden_states)

        residual = hidden_states
        hidden_states = self.feed_forward(self.feed_forward_frame.before(hidden_states))
        return self.feed_forward_frame.after(residual, hidden_states)
