"""One block of a Transformer: sub-layers, each with its residual sum and LayerNorm (documents 4 and 5)."""

import torch
from torch import nn
from transformers import Cache, PreTrainedConfig
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import MultiHeadAttention
from .dropout import Dropout
from .feed_forward import FeedForward


class AddAndNorm(nn.Module):
    """The frame of a sub-layer: dropout, residual sum and LayerNorm (document 4; Vaswani et al., section 3.1).

    LayerNorm comes after the sum, or before the sub-layer with `norm_first` (Xiong et al., 2020).
    """

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        self.norm_first = config.norm_first
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)

    def before(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """What the sub-layer reads: (batch, length, hidden_size), of the same shape."""
        return self.norm(hidden_states) if self.norm_first else hidden_states

    def after(self, residual: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """What the next sub-layer gets: all three are (batch, length, hidden_size)."""
        hidden_states = residual + self.dropout(output)
        return hidden_states if self.norm_first else self.norm(hidden_states)


class TransformerBlock(GradientCheckpointingLayer):
    """Self-attention, cross-attention where there is an encoder to look at, feed-forward.

    An encoder's block is neither causal nor does it look at another sequence; a decoder's is causal; an
    encoder-decoder's decoder has all three sub-layers (document 4, where document 3 leaves two of the norms out).

    Args:
        config: the model's hyper-parameters.
        layer_idx: number of the block.
        is_causal: whether self-attention hides later positions.
        cross_attention: whether the block has the sub-layer that attends to the encoder.
    """

    def __init__(self, config: PreTrainedConfig, layer_idx: int, is_causal: bool, cross_attention: bool = False):
        super().__init__()
        self.self_attn = MultiHeadAttention(config, layer_idx, is_causal=is_causal)
        self.self_attn_frame = AddAndNorm(config)
        self.cross_attn = MultiHeadAttention(config, layer_idx, is_causal=False) if cross_attention else None
        self.cross_attn_frame = AddAndNorm(config) if cross_attention else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_frame = AddAndNorm(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        past_key_values: Cache | None = None,
        **kwargs,
    ) -> torch.Tensor:
        """Pass through the sub-layers.

        Args:
            hidden_states: (batch, length, hidden_size).
            encoder_hidden_states: (batch, source_length, hidden_size), for a block with cross-attention.
            attention_mask: mask of self-attention, as transformers' `masking_utils` makes it.
            encoder_attention_mask: mask of cross-attention: the source's padding, nothing causal.
            position_embeddings: rotary cosines and sines, (batch or 1, length, head_dim) each.
            past_key_values: cache, read and written in place.
            kwargs: passed to the attention implementation.

        Returns:
            (batch, length, hidden_size).
        """
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
                key_value_states=encoder_hidden_states,
                past_key_values=past_key_values,
                **kwargs,
            )
            hidden_states = self.cross_attn_frame.after(residual, hidden_states)

        residual = hidden_states
        hidden_states = self.feed_forward(self.feed_forward_frame.before(hidden_states))
        return self.feed_forward_frame.after(residual, hidden_states)
