"""Batches of texts of like length under a budget of tokens, so that little of them is padding."""

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler

MUCH_PADDING = 0.05  # share of a batch's tokens for which it is cut once half full


class BucketBatchSampler(Sampler[list[int]]):
    """The batches of one process: texts of like length each, in an order that is new in every epoch.

    Texts are sorted by length, those of one length anew in each epoch, and cut into batches of all processes together;
    each process takes every n-th text of each. So the number of batches is the same in every epoch and process, two
    processes with half the budget see what one with the whole budget sees, and no text is left out or comes twice.
    transformers' `group_by_length` leaves the batches sorted from long to short, and learns worse from them.
    """

    def __init__(
        self,
        lengths: Sequence[Sequence[int]],
        *,
        batch_size: int,
        max_tokens: int | None = None,
        seed: int = 0,
        num_processes: int = 1,
        process_index: int = 0,
    ):
        """Take the lengths and cut.

        Args:
            lengths: of each text in tokens: (texts,), or (texts, parts) where it has parts that are padded apart,
                such as a source and a target.
            batch_size: texts in a batch of one process, where `max_tokens` is not given.
            max_tokens: tokens in a batch of one process, padding included: texts times the longest, added over the
                parts. A text that is longer by itself is an error. A batch ends early, once half full, where the next
                text would make more than a twentieth of it padding.
            seed: the order depends on it and on the epoch.
            num_processes: that share each batch.
            process_index: which of them this one is.

        Raises:
            ValueError: a text longer than `max_tokens`, or fewer texts than processes.
        """
        self.lengths = torch.as_tensor(lengths).reshape(len(lengths), -1)  # (texts, parts)
        self.seed, self.epoch = seed, 0
        self.num_processes, self.process_index = num_processes, process_index
        if len(self.lengths) < num_processes:
            raise ValueError(f"Found {len(self.lengths)} texts to train on; expected one at least for each process.")
        longest = self.lengths.sum(1).max().item()
        if max_tokens is not None and longest > max_tokens:
            raise ValueError(
                f"Text {self.lengths.sum(1).argmax().item()} has {longest} tokens, "
                f"more than --max_tokens_per_batch {max_tokens}: raise it, or split the text."
            )
        ordered = self.lengths[self._sorted(torch.arange(len(self.lengths)))]
        self.sizes = self._cut(ordered.tolist(), batch_size, max_tokens)

    def __len__(self) -> int:
        return len(self.sizes)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of this epoch. The trainer calls it, also where a run goes on from a checkpoint."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        batches = self._sorted(torch.randperm(len(self.lengths), generator=generator)).split(self.sizes)
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[index][self.process_index :: self.num_processes].tolist()

    def padding_share(self) -> float:
        """Share of an epoch's tokens that is padding, 0 to 1."""
        batches = self.lengths[self._sorted(torch.arange(len(self.lengths)))].split(self.sizes)
        padded = sum(len(batch) * batch.amax(0).sum().item() for batch in batches)
        return 1 - self.lengths.sum().item() / padded

    def _sorted(self, order: torch.Tensor) -> torch.Tensor:
        """Sort by the first part's length, then by the next one's, up and down in turn: neighbours stay alike.

        Where sources get longer by one, targets go on from where they are, long or short, and do not start again.
        """
        turns = 1 - 2 * (self.lengths.cumsum(1) - self.lengths).remainder(2)  # 1 or -1, by the parts before
        for part in reversed(range(self.lengths.shape[1])):  # stable: texts of one length stay as they are ordered
            order = order[(turns * self.lengths)[order, part].argsort(stable=True)]
        return order

    def _cut(self, ordered: list[list[int]], batch_size: int, max_tokens: int | None) -> list[int]:
        sizes, size, longest, tokens = [], 0, ordered[0], 0
        for lengths in ordered:
            longer = list(map(max, longest, lengths))
            share = -(-(size + 1) // self.num_processes)  # texts of the process that has most
            if max_tokens is None:
                full = share > batch_size
            else:
                padding = 1 - (tokens + sum(lengths)) / ((size + 1) * sum(longer))
                half_full = size >= self.num_processes and share * sum(longest) > max_tokens / 2
                full = share * sum(longer) > max_tokens or (half_full and padding > MUCH_PADDING)
            if full:
                sizes.append(size)
                size, longer, tokens = 0, lengths, 0
            size, longest, tokens = size + 1, longer, tokens + sum(lengths)
        if sizes and size < self.num_processes:  # too few for all: they join the batch before
            size += sizes.pop()
        return [*sizes, size]
