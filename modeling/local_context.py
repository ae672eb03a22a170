"""Cheap context before the blocks of an encoder: n-grams of characters, hashed or shared, and short convolutions.

A single character says little. An embedding of the n characters that end at each position costs one look-up, and a
convolution a few multiplications, where a block of attention has to learn to find the neighbours first. The form is
that of CANINE's hashed embeddings and local first layer (Clark et al., 2022) with fastText's n-grams (Bojanowski et
al., 2017).
"""

import torch
from torch import nn

from ..configuration.configuration_encoder import AtentaEncoderConfig
from .block import Dropout

_MULTIPLIER, _MODULUS = 1_000_003, (1 << 31) - 1  # products stay below 2**51: the hash is exact in int64


class HashedNgrams(nn.Module):
    """A vector for each n-gram of tokens that ends at a position, from a table that n-grams share by their hash."""

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__()
        self.sizes = sorted(config.ngram_sizes or ())
        self.buckets = config.ngram_buckets
        self.pad_token_id = config.pad_token_id or 0
        self.table = nn.Embedding(len(self.sizes) * self.buckets, config.hidden_size)

    def forward(self, input_ids: torch.LongTensor) -> torch.Tensor:
        """Return the sum of the vectors of the n-grams of each size, (batch, length) to (batch, length, hidden_size).

        Before the first token there is padding, so that padding on the left changes nothing.
        """
        rows: list[torch.Tensor] = []
        input_ids = input_ids.long()  # type: ignore[assignment]  # in which the products are exact
        hashes = torch.zeros_like(input_ids)
        for distance in range(self.sizes[-1]):
            hashes = _extend(hashes, input_ids, distance, self.pad_token_id)
            if distance + 1 in self.sizes:
                rows.append(hashes % self.buckets + len(rows) * self.buckets)
        return self.table(torch.stack(rows, dim=-1)).sum(-2)


class SharedNgrams(nn.Module):
    """A vector for tokens inside an n-gram that occurs in the other segment too, such as a word of the question.

    A few hundred questions are not enough to learn to compare two texts letter by letter; whether a word of one is in
    the other is the feature that matters most then (Chen et al., 2017, "exact match").
    """

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__()
        self.sizes = sorted(config.shared_ngram_sizes or ())
        self.pad_token_id = config.pad_token_id or 0
        self.vectors = nn.Linear(len(self.sizes), config.hidden_size, bias=False)

    def forward(self, input_ids: torch.LongTensor, token_type_ids: torch.LongTensor) -> torch.Tensor:
        """Return the sum of the vectors of the sizes that each token shares, (batch, length, hidden_size).

        Both ids are (batch, length); `token_type_ids` has the segment of each token.
        """
        length = input_ids.shape[1]
        is_other = token_type_ids[:, :, None] != token_type_ids[:, None, :]
        input_ids = input_ids.long()  # type: ignore[assignment]
        hashes = torch.zeros_like(input_ids)
        inside: list[torch.Tensor] = []
        for size in range(1, self.sizes[-1] + 1):
            hashes = _extend(hashes, input_ids, size - 1, self.pad_token_id)
            if size in self.sizes:
                ends = (is_other & (hashes[:, :, None] == hashes[:, None, :])).any(-1)  # (batch, length)
                later = nn.functional.pad(ends, (0, size - 1))  # an n-gram that ends up to size - 1 tokens later
                inside.append(torch.stack([later[:, start : start + length] for start in range(size)]).any(0))
        return self.vectors(torch.stack(inside, dim=-1).to(self.vectors.weight.dtype))


def _extend(hashes: torch.Tensor, input_ids: torch.Tensor, distance: int, pad_token_id: int) -> torch.Tensor:
    """Return the hashes of the n-grams that end at each token, longer by the token at a distance before it."""
    earlier = nn.functional.pad(input_ids, (distance, 0), value=pad_token_id)[:, : input_ids.shape[1]]
    return (hashes * _MULTIPLIER + earlier + 1) % _MODULUS


class ShortConvolution(nn.Module):
    """A residual depth-wise convolution over a few neighbours, then a linear layer, before the first block."""

    def __init__(self, config: AtentaEncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.norm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.neighbours = nn.Conv1d(size, size, config.conv_kernel_size, padding="same", groups=size)
        self.activation = nn.GELU()
        self.mix = nn.Linear(size, size)
        self.dropout = Dropout(config.dropout)

    def forward(self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        """Map (batch, length, hidden_size) to the same shape. Padding, of a mask (batch, length), counts as zeros."""
        inputs = self.norm(hidden_states)
        if attention_mask is not None and attention_mask.ndim == 2:
            inputs = inputs * attention_mask.unsqueeze(-1).to(inputs.dtype)
        mixed = self.mix(self.activation(self.neighbours(inputs.transpose(1, 2)).transpose(1, 2)))
        return hidden_states + self.dropout(mixed)
