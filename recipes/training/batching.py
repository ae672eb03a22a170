"""Batches of texts of similar length within a token budget, with little padding."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.utils.data import Sampler

_SHOWN_CHARACTERS = 40  # of a row that is refused
_MUCH_PADDING = 0.05  # share of padding at which a batch ends once it is half full


class BucketBatchSampler(Sampler[list[int]]):
    """The batches of one process: texts of similar length, in an order that is new in every epoch.

    Texts are sorted by length, those of equal length in a new order in each epoch, and cut into batches of all
    processes together. Of each batch, process i of n takes every n-th text, beginning with the i-th. So every process
    has the same number of batches in every epoch, and every text is used exactly once. Two processes with half the
    texts in a batch train on the batches of one process, but for the last text of an odd number; with half the tokens
    on similar ones. transformers' `group_by_length` leaves the batches sorted from long to short, and models trained
    that way are worse.
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
        """Sort the texts and determine the sizes of the batches.

        Args:
            lengths: Number of tokens of each text: (texts,), or (texts, parts) for texts with parts that are padded
                separately, such as a source and a target.
            batch_size: Number of texts in a batch of one process; used if `max_tokens` is not given.
            max_tokens: Maximum number of tokens in a batch of one process, padding included: the number of texts
                times the longest one, added over the parts. Once it is half full, a batch also ends if the next text
                would make more than a twentieth of it padding. Only the first batch may be larger, if there are not
                texts enough for each process to have one in every batch.
            seed: Determines the order, together with the epoch.
            num_processes: Number of processes that share each batch.
            process_index: Index of this process.

        Raises:
            ValueError: If there are fewer texts than processes.
        """
        self.lengths = torch.as_tensor(lengths).reshape(len(lengths), -1)  # (texts, parts)
        self.seed, self.epoch = seed, 0
        self.num_processes, self.process_index = num_processes, process_index
        if len(self.lengths) < num_processes:
            raise ValueError(f"Found {len(self.lengths)} texts to train on; expected at least one for each process.")
        ordered = self.lengths[self._sorted(torch.arange(len(self.lengths)))]
        self.sizes = self._cut(ordered.tolist(), batch_size, max_tokens)

    def __len__(self) -> int:
        return len(self.sizes)

    def set_epoch(self, epoch: int) -> None:
        """Select the order of an epoch. The trainer calls this, also when a run is resumed."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        batches = self._sorted(torch.randperm(len(self.lengths), generator=generator)).split(self.sizes)
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[index][self.process_index :: self.num_processes].tolist()

    def _sorted(self, order: torch.Tensor) -> torch.Tensor:
        """Sort by the length of the first part, then of the next one, alternately up and down.

        Where sources become longer by one token, targets continue at their current length, long or short, instead of
        starting again with the shortest. So neighbours are always similar.
        """
        turns = 1 - 2 * (self.lengths.cumsum(1) - self.lengths).remainder(2)  # 1 or -1, by the previous parts
        for part in reversed(range(self.lengths.shape[1])):  # stable: texts of equal length keep their order
            order = order[(turns * self.lengths)[order, part].argsort(stable=True)]
        return order

    def _cut(self, ordered: list[list[int]], batch_size: int, max_tokens: int | None) -> list[int]:
        """Return the sizes of the batches, all processes together, for sorted lengths."""
        sizes, size, longest, tokens = [], 0, ordered[0], 0
        for lengths in ordered:
            longer = list(map(max, longest, lengths))
            share = -(-(size + 1) // self.num_processes)  # texts of the process that has the most
            if size < self.num_processes:  # a text for each process; each of them fits by itself
                full = False
            elif max_tokens is None:
                full = share > batch_size
            else:
                padding = 1 - (tokens + sum(lengths)) / ((size + 1) * sum(longer))
                half_full = share * sum(longest) > max_tokens / 2
                full = share * sum(longer) > max_tokens or (half_full and padding > _MUCH_PADDING)
            if full:
                sizes.append(size)
                size, longer, tokens = 0, lengths, 0
            size, longest, tokens = size + 1, longer, tokens + sum(lengths)
        sizes.append(size)
        for index in reversed(range(1, len(sizes))):  # too few for all processes: some of the batch before are added
            missing = max(0, self.num_processes - sizes[index])
            sizes[index] += missing
            sizes[index - 1] -= missing
        if sizes[0] < self.num_processes:  # which had too few to give
            sizes[:2] = [sum(sizes[:2])]
        return sizes


def check_budget(lengths: Sequence[Sequence[int]], max_tokens: int, text_of: Callable[[int], str]) -> None:
    """Check that each training row, of `lengths` (rows, parts), fits in a batch.

    Raises:
        ValueError: If one does not. The message has the beginning of the longest, whose text `text_of` returns.
    """
    sums = list(map(sum, lengths))
    longest, longer = max(sums, default=0), sum(each > max_tokens for each in sums)
    if longer:
        index = sums.index(longest)
        raise ValueError(
            f"train, row {index}, which begins with {text_of(index)[:_SHOWN_CHARACTERS]!r}: found {longest:,} tokens; "
            f"expected at most --max_tokens_per_batch {max_tokens:,}, as in all but {longer:,} of the {len(sums):,} "
            "rows. Raise it, or shorten the texts."
        )


def mask_some(ids: torch.Tensor, probability: float, kept: torch.Tensor, mask_token_id: int) -> torch.Tensor:
    """Return ids, (batch, length), with some but those that are `kept` replaced by `<mask>` (Bowman et al., 2016)."""
    chosen = torch.rand(ids.shape, device=ids.device) < probability
    return ids.masked_fill(chosen & ~kept, mask_token_id)
