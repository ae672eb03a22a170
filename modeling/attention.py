"""Multi-head self-attention and cross-attention (documents 2 and 3; Vaswani et al., 2017, section 3.2)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from transformers import Cache, EncoderDecoderCache, PreTrainedConfig
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .cache_layers import SourceLayer
from .positions import apply_rotary

# Implementations whose masks are tensors (batch, heads, query_length, key_length).
WITH_TENSOR_MASKS = ("eager", "sdpa")


def eager_attention_forward(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute scaled dot-product attention, softmax(QKᵀ·scaling + mask)V (document 2; Vaswani et al., equation 1).

    The mask is added to the scores, with the lowest number of its type at positions that must not be seen. Multiplying
    a score by 0, as document 1 does, does not hide a position, because exp(0) = 1.

    Args:
        module: the attention layer; dropout is applied if its `training` is true.
        query: (batch, heads, query_length, head_dim).
        key: (batch, heads, key_length, head_dim).
        value: (batch, heads, key_length, head_dim).
        attention_mask: added to the scores, broadcast to (batch, heads, query_length, key_length), or `None`.
        scaling: factor that multiplies the scores, 1/√head_dim.
        dropout: dropout probability on the weights.
        kwargs: arguments of other attention implementations; not used here.

    Returns:
        Output (batch, query_length, heads, head_dim) and weights (batch, heads, query_length, key_length).
    """
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling  # (batch, heads, query_length, key_length)
    if attention_mask is not None:
        scores = scores + attention_mask
    precision = torch.promote_types(query.dtype, torch.float32)  # at least: half precision would sum too roughly
    weights = nn.functional.softmax(scores, dim=-1, dtype=precision).to(query.dtype)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


def beams_as_positions(states: torch.Tensor, beams: int) -> torch.Tensor:
    """Return rows of one position each as positions of fewer rows.

    Args:
        states: queries or a mask, (sources · beams, heads, 1, width).
        beams: number of consecutive rows that share a source.

    Returns:
        (sources, heads, beams, width).
    """
    return states.squeeze(2).unflatten(0, (-1, beams)).transpose(1, 2)


class MultiHeadAttention(nn.Module):
    """Attention with `num_attention_heads` heads of width `head_dim`, without biases by default.

    Self-attention takes queries, keys and values from `hidden_states`. Cross-attention takes queries from the
    decoder's `hidden_states`, and keys and values from `key_value_states`, the encoder's output. This follows
    document 4; document 3 exchanges the two roles.

    Rotary positions turn queries and keys by the position of their token: in self-attention, and in cross-attention if
    `rotary_cross_attention` is on. There, the position of a query is in the target and that of a key in the source, so
    that the decoder can find its place in a source of any length. Keys are cached turned.

    In a step of beam search, the beams of a text are read as positions of one text, so that the keys and values of
    their source are read once for all of them.

    Args:
        config: the model's hyper-parameters.
        layer_idx: index of the block, and of the cache layer that it reads and writes.
        is_causal: whether a position must not see later ones. Implementations read it when no mask is needed.
    """

    def __init__(self, config: PreTrainedConfig, layer_idx: int, is_causal: bool) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.head_dim = config.head_dim
        self.scaling = config.head_dim**-0.5
        width = config.num_attention_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, width, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, width, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, width, bias=config.attention_bias)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=config.attention_bias)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        key_value_states: torch.Tensor | None = None,
        key_position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend from `hidden_states` to themselves or to `key_value_states`.

        Args:
            hidden_states: (batch, query_length, hidden_size).
            attention_mask: as built by transformers' `masking_utils` for the implementation in use.
            position_embeddings: rotary cosines and sines of the queries, and in self-attention of the keys,
                (batch or 1, query_length, head_dim) each; `None` rotates nothing.
            key_value_states: the encoder's output (batch, key_length, hidden_size), for cross-attention.
            key_position_embeddings: rotary cosines and sines of the encoder's output, (batch or 1, key_length,
                head_dim) each; not needed once its keys are in the cache.
            past_key_values: cache of keys and values, read and written in place.
            kwargs: passed to the attention implementation.

        Returns:
            Output (batch, query_length, hidden_size), and the weights (batch, heads, query_length, key_length) if the
            implementation returns them (`"eager"` does), otherwise `None`.
        """
        query = self._split_heads(self.q_proj(hidden_states))  # (batch, heads, query_length, head_dim)
        if position_embeddings is not None:
            query = apply_rotary(query, *position_embeddings)
        beams = 1
        if key_value_states is not None:
            key, value = self._cross_keys_and_values(key_value_states, key_position_embeddings, past_key_values)
            beams = self._beams_of_a_source(query, past_key_values)
            if beams > 1:
                if attention_mask is not None:
                    attention_mask = beams_as_positions(attention_mask.expand(len(query), -1, -1, -1), beams)
                query, key, value = beams_as_positions(query, beams), key[::beams], value[::beams]
        else:
            key, value = self._split_heads(self.k_proj(hidden_states)), self._split_heads(self.v_proj(hidden_states))
            if position_embeddings is not None:
                key = apply_rotary(key, *position_embeddings)
            if past_key_values is not None:
                if isinstance(past_key_values, EncoderDecoderCache):
                    past_key_values = past_key_values.self_attention_cache
                # The paged cache of continuous batching finds its places in what the attention function is given.
                paged: dict[str, Any] = {} if isinstance(past_key_values, Cache) else {"kwargs": kwargs}
                key, value = past_key_values.update(key, value, self.layer_idx, **paged)

        attention: Callable = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        output, weights = attention(
            self,
            query,
            key,
            value,
            attention_mask,
            dropout=self.config.attention_dropout if self.training else 0.0,
            scaling=self.scaling,
            **kwargs,
        )  # (batch, query_length, heads, head_dim)
        if beams > 1 and weights is not None:
            weights = weights.transpose(1, 2).flatten(0, 1).unsqueeze(2)  # (batch, heads, 1, key_length)
        output = output.reshape(*hidden_states.shape[:-1], -1).contiguous()
        return self.o_proj(output), weights

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        # -1 instead of the number of heads, because under tensor parallelism each process holds only some of them.
        return states.view(*states.shape[:-1], -1, self.head_dim).transpose(1, 2)  # (batch, heads, length, head_dim)

    def _beams_of_a_source(self, query: torch.Tensor, past_key_values: EncoderDecoderCache | None) -> int:
        """Return the number of consecutive rows of a single position each that share a source, or 1."""
        if past_key_values is None or query.shape[2] != 1 or self.config._attn_implementation not in WITH_TENSOR_MASKS:
            return 1
        layer = past_key_values.cross_attention_cache.layers[self.layer_idx]
        return layer.sharing() if isinstance(layer, SourceLayer) else 1

    def _cross_keys_and_values(
        self,
        states: torch.Tensor,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None,
        past_key_values: EncoderDecoderCache | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values of the encoder's output, projected and turned in the first step, cached after it."""
        if past_key_values is not None and past_key_values.is_updated.get(self.layer_idx):
            layer = past_key_values.cross_attention_cache.layers[self.layer_idx]
            return layer.keys, layer.values  # type: ignore[return-value]  # an updated layer has both
        key, value = self._split_heads(self.k_proj(states)), self._split_heads(self.v_proj(states))
        if position_embeddings is not None:
            key = apply_rotary(key, *position_embeddings)
        if past_key_values is not None:
            key, value = past_key_values.cross_attention_cache.update(key, value, self.layer_idx)
            past_key_values.is_updated[self.layer_idx] = True
        return key, value
