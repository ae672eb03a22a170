"""Cache layers that write new keys and values in place instead of copying the existing ones."""

from typing import Any

import torch
from transformers import Cache, DynamicCache, EncoderDecoderCache
from transformers.cache_utils import DynamicLayer
from transformers.modeling_outputs import CausalLMOutputWithPast

# The name of the cache in outputs and in the arguments of `generate`: "cache" from transformers 5.24 on, where
# "past_key_values" still works and warns.
CACHE_NAME = "cache" if "cache" in CausalLMOutputWithPast.__dataclass_fields__ else "past_key_values"


class GrowingLayer(DynamicLayer):
    """Keys and values of one block, in two buffers that grow by a quarter when they are full.

    transformers' own layer concatenates, so each step copies all earlier steps. Here `keys` and `values`, (batch,
    heads, length, head_dim) each, are views of the filled part of the buffers. If other code replaces them, for
    example with some rows of the batch, the next step moves the new tensors into new buffers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buffers: list[torch.Tensor] = []  # keys and values, (batch, heads, capacity, head_dim) each
        self.spares: list[torch.Tensor] = []  # buffers of the same size, for `reorder_cache`
        self.views: tuple[torch.Tensor | None, torch.Tensor | None] = (None, None)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add new positions, (batch, heads, new_length, head_dim), and return all keys and all values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        length, new_length = self.get_seq_length(), key_states.shape[2]
        if (
            torch.is_grad_enabled()  # gradients do not flow through writes into a buffer
            or torch.compiler.is_compiling()
            or key_states.dtype != self.keys.dtype
            or (length and key_states.shape[:2] != self.keys.shape[:2])
        ):
            return super().update(key_states, value_states, *args, **kwargs)
        if not self._is_in_buffers() or length + new_length > self.buffers[0].shape[2]:
            self._move(key_states, length, length + new_length)
        keys, values = self.buffers
        keys.narrow(2, length, new_length).copy_(key_states)
        values.narrow(2, length, new_length).copy_(value_states)
        return self._show(length + new_length)

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last positions. The argument is what transformers takes: in 5.24, minus their number."""
        in_buffers = self._is_in_buffers()
        super().crop(tokens_to_remove)
        if in_buffers:
            self.views = self.keys, self.values

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Replace each row by that of an index, (batch,), after a step of beam search."""
        if not self._is_in_buffers() or len(beam_idx) != len(self.keys):
            return super().reorder_cache(beam_idx)
        beam_idx, length = beam_idx.to(self.keys.device), self.get_seq_length()
        self.spares = self.spares or [torch.empty_like(buffer) for buffer in self.buffers]
        for states, spare in zip(self.views, self.spares):
            torch.index_select(states, 0, beam_idx, out=spare.narrow(2, 0, length))
        self.buffers, self.spares = self.spares, self.buffers
        self._show(length)

    def reset(self) -> None:
        """Remove all positions."""
        super().reset()
        self.buffers, self.spares, self.views = [], [], (None, None)

    def _is_in_buffers(self) -> bool:
        return (
            bool(self.buffers)
            and self.keys is self.views[0]
            and self.values is self.views[1]
            # A buffer made in inference mode may not be written outside it, or the other way round.
            and self.keys.is_inference() == torch.is_inference_mode_enabled()
        )

    def _move(self, states: torch.Tensor, length: int, end: int) -> None:
        batch, heads, _, head_dim = states.shape
        self.buffers = [states.new_empty(batch, heads, end + end // 4 + 32, head_dim) for _ in range(2)]
        self.spares = []
        for buffer, filled in zip(self.buffers, (self.keys, self.values)):
            if length:
                buffer[:, :, :length] = filled

    def _show(self, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self.buffers
        self.views = self.keys, self.values = keys.narrow(2, 0, end), values.narrow(2, 0, end)
        return self.views


class SourceLayer(DynamicLayer):
    """Keys and values of the source, shared by all beams of a text.

    `generate` repeats each source once per beam and reorders all rows at each step. While the rows of a source are
    equal, there is nothing to reorder, and each source needs to be read only once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.compared: tuple[torch.Tensor | None, ...] = (None, None)  # what `rows_per_source` was found for
        self.rows_per_source = 1

    def sharing(self) -> int:
        """Return the number of consecutive equal rows, which is the number of beams, or 1.

        They are compared on a CPU only: on other devices the program would have to wait for the result. They are not
        compared where each row has a gradient of its own, or in compiled code, whose graph would break.
        """
        if self.keys.requires_grad or self.values.requires_grad or torch.compiler.is_compiling():
            return 1
        if self.keys is not self.compared[0] or self.values is not self.compared[1]:
            self.compared, self.rows_per_source = (self.keys, self.values), 1
            if self.keys.device.type == "cpu" and len(self.keys) > 1:
                rows = torch.cat((self.keys, self.values), dim=2).flatten(1)  # (batch, numbers)
                starts = (rows[1:] != rows[:-1]).any(1).nonzero().flatten() + 1
                sizes = torch.diff(starts, prepend=starts.new_zeros(1), append=starts.new_tensor([len(rows)]))
                if (sizes == sizes[0]).all():
                    self.rows_per_source = int(sizes[0])
        return self.rows_per_source

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Replace each row by that of an index, (batch,), after a step of beam search."""
        rows = self.sharing() if self.is_initialized else 1
        if rows > 1:
            own_rows = torch.arange(len(self.keys), device=beam_idx.device)
            if torch.equal(beam_idx // rows, own_rows // rows):
                return
        super().reorder_cache(beam_idx)


def given_cache(past_key_values: Cache | None, kwargs: dict[str, Any]) -> Cache | None:
    """Return the cache that a model was given under either of its names, and take the newer one out of `kwargs`.

    Args:
        past_key_values: the cache by its first name.
        kwargs: further arguments of the model, among them perhaps `cache`, as `generate` of transformers passes it
            from 5.24 on.

    Raises:
        ValueError: If both are given.
    """
    # The paged cache of continuous batching is of no class of caches. Before 5.24 the attention function reads it.
    if CACHE_NAME != "cache" and not isinstance(kwargs.get("cache"), Cache | None):
        return past_key_values
    cache = kwargs.pop("cache", None)
    if cache is not None and past_key_values is not None:
        raise ValueError("Found both past_key_values and cache, two names of one argument; expected one.")
    return past_key_values if cache is None else cache


def with_our_layers(cache: Cache) -> Cache:
    """Return a cache that was just made, with our layers in place if it is dynamic.

    A caller's own cache keeps its layers: it may be exported, or read by other models.
    """
    if isinstance(cache, EncoderDecoderCache):
        replace_layers(cache.self_attention_cache, GrowingLayer)
        replace_layers(cache.cross_attention_cache, SourceLayer)
    else:
        replace_layers(cache, GrowingLayer)
    return cache


def replace_layers(cache: Cache, layer_class: type[DynamicLayer]) -> None:
    """Replace the empty layers of a dynamic cache with ours; other kinds of caches are left unchanged."""
    if type(cache) is not DynamicCache or cache.offloading:
        return
    cache.layers = [
        layer_class() if type(layer) is DynamicLayer and not layer.is_initialized else layer for layer in cache.layers
    ]
    if cache.layer_class_to_replicate is DynamicLayer:
        cache.layer_class_to_replicate = layer_class
