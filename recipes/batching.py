"""Batches of texts of like length, so that little of them is padding."""

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler
from transformers import Seq2SeqTrainer

POOL = 50  # batches whose texts are sorted by length together: more of them pad less, fewer mix better


class LengthBucketSampler(Sampler[int]):
    """Indices in an order in which each run of `batch_size` has texts of like length, and runs come in random order.

    transformers' `group_by_length` leaves the batches of a pool sorted from long to short, and learns worse from them.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int):
        """Take the length of each text, in tokens; the order depends on the seed and on the epoch."""
        self.lengths = torch.as_tensor(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of this epoch. accelerate calls it, also where a run goes on from a checkpoint."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        pools = torch.randperm(len(self), generator=generator).split(self.batch_size * POOL)
        pools = [pool[self.lengths[pool].argsort(stable=True)] for pool in pools]
        *batches, last = [batch for pool in pools for batch in pool.split(self.batch_size)]
        # the last batch may be short, and stays last: elsewhere it would shift the borders of those behind it
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield from batches[index].tolist()
        yield from last.tolist()


class BucketTrainer(Seq2SeqTrainer):
    """`Seq2SeqTrainer` with batches of like length; the training set has their lengths in a column `length`."""

    def _get_train_sampler(self, train_dataset=None) -> LengthBucketSampler:
        # what comes as an argument has lost the columns that the model does not take
        return LengthBucketSampler(
            self.train_dataset["length"], self.args.train_batch_size, self.args.data_seed or self.args.seed
        )
