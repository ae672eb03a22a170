"""`torch.nn.Transformer` and `TransformerEncoder` as models that transformers' Trainer can train."""

import torch
from torch import nn

from benchmarks.sizes import VOCABULARY, Size


class _Model(nn.Module):
    """Embeddings (tokens and learned positions) and an output layer around torch's blocks.

    Dropout is where ours has it: on embeddings and on what a sub-layer puts out, neither on attention weights nor
    inside the feed-forward network, where torch has it too.
    """

    def __init__(self, size: Size, positions: int = 512, dropout: float = 0.1):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, size.width)
        self.positions = nn.Embedding(positions, size.width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = self.make_blocks(size, dropout)
        self.output = nn.Linear(size.width, VOCABULARY)
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, length) → (batch, length, width)."""
        return self.dropout(self.tokens(ids) + self.positions.weight[: ids.shape[1]])

    def loss(self, states: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """What the Trainer reads, from states (batch, length, width) and labels (batch, length)."""
        logits = self.output(states)
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


def _encoder(size: Size, dropout: float) -> nn.Module:
    layer = nn.TransformerEncoderLayer(size.width, size.heads, size.inner, dropout, batch_first=True)
    return nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)


def _causal_mask(length: int, like: torch.Tensor) -> torch.Tensor:
    return nn.Transformer.generate_square_subsequent_mask(length, device=like.device, dtype=like.dtype)


class MaskedModel(_Model):
    """A `TransformerEncoder` that guesses masked characters."""

    make_blocks = staticmethod(_encoder)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Both are (batch, length)."""
        return self.loss(self.blocks(self.embed(input_ids)), labels)


class CausalModel(_Model):
    """A `TransformerEncoder` with a causal mask."""

    make_blocks = staticmethod(_encoder)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Both are (batch, length), the labels unshifted."""
        states = self.embed(input_ids)
        states = self.blocks(states, mask=_causal_mask(states.shape[1], states), is_causal=True)
        return self.loss(states[:, :-1], labels[:, 1:])


class TranslationModel(_Model):
    """A `Transformer`, encoder and decoder."""

    @staticmethod
    def make_blocks(size: Size, dropout: float) -> nn.Module:
        """Both stacks."""
        return nn.Transformer(size.width, size.heads, size.layers, size.layers, size.inner, dropout, batch_first=True)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """(batch, source length) and (batch, target length)."""
        target = self.embed(labels.roll(1, dims=-1))
        mask = _causal_mask(target.shape[1], target)
        return self.loss(self.blocks(self.embed(input_ids), target, tgt_mask=mask, tgt_is_causal=True), labels)
