"""A cache with room to spare: a step writes its own keys and values, and copies nothing that is there already."""

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer


class GrowingLayer(DynamicLayer):
    """Keys and values of one block in a buffer that grows by a quarter whenever it is full.

    transformers' own layer concatenates, so that each step copies all steps before it. Here `keys` and `values`,
    (batch, heads, length, head_dim) each, are views of the part of the buffer that is filled. What other code puts in
    their place, such as a selection of the batch, is moved into a new buffer at the next step.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.buffer: torch.Tensor | None = None  # (batch, 2, heads, capacity, head_dim)
        self.spare: torch.Tensor | None = None  # as large, for `reorder_cache`
        self.views: tuple[torch.Tensor | None, torch.Tensor | None] = (None, None)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args, **kwargs
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the keys and values of new positions.

        Args:
            key_states: (batch, heads, new_length, head_dim).
            value_states: (batch, heads, new_length, head_dim).
            args: not used, as in transformers.
            kwargs: not used, as in transformers.

        Returns:
            All keys and all values, (batch, heads, length + new_length, head_dim).
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        # Gradients and compilers do not follow what is written into a buffer, and it cannot hold a wider type.
        differentiable = torch.is_grad_enabled() and key_states.requires_grad
        if differentiable or torch.compiler.is_compiling() or key_states.dtype != self.keys.dtype:
            return super().update(key_states, value_states, *args, **kwargs)
        length = self.get_seq_length()
        end = length + key_states.shape[-2]
        if not self._is_in_buffer() or end > self.buffer.shape[3]:
            self._move(key_states, length, end)
        new = self.buffer.narrow(3, length, end - length)
        new.select(1, 0).copy_(key_states)
        new.select(1, 1).copy_(value_states)
        return self._show(end)

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last positions.

        Args:
            tokens_to_remove: how many, as a negative number.
        """
        in_buffer = self._is_in_buffer()
        super().crop(tokens_to_remove)
        if in_buffer:
            self.views = self.keys, self.values

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep the rows of the beams that go on.

        Args:
            beam_idx: (batch,), for each row the one that takes its place.
        """
        if not self._is_in_buffer() or len(beam_idx) != len(self.buffer):
            return super().reorder_cache(beam_idx)
        if self.spare is None:
            self.spare = torch.empty_like(self.buffer)
        torch.index_select(self.buffer, 0, beam_idx.to(self.buffer.device), out=self.spare)
        self.buffer, self.spare = self.spare, self.buffer
        self._show(self.get_seq_length())

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.buffer = self.spare = None

    def _is_in_buffer(self) -> bool:
        return (
            self.buffer is not None
            and self.keys is self.views[0]
            and self.values is self.views[1]
            and self.buffer.is_inference() == torch.is_inference_mode_enabled()  # one may not be written in the other
        )

    def _move(self, states: torch.Tensor, length: int, end: int) -> None:
        batch, heads, _, head_dim = states.shape
        self.spare = None
        self.buffer = states.new_empty(batch, 2, heads, end + end // 4 + 32, head_dim)
        if length:
            self.buffer[:, 0, :, :length] = self.keys
            self.buffer[:, 1, :, :length] = self.values

    def _show(self, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        self.views = self.keys, self.values = self.buffer.narrow(3, 0, end).unbind(1)
        return self.views


def let_grow(cache: Cache) -> None:
    """Give an empty dynamic cache, whoever made it, layers that grow in place. Caches of other kinds stay as they are.

    Args:
        cache: changed in place.
    """
    if type(cache) is not DynamicCache or cache.offloading:
        return
    cache.layers = [
        GrowingLayer() if type(layer) is DynamicLayer and not layer.is_initialized else layer for layer in cache.layers
    ]
    if cache.layer_class_to_replicate is DynamicLayer:
        cache.layer_class_to_replicate = GrowingLayer
