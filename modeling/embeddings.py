"""Embeddings of tokens, segments and positions (document 3; Vaswani et al., 2017, sections 3.4 and 3.5)."""

import torch
from torch import nn
from transformers import PreTrainedConfig

from .block import Dropout
from .positions import ADDED_POSITIONS


class Embeddings(nn.Module):
    """Token vectors times √hidden_size, plus segment vectors, plus positions (unless rotary), then dropout.

    The factor keeps token vectors, which are initialized small, from being dominated by positions of magnitude 1.

    Args:
        config: the model's hyper-parameters.
        type_vocab_size: number of segments; 0 for none.
    """

    def __init__(self, config: PreTrainedConfig, type_vocab_size: int = 0) -> None:
        super().__init__()
        self.scale = config.hidden_size**0.5 if config.scale_embedding else 1.0
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.embed_segments = nn.Embedding(type_vocab_size, config.hidden_size) if type_vocab_size else None
        positions = ADDED_POSITIONS.get(config.position_embedding_type)
        self.positions = positions(config) if positions else None
        self.dropout = Dropout(config.dropout)

    def forward(
        self, inputs_embeds: torch.Tensor, position_ids: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Sum the vectors of each token.

        Args:
            inputs_embeds: (batch, length, hidden_size), rows of `embed_tokens` before the factor √hidden_size.
            position_ids: (batch or 1, length).
            token_type_ids: (batch, length), the segment of each token; defaults to the first segment for all.

        Returns:
            (batch, length, hidden_size).

        Raises:
            ValueError: If segments are given to a model without segments, or a position is beyond the learned ones.
        """
        hidden_states = inputs_embeds * self.scale
        if self.embed_segments is not None:
            if token_type_ids is None:
                token_type_ids = torch.zeros_like(position_ids)
            hidden_states = hidden_states + self.embed_segments(token_type_ids)
        elif token_type_ids is not None:
            raise ValueError(
                "Found token_type_ids; expected none, because this model has no segments (type_vocab_size=0). "
                "Leave them out."
            )
        if self.positions is not None:
            hidden_states = hidden_states + self.positions(position_ids).to(hidden_states.dtype)
        return self.dropout(hidden_states)
