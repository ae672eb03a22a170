"""Blocks that read groups of characters: most of an encoder's depth on a fraction of its positions.

The form is that of CANINE (Clark et al., 2022): mix neighbours, pool a few characters into one position, run the deep
stack there, and give its answer back to the characters. A block costs as much for a group as for a character.
"""

import copy
from typing import Any

import torch
from torch import nn
from transformers.activations import ACT2FN
from transformers.masking_utils import create_bidirectional_mask

from ..configuration.configuration_encoder import AtentaEncoderConfig
from .block import Dropout, TransformerBlock
from .positions import RotaryPositions

DOWNSAMPLING_WINDOW = 5  # characters that are mixed before they are pooled: each one, and two to each side


class DownsampledBlocks(nn.Module):
    """A residual branch of an encoder: neighbours mixed, `downsampling_rate` characters to a group, blocks, and back.

    A group starts at each `downsampling_rate`-th character of a text, counted from its first one, wherever the padding
    is. Characters that the last group lacks count as zeros.
    """

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.rate = config.downsampling_rate
        self.local_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.neighbours = nn.Linear(DOWNSAMPLING_WINDOW * config.hidden_size, config.hidden_size)
        self.activation = ACT2FN[config.hidden_act]
        self.mix = nn.Linear(config.hidden_size, config.hidden_size)
        of_blocks = config_of_blocks(config)
        self.pool = nn.Linear(self.rate * config.hidden_size, of_blocks.hidden_size)
        self.rotary = RotaryPositions(of_blocks) if config.position_embedding_type == "rotary" else None
        self.blocks = nn.ModuleList(
            [TransformerBlock(of_blocks, index, is_causal=False) for index in range(of_blocks.num_hidden_layers)]
        )
        for block in self.blocks:
            block.self_attn.config = config  # where `set_attn_implementation` changes the attention
        self.norm = nn.LayerNorm(of_blocks.hidden_size, config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.unpool = nn.Linear(of_blocks.hidden_size, self.rate * config.hidden_size)
        self.dropout = Dropout(config.dropout)

    def forward(self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None, **kwargs: Any) -> torch.Tensor:
        """Add to each character what the blocks found out about its group.

        Args:
            hidden_states: (batch, length, hidden_size).
            attention_mask: (batch, length), 1 for real tokens and 0 for padding, on either side; or `None`.
            kwargs: passed to the attention implementation.

        Returns:
            (batch, length, hidden_size).

        Raises:
            ValueError: If the mask has another shape, from which the groups cannot be read.
        """
        batch, length = hidden_states.shape[:2]
        if attention_mask is None:
            attention_mask = torch.ones(batch, length, dtype=torch.long, device=hidden_states.device)
        elif attention_mask.ndim != 2:
            raise ValueError(
                f"attention_mask has {attention_mask.ndim} dimensions; expected (batch, length), because this model "
                "pools characters (downsampling_rate), and pairs of characters do not say which are padding."
            )
        padded = (length + self.rate - 1) // self.rate * self.rate
        # Texts are moved to the left and filled up by one look-up, which is a single graph for all lengths.
        first = attention_mask.int().argmax(-1, keepdim=True)
        moved = torch.arange(padded, device=first.device) + first  # (batch, padded)
        places = moved.clamp(max=length - 1)
        mask = attention_mask.gather(1, places) * (moved < length)
        states = look_up(hidden_states, places)  # (batch, padded, hidden_size)
        states = states + self._mix_neighbours(states, mask)
        states = states + self._read_groups(states, mask, **kwargs)
        return look_up(states, (torch.arange(length, device=first.device) - first).clamp(min=0))

    def _mix_neighbours(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what each character reads of its neighbours, (batch, padded, hidden_size)."""
        length, reach = states.shape[1], DOWNSAMPLING_WINDOW // 2
        inputs = self.local_norm(states)
        inputs = nn.functional.pad(inputs * mask.unsqueeze(-1).to(inputs.dtype), (0, 0, reach, reach))
        window = torch.cat([inputs[:, start : start + length] for start in range(DOWNSAMPLING_WINDOW)], dim=-1)
        return self.dropout(self.mix(self.activation(self.neighbours(window))))

    def _read_groups(self, states: torch.Tensor, mask: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Return what the blocks find for each character, (batch, padded, hidden_size)."""
        batch, length, width = states.shape
        inputs = (states * mask.unsqueeze(-1).to(states.dtype)).reshape(batch, -1, self.rate * width)
        pooled = self.pool(inputs).to(states.dtype)  # (batch, groups, downsampling_size)
        rotary = None
        if self.rotary is not None:
            positions = torch.arange(length // self.rate, device=pooled.device).unsqueeze(0)  # (1, groups)
            rotary = self.rotary(positions, pooled.dtype)
        seen = create_bidirectional_mask(self.config, pooled, mask.reshape(batch, -1, self.rate).amax(-1))
        for block in self.blocks:
            pooled = block(pooled, attention_mask=seen, position_embeddings=rotary, **kwargs)
        return self.dropout(self.unpool(self.norm(pooled)).reshape(states.shape))


def config_of_blocks(config: AtentaEncoderConfig) -> AtentaEncoderConfig:
    """Return the configuration of the blocks that read groups: their sizes, and all else as it is."""
    sizes = config.downsampling_sizes()
    config = copy.copy(config)
    config.hidden_size, config.num_attention_heads, config.num_hidden_layers = sizes
    config.head_dim = config.hidden_size // config.num_attention_heads
    config.intermediate_size = 4 * config.hidden_size
    return config


def look_up(states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the states (batch, length, width) at places of each text (batch, others): (batch, others, width)."""
    batch, length = states.shape[:2]
    rows = places + length * torch.arange(batch, device=places.device).unsqueeze(1)
    return nn.functional.embedding(rows, states.flatten(0, 1))  # faster in training than `gather`
