"""From ids to vectors: token, segment and position (document 3; Vaswani et al., 2017, sections 3.4 and 3.5)."""

import torch
from torch import nn
from transformers import PreTrainedConfig

from .dropout import Dropout
from .positions import ADDED_POSITIONS


class Embeddings(nn.Module):
    """Token vectors times √hidden_size, plus segment vectors, plus positions (unless rotary), then dropout.

    The factor keeps the positions, which are of size 1, from drowning tokens that start small.
    """

    def __init__(self, config: PreTrainedConfig, type_vocab_size: int = 0):
        super().__init__()
        self.scale = config.hidden_size**0.5 if config.scale_embedding else 1.0
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.embed_segments = nn.Embedding(type_vocab_size, config.hidden_size) if type_vocab_size else None
        positions = ADDED_POSITIONS.get(config.position_embedding_type)
        self.positions = positions(config) if positions else None
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        inputs_embeds: torch.Tensor,
        position_ids: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Add up what is known of each token.

        Args:
            inputs_embeds: (batch, length, hidden_size), rows of `embed_tokens` before the factor.
            position_ids: (batch or 1, length).
            token_type_ids: (batch, length), the segment of each token; all in the first one unless given.

        Returns:
            (batch, length, hidden_size).

        Raises:
            ValueError: segments are given to a model that has none, or learned positions do not reach so far.
        """
        hidden_states = inputs_embeds * self.scale
        if self.embed_segments is not None:
            if token_type_ids is None:
                token_type_ids = torch.zeros_like(position_ids)
            hidden_states = hidden_states + self.embed_segments(token_type_ids)
        elif token_type_ids is not None:
            raise ValueError("token_type_ids were given, but this model tells no segments apart (type_vocab_size=0).")
        if self.positions is not None:
            hidden_states = hidden_states + self.positions(position_ids).to(hidden_states.dtype)
        return self.dropout(hidden_states)
