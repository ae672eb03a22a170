"""Plain torch: the machine's limit in decoding and matrix products, and `torch.nn` models for the Trainer."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel

from atenta.modeling.positions import SinusoidalPositions
from benchmarks.measuring import VOCABULARY, Settings, Size, timed


def matrix_product_rate(settings: Settings) -> float:
    """Return the floating-point operations per second of a product of two large square matrices."""
    side = 8192 if settings.on_gpu else 2048
    one, other = torch.rand(2, side, side, dtype=settings.dtype, device=settings.device).unbind()
    _ = one @ other  # the first product also loads and chooses kernels
    return 2 * side**3 / timed(lambda: one @ other, settings)


class GreedyLimit:
    """Greedy decoding with the weights of one of our generating models, with almost no code around the kernels.

    The outputs equal those of `generate` if the input has no padding and no text is ended by `<eos>`.
    """

    def __init__(self, model: PreTrainedModel, batch_size: int, max_length: int):
        weights, config = model.state_dict(), model.config
        self.output = weights["lm_head.weight"], weights["lm_head.bias"]
        self.start, self.encoder = None, None
        sizes = config, batch_size, max_length
        if config.is_encoder_decoder:
            self.start = config.decoder_start_token_id
            self.encoder = BareStack(_below(weights, "model.encoder."), config.encoder_layers, *sizes)
            self.decoder = BareStack(_below(weights, "model.decoder."), config.decoder_layers, *sizes)
        else:
            self.decoder = BareStack(_below(weights, "model."), config.num_hidden_layers, *sizes)

    @torch.inference_mode()
    def generate(self, input_ids: torch.Tensor, max_new_tokens: int) -> torch.Tensor:
        """Return the decoder's prompt and its new tokens, (batch, length), as `generate` does without padding."""
        if self.encoder is not None:
            self.decoder.set_source(self.encoder.read(input_ids, 0, causal=False))
            input_ids = torch.full_like(input_ids[:, :1], self.start)
        past, tokens = 0, [input_ids]
        for _ in range(max_new_tokens):
            states = self.decoder.read(tokens[-1], past, causal=True)
            past += tokens[-1].shape[1]
            tokens.append(F.linear(states[:, -1], *self.output).argmax(-1, keepdim=True))
        return torch.cat(tokens, dim=1)


class BareStack:
    """Blocks of our default layout (LayerNorm after the sum, ReLU, sinusoidal positions), computed from the weights.

    One matrix product gives queries, keys and values. Keys and values are stored in a tensor allocated beforehand.
    """

    def __init__(
        self,
        weights: Mapping[str, torch.Tensor],
        layers: int,
        config: PreTrainedConfig,
        batch_size: int,
        max_length: int,
    ):
        self.heads, self.head_dim, self.epsilon = config.num_attention_heads, config.head_dim, config.layer_norm_eps
        tokens = weights["embeddings.embed_tokens.weight"]
        self.tokens = tokens * config.hidden_size**0.5
        places = torch.arange(max_length, device=tokens.device)[None]
        self.positions = SinusoidalPositions(config)(places)[0].to(tokens.dtype)
        self.blocks = [_block(weights, f"layers.{number}.") for number in range(layers)]
        shape = (layers, 2, batch_size, self.heads, max_length, self.head_dim)
        self.cache = tokens.new_empty(shape).unbind()
        self.sources: list[tuple[torch.Tensor, torch.Tensor]] | None = None

    def set_source(self, source: torch.Tensor) -> None:
        """Compute the cross-attention keys and values from the encoder's output (batch, source length, width)."""
        self.sources = [self._heads(F.linear(source, block["cross_kv"]), 2) for block in self.blocks]

    def read(self, ids: torch.Tensor, past: int, causal: bool) -> torch.Tensor:
        """Return states (batch, length, width) for ids (batch, length) that follow `past` others."""
        length = ids.shape[1]
        end = past + length
        states = F.embedding(ids, self.tokens) + self.positions[past:end]
        for number, (block, (keys, values)) in enumerate(zip(self.blocks, self.cache)):
            query, key, value = self._heads(F.linear(states, block["qkv"]), 3)
            keys[:, :, past:end], values[:, :, past:end] = key, value
            attended = self._attend(query, keys[:, :, :end], values[:, :, :end], causal and length > 1)
            states = self._add(states, F.linear(attended, block["out"]), block["norm"])
            if self.sources is not None:
                (query,) = self._heads(F.linear(states, block["cross_q"]), 1)
                attended = self._attend(query, *self.sources[number], False)
                states = self._add(states, F.linear(attended, block["cross_out"]), block["cross_norm"])
            inner = F.linear(states, *block["up"]).relu_()
            states = self._add(states, F.linear(inner, *block["down"]), block["feed_forward_norm"])
        return states

    def _heads(self, states: torch.Tensor, parts: int) -> tuple[torch.Tensor, ...]:
        batch, length, _ = states.shape
        return states.view(batch, length, parts, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind()

    def _attend(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, causal: bool) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, keys, values, is_causal=causal).transpose(1, 2).flatten(2)

    def _add(self, states: torch.Tensor, output: torch.Tensor, norm: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return F.layer_norm(states + output, states.shape[-1:], *norm, self.epsilon)


def _below(weights: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def _block(weights: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor | tuple[torch.Tensor, ...]]:
    own = _below(weights, prefix)

    def projections(attention: str, letters: str) -> torch.Tensor:
        return torch.cat([own[f"{attention}.{letter}_proj.weight"] for letter in letters])

    def affine(name: str) -> tuple[torch.Tensor, torch.Tensor]:
        return own[f"{name}.weight"], own[f"{name}.bias"]

    block = {
        "qkv": projections("self_attn", "qkv"),
        "out": projections("self_attn", "o"),
        "norm": affine("self_attn_frame.norm"),
        "up": affine("feed_forward.up_proj"),
        "down": affine("feed_forward.down_proj"),
        "feed_forward_norm": affine("feed_forward_frame.norm"),
    }
    if "cross_attn.q_proj.weight" in own:
        block |= {
            "cross_q": projections("cross_attn", "q"),
            "cross_kv": projections("cross_attn", "kv"),
            "cross_out": projections("cross_attn", "o"),
            "cross_norm": affine("cross_attn_frame.norm"),
        }
    return block


class TorchModel(nn.Module):
    """torch's own blocks of one family, between embeddings (tokens and learned positions) and an output layer.

    Dropout is where ours has it: on the embeddings and on the output of each sub-layer. Torch's further dropout, on
    attention weights and inside the feed-forward network, is turned off.
    """

    def __init__(self, family: str, size: Size, positions: int = 512, dropout: float = 0.1):
        super().__init__()
        self.family = family
        self.tokens = nn.Embedding(VOCABULARY, size.width)
        self.positions = nn.Embedding(positions, size.width)
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
