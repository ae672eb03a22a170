"""The machine's limit: the arithmetic of decoding with nothing around it, and the rate of a bare matrix product."""

from collections.abc import Mapping

import torch
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from atenta.modeling.positions import SinusoidalPositions
from benchmarks.measure import timed
from benchmarks.settings import Settings


def matrix_product_rate(settings: Settings) -> float:
    """Return the floating-point operations a second of a product of two large square matrices."""
    side = 8192 if settings.on_gpu else 2048
    one, other = torch.rand(2, side, side, dtype=settings.dtype, device=settings.device).unbind()
    _ = one @ other  # the first one also loads and chooses kernels
    return 2 * side**3 / timed(lambda: one @ other, settings.wait)


class GreedyLimit:
    """Greedy decoding with the weights of one of our generating models, and nothing but kernels.

    Its outputs are those of `generate` where nothing is padded and no `<eos>` ends a text.
    """

    def __init__(self, model: PreTrainedModel, batch_size: int, max_length: int):
        """Take the weights and make the cache.

        Args:
            model: an encoder-decoder, or a decoder for causal language modelling, of the default layout.
            batch_size: rows of what it reads.
            max_length: most tokens of a row, read and written.
        """
        weights, config = model.state_dict(), model.config
        self.output = weights["lm_head.weight"], weights["lm_head.bias"]
        self.start, self.encoder = None, None
        if config.is_encoder_decoder:
            self.start = config.decoder_start_token_id
            self.encoder = LeanStack(
                _below(weights, "model.encoder."), config, config.encoder_layers, batch_size, max_length
            )
            self.decoder = LeanStack(
                _below(weights, "model.decoder."), config, config.decoder_layers, batch_size, max_length
            )
        else:
            self.decoder = LeanStack(
                _below(weights, "model."), config, config.num_hidden_layers, batch_size, max_length
            )

    @torch.inference_mode()
    def generate(
        self, input_ids: torch.Tensor, max_new_tokens: int, streamer: BaseStreamer | None = None
    ) -> torch.Tensor:
        """Return what the decoder has read and written, (batch, length), as `generate` does.

        Args:
            input_ids: (batch, length), a prompt or a source without padding.
            max_new_tokens: that are written.
            streamer: is given the ids of each step.
        """
        if self.encoder is not None:
            self.decoder.look_at(self.encoder.read(input_ids, 0, causal=False))
            input_ids = torch.full_like(input_ids[:, :1], self.start)
        past, written = 0, [input_ids]
        for _ in range(max_new_tokens):
            states = self.decoder.read(written[-1], past, causal=True)
            past += written[-1].shape[1]
            written.append(F.linear(states[:, -1], *self.output).argmax(-1, keepdim=True))
            if streamer is not None:
                streamer.put(written[-1])
        return torch.cat(written, dim=1)


class LeanStack:
    """Blocks of our default layout (LayerNorm behind the sum, ReLU, sinusoidal positions) by their weights alone.

    Queries, keys and values are one product; keys and values lie in one tensor made beforehand.
    """

    def __init__(
        self,
        weights: Mapping[str, torch.Tensor],
        config: PreTrainedConfig,
        layers: int,
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

    def look_at(self, source: torch.Tensor) -> None:
        """Compute the cross-attention's keys and values of the encoder's output (batch, source length, width)."""
        self.sources = [self._heads(F.linear(source, block["cross_kv"]), 2) for block in self.blocks]

    def read(self, ids: torch.Tensor, past: int, causal: bool) -> torch.Tensor:
        """(batch, length) of ids behind `past` others → (batch, length, width)."""
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
