"""Plain torch: the machine's limit, the rate of matrix products, and `torch.nn` models for the Trainer."""

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.measuring import POSITIONS, VOCABULARY, Settings, Size, timed


def matrix_product_rate(settings: Settings) -> float:
    """Return the floating-point operations per second of a product of two large square matrices."""
    side = 8192 if settings.on_gpu else 2048
    one, other = torch.rand(2, side, side, dtype=settings.dtype, device=settings.device).unbind()
    _ = one @ other  # the first product also loads and chooses kernels
    return 2 * side**3 / timed(lambda: one @ other, settings)


class TorchModel(nn.Module):
    """torch's own blocks of one family, between embeddings (tokens and learned positions) and an output layer.

    Dropout is where ours has it: on the embeddings and on the output of each sub-layer. Torch's further dropout, on
    attention weights and inside the feed-forward network, is turned off.
    """

    def __init__(self, family: str, size: Size, dropout: float = 0.1):
        super().__init__()
        self.family = family
        self.tokens = nn.Embedding(VOCABULARY, size.width)
        self.positions = nn.Embedding(POSITIONS, size.width)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(size.width, VOCABULARY)
        options = {"dim_feedforward": size.inner, "dropout": dropout, "batch_first": True}
        if family == "encoder-decoder":
            self.blocks = nn.Transformer(size.width, size.heads, size.layers, size.layers, **options)
        else:
            layer = nn.TransformerEncoderLayer(size.width, size.heads, **options)
            self.blocks = nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the Trainer's outputs for ids and labels, (batch, length); those of a decoder are not shifted."""
        states = self._embed(input_ids)
        if self.family == "encoder":
            states = self.blocks(states)
        else:
            mask = nn.Transformer.generate_square_subsequent_mask(labels.shape[1], states.device, states.dtype)
            if self.family == "decoder":
                states, labels = self.blocks(states, mask=mask, is_causal=True)[:, :-1], labels[:, 1:]
            else:
                target = self._embed(labels.roll(1, dims=-1))
                states = self.blocks(states, target, tgt_mask=mask, tgt_is_causal=True)
        logits = self.output(states)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.tokens(ids) + self.positions.weight[: ids.shape[1]])
