"""Caches in which a step writes its own keys and values, and copies nothing that is there already."""

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer


class GrowingLayer(DynamicLayer):
    """Keys and values of one block in two buffers that grow by a quarter whenever they are full.

    transformers' own layer concatenates, so that each step copies all steps before it. Here `keys` and `values`,
    (batch, heads, length, head_dim) each, are views of the part that is filled. What other code puts in their place,
    such as a selection of the batch, is moved into new buffers at the next step.
    """

    def __init__(self):
        super().__init__()
        self.buffers: list[torch.Tensor] = []  # of keys and of values, (batch, heads, capacity, head_dim) each
        self.spares: list[torch.Tensor] = []  # as large, for `reorder_cache`
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
        length, new_length = self.get_seq_length(), key_states.shape[2]
        if (
            torch.is_grad_enabled()  # gradients do not follow what is written into a buffer
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
        """Remove the last positions.

        Args:
            tokens_to_remove: as the installed transformers reads it; in 5.23, how many, as a negative number.
        """
        in_buffers = self._is_in_buffers()
        super().crop(tokens_to_remove)
        if in_buffers:
            self.views = self.keys, self.values

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep the rows of the beams that go on.

        Args:
            beam_idx: (batch,), for each row the one that takes its place.
        """
        if not self._is_in_buffers() or len(beam_idx) != len(self.keys):
            return super().reorder_cache(beam_idx)
        beam_idx, length = beam_idx.to(self.keys.device), self.get_seq_length()
        self.spares = self.spares or [torch.empty_like(buffer) for buffer in self.buffers]
        for states, spare in zip(self.views, self.spares):
            torch.index_select(states, 0, beam_idx, out=spare.narrow(2, 0, length))
        self.buffers, self.spares = self.spares, self.buffers
        self._show(length)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.buffers, self.spares, self.views = [], [], (None, None)

    def _is_in_buffers(self) -> bool:
        return (
            bool(self.buffers)
            and self.keys is self.views[0]
            and self.values is self.views[1]
            and self.keys.is_inference() == torch.is_inference_mode_enabled()  # one may not be written in the other
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
    """Keys and values of the source, which all beams of a text share.

    `generate` repeats each source for its beams, and reorders them all at each step. Where rows that follow one
    another are equal, and stay so, there is nothing to reorder and each source need be read but once.
    """

    def __init__(self):
        super().__init__()
        self.counted: torch.Tensor | None = None
        self.rows_of_a_source = 1

    def sharing(self) -> int:
        """Number of rows that follow one another and are equal: that of beams, or 1.

        Known on a CPU alone: elsewhere the program would have to wait for the answer.
        """
        if self.keys is not self.counted:
            self.counted, self.rows_of_a_source = self.keys, 1
            if self.keys.device.type == "cpu" and len(self.keys) > 1:
                rows = torch.cat((self.keys, self.values), dim=2).flatten(1)  # (batch, numbers)
                starts = (rows[1:] != rows[:-1]).any(1).nonzero().flatten() + 1
                sizes = torch.diff(starts, prepend=starts.new_zeros(1), append=starts.new_tensor([len(rows)]))
                if (sizes == sizes[0]).all():
                    self.rows_of_a_source = int(sizes[0])
        return self.rows_of_a_source

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep the rows of the beams that go on.

        Args:
            beam_idx: (batch,), for each row the one that takes its place.
        """
        rows = self.sharing() if self.is_initialized else 1
        if rows > 1:
            own_rows = torch.arange(len(self.keys), device=beam_idx.device)
            if torch.equal(beam_idx // rows, own_rows // rows):
                return
        super().reorder_cache(beam_idx)


def replace_layers(cache: Cache, layer_class: type[DynamicLayer]) -> None:
    """Give an empty dynamic cache, whoever made it, layers of ours. Caches of other kinds stay as they are.

    Args:
        cache: changed in place.
        layer_class: [`GrowingLayer`] for self-attention, [`SourceLayer`] for cross-attention.
    """
    if type(cache) is not DynamicCache or cache.offloading:
        return
    cache.layers = [
        layer_class() if type(layer) is DynamicLayer and not layer.is_initialized else layer for layer in cache.layers
    ]
    if cache.layer_class_to_replicate is DynamicLayer:
        cache.layer_class_to_replicate = layer_class
