"""One more character through the blocks, without what their modules cost.

A step of decoding is a few small products. Calling modules, looking up options and dispatching the attention take
longer than the products themselves at the sizes of character models; here the same operations run on the modules'
parameters. `BareBlocks` says when they may: not when anything stands in a module's place or around it.
"""

from collections.abc import Iterable
from itertools import chain, repeat
from operator import itemgetter
from types import NoneType

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.modules.module import _has_any_global_hook
from transformers import Cache, EncoderDecoderCache

from .attention import MultiHeadAttention
from .block import AddAndNorm, TransformerBlock
from .cache_layers import GrowingLayer, SourceLayer
from .dropout import Dropout
from .feed_forward import FeedForward
from .positions import apply_rotary

PLAIN_MODULES = {TransformerBlock, MultiHeadAttention, AddAndNorm, FeedForward, nn.Linear, nn.LayerNorm, Dropout}
PLAIN_TENSORS = {nn.Parameter, NoneType}


class BareBlocks:
    """The parameters of a stack of blocks, read at every step, and whether they are all that there is.

    Args:
        layers: the blocks.
    """

    def __init__(self, layers: Iterable[TransformerBlock]):
        self.layers = list(layers)
        modules = [module for layer in self.layers for module in layer.modules()]
        slots = [(module._modules, name) for module in modules for name in module._modules]
        self.parents, self.names = [parent for parent, _ in slots], [name for _, name in slots]
        self.children = self._children()
        self.modules = modules
        self.plain_types = PLAIN_MODULES | {type(layer.feed_forward.activation) for layer in self.layers}
        self.hooks = [hooks for module in modules for hooks in (module._forward_hooks, module._forward_pre_hooks)]
        self.parameters = [module._parameters for module in modules]
        self.parameter_count = sum(map(len, self.parameters))

    def is_stack_of(self, layers: list[TransformerBlock]) -> bool:
        """Whether the blocks are these, with the modules that they were made of."""
        return self.layers == layers and self.children == self._children()

    def are_bare(self) -> bool:
        """Whether the parameters are all that there is.

        They are not where a module was replaced (LoRA, int8, parametrizations) or wrapped (accelerate's device map
        puts a `forward` of its own there), has hooks (tensor parallelism; those with which transformers records
        attentions or hidden states stay once they were asked for), is in training, or where a parameter is more than a
        tensor or stands elsewhere.
        """
        attributes = list(map(vars, self.modules))
        tensors = list(map(type, chain.from_iterable(map(dict.values, self.parameters))))
        return (
            self.plain_types.issuperset(map(type, self.modules))
            and not any(self.hooks)
            and not _has_any_global_hook()
            and not any(map(itemgetter("training"), attributes))
            and not any(map(dict.__contains__, attributes, repeat("forward")))
            and len(tensors) == self.parameter_count
            and PLAIN_TENSORS.issuperset(tensors)
        )

    def can_read(self, past_key_values: Cache) -> bool:
        """Whether each block has past positions in a buffer that grows, and the source's where it looks at one."""
        own, source = _caches(past_key_values)
        return (
            len(own.layers) >= len(self.layers)
            and all(type(layer) is GrowingLayer and layer.is_initialized for layer in own.layers)
            and (source is None or all(past_key_values.is_updated.get(index) for index in range(len(self.layers))))
        )

    def step(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None,
        encoder_attention_mask: torch.Tensor | None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None,
        past_key_values: Cache,
    ) -> torch.Tensor:
        """Pass one position through all blocks, as `TransformerBlock.forward` does in evaluation.

        Args:
            hidden_states: (batch, 1, hidden_size).
            attention_mask: (batch, past_length + 1), 1 for real tokens and 0 for padding.
            encoder_attention_mask: (batch, source_length), for blocks with cross-attention.
            position_embeddings: rotary cosines and sines, (batch or 1, 1, head_dim) each.
            past_key_values: cache, read and written in place.

        Returns:
            (batch, 1, hidden_size).
        """
        own, source = _caches(past_key_values)
        mask, source_mask = _hide_padding(attention_mask), _hide_padding(encoder_attention_mask)
        if source is not None:
            beams = _rows_of_a_source(source, source_mask)
            source_mask = source_mask[::beams] if source_mask is not None else None
        states = hidden_states.squeeze(1)  # (batch, hidden_size)
        for index, block in enumerate(self.layers):
            parts = block._modules
            attention, frame = parts["self_attn"], parts["self_attn_frame"]
            residual, states = states, _before(frame, states)
            query, key, value = (
                _heads(attention, name, states) for name in ("q_proj", "k_proj", "v_proj")
            )  # (batch, heads, 1, head_dim)
            if position_embeddings is not None:
                query, key = apply_rotary(query, *position_embeddings), apply_rotary(key, *position_embeddings)
            key, value = own.layers[index].update(key, value)
            output = scaled_dot_product_attention(query, key, value, mask, scale=attention.scaling)
            states = _after(frame, residual, _project(attention, "o_proj", output.flatten(1)))
            if source is not None:
                attention, frame = parts["cross_attn"], parts["cross_attn_frame"]
                residual, states = states, _before(frame, states)
                seen = source.layers[index]
                query = _project(attention, "q_proj", states).view(len(states) // beams, beams, -1, attention.head_dim)
                output = scaled_dot_product_attention(
                    query.transpose(1, 2),
                    seen.keys[::beams],
                    seen.values[::beams],
                    source_mask,
                    scale=attention.scaling,
                )  # (sources, heads, beams, head_dim)
                output = output.transpose(1, 2).reshape(len(states), -1)
                states = _after(frame, residual, _project(attention, "o_proj", output))
            network, frame = parts["feed_forward"], parts["feed_forward_frame"]
            residual, states = states, _before(frame, states)
            states = network._modules["activation"](_project(network, "up_proj", states))
            states = _after(frame, residual, _project(network, "down_proj", states))
        return states.unsqueeze(1)

    def _children(self) -> list[nn.Module | None]:
        return list(map(dict.get, self.parents, self.names))


def _caches(past_key_values: Cache) -> tuple[Cache, Cache | None]:
    """The cache of self-attention, and that of cross-attention where there is one."""
    if isinstance(past_key_values, EncoderDecoderCache):
        return past_key_values.self_attention_cache, past_key_values.cross_attention_cache
    return past_key_values, None


def _hide_padding(mask: torch.Tensor | None) -> torch.Tensor | None:
    if mask is None or mask.all():
        return None
    return mask.bool()[:, None, None, :]  # (batch, heads, query_length, key_length)


def _project(module: nn.Module, name: str, states: torch.Tensor) -> torch.Tensor:
    parameters = module._modules[name]._parameters
    return linear(states, parameters["weight"], parameters["bias"])


def _heads(attention: MultiHeadAttention, name: str, states: torch.Tensor) -> torch.Tensor:
    return _project(attention, name, states).view(len(states), -1, 1, attention.head_dim)


def _rows_of_a_source(source: Cache, mask: torch.Tensor | None) -> int:
    """How many rows share a source, in the cache of each block and in the mask: the beams of a text, or 1."""
    shared = {layer.sharing() if type(layer) is SourceLayer else 1 for layer in source.layers}
    beams = shared.pop() if len(shared) == 1 else 1
    if beams > 1 and mask is not None and not torch.equal(mask[::beams].repeat_interleave(beams, 0), mask):
        return 1
    return beams


def _before(frame: AddAndNorm, states: torch.Tensor) -> torch.Tensor:
    return _norm(frame, states) if frame.norm_first else states


def _after(frame: AddAndNorm, residual: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    states = states.add_(residual)
    return states if frame.norm_first else _norm(frame, states)


def _norm(frame: AddAndNorm, states: torch.Tensor) -> torch.Tensor:
    norm = frame._modules["norm"]
    parameters = norm._parameters
    return torch.layer_norm(states, norm.normalized_shape, parameters["weight"], parameters["bias"], norm.eps)
