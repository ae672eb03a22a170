"""A fast path for decoding one character at a time: the blocks' arithmetic without the overhead of their modules.

A decoding step is a few small matrix products. At the size of character models, calling modules, reading options and
dispatching attention take longer than the products. This file runs the same operations on the modules' parameters.
`BareBlocks` checks that this is valid: no module may be replaced or wrapped.
"""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from operator import itemgetter
from types import NoneType
from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.modules.module import _has_any_global_hook
from transformers import Cache, EncoderDecoderCache
from transformers.utils import output_capturing

from .attention import MultiHeadAttention
from .block import AddAndNorm, Dropout, FeedForward, TransformerBlock
from .cache_layers import GrowingLayer, SourceLayer
from .positions import apply_rotary

PLAIN_MODULES = {TransformerBlock, MultiHeadAttention, AddAndNorm, FeedForward, nn.Linear, nn.LayerNorm, Dropout}
PLAIN_TENSORS = {nn.Parameter, NoneType}


class BareBlocks:
    """A stack of blocks that is run from its parameters alone, and the checks that this is valid.

    Args:
        layers: the blocks.
    """

    def __init__(self, layers: Iterable[TransformerBlock]) -> None:
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
        """Return whether `layers` are the blocks given at construction, with the same submodules."""
        return self.layers == layers and self.children == self._children()

    def are_bare(self) -> bool:
        """Return whether running the parameters alone gives what the modules give.

        It does not if a module was replaced (LoRA, int8, parametrizations), was wrapped (accelerate's device map sets
        a `forward` of its own), has hooks (tensor parallelism) or is in training mode, or if a parameter is not a
        plain tensor or was removed from its module.
        """
        attributes = list(map(vars, self.modules))
        tensors = list(map(type, chain.from_iterable(map(dict.values, self.parameters))))
        return (
            self.plain_types.issuperset(map(type, self.modules))
            and not (any(self.hooks) and any(map(_has_an_effect, chain.from_iterable(map(dict.values, self.hooks)))))
            and not _has_any_global_hook()
            and not any(map(itemgetter("training"), attributes))
            and not any(map(dict.__contains__, attributes, repeat("forward")))
            and len(tensors) == self.parameter_count
            and PLAIN_TENSORS.issuperset(tensors)
        )

    def can_read(self, past_key_values: Cache) -> bool:
        """Return whether each block's past is in a `GrowingLayer`, and the source, if there is one, in the cache."""
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
        """Pass one position through all blocks, as `TransformerBlock.forward` does in evaluation mode.

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
        mask, source_mask = _padding_mask(attention_mask), _padding_mask(encoder_attention_mask)
        if source is not None:
            beams = _rows_per_source(source, source_mask)
            source_mask = source_mask[::beams] if source_mask is not None else None
            if position_embeddings is not None:  # (sources, beams, head_dim) each
                of_beams = [
                    each.view(-1, beams if len(each) > 1 else 1, each.shape[-1]) for each in position_embeddings
                ]
        states = hidden_states.squeeze(1)  # (batch, hidden_size)
        for index, block in enumerate(self.layers):
            parts = block._modules
            attention, frame = parts["self_attn"], parts["self_attn_frame"]
            residual, states = states, _before(frame, states)
            query, key, value = (
                _heads(attention, name, states) for name in ("q_proj", "k_proj", "v_proj")
            )  # (batch, heads, 1, head_dim)
            if position_embeddings is not None:
                query, key = apply_rotary(torch.cat((query, key), dim=1), *position_embeddings).chunk(2, dim=1)
            key, value = own.layers[index].update(key, value)
            output = scaled_dot_product_attention(query, key, value, mask, scale=attention.scaling)
            states = _after(frame, residual, _project(attention, "o_proj", output.flatten(1)))
            if source is not None:
                attention, frame = parts["cross_attn"], parts["cross_attn_frame"]
                residual, states = states, _before(frame, states)
                seen = source.layers[index]
                query = _project(attention, "q_proj", states).view(len(states) // beams, beams, -1, attention.head_dim)
                query = query.transpose(1, 2)  # (sources, heads, beams, head_dim)
                if block.rotary_cross_attention:
                    query = apply_rotary(query, *of_beams)
                output = scaled_dot_product_attention(
                    query,
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


def _has_an_effect(hook: Callable[..., Any]) -> bool:
    # transformers leaves the hooks with which it records attentions and hidden states. They do nothing in calls that
    # do not ask for either, and other calls do not come here.
    return hook.__module__ != output_capturing.__name__


def _caches(past_key_values: Cache) -> tuple[Cache, Cache | None]:
    """Return the cache of self-attention, and the cache of cross-attention or `None`."""
    if isinstance(past_key_values, EncoderDecoderCache):
        return past_key_values.self_attention_cache, past_key_values.cross_attention_cache
    return past_key_values, None


def _padding_mask(mask: torch.Tensor | None) -> torch.Tensor | None:
    if mask is None or mask.all():
        return None
    return mask.bool()[:, None, None, :]  # (batch, heads, query_length, key_length)


def _project(module: nn.Module, name: str, states: torch.Tensor) -> torch.Tensor:
    parameters = module._modules[name]._parameters
    return linear(states, parameters["weight"], parameters["bias"])


def _heads(attention: MultiHeadAttention, name: str, states: torch.Tensor) -> torch.Tensor:
    return _project(attention, name, states).view(len(states), -1, 1, attention.head_dim)


def _rows_per_source(source: Cache, mask: torch.Tensor | None) -> int:
    """Return the number of consecutive rows that share a source in every cache layer and in the mask, or 1.

    In beam search these rows are the beams of one text.
    """
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
