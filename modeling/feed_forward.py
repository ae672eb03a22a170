"""The position-wise feed-forward network (documents 1 and 4; Vaswani et al., 2017, equation 2)."""

import torch
from torch import nn
from transformers import PreTrainedConfig
from transformers.activations import ACT2FN


class FeedForward(nn.Module):
    """Linear, activation, linear, the same at every position: act(xW₁ + b₁)W₂ + b₂."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACT2FN[config.hidden_act]
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """(batch, length, hidden_size) → (batch, length, hidden_size)."""
        return self.down_proj(self.activation(self.up_proj(hidden_states)))
