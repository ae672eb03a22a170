from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.batching import LengthBucketSampler


@given(st.lists(st.integers(1, 60), min_size=1, max_size=700), st.integers(1, 9))
def test_every_text_comes_once_an_epoch(lengths, batch_size):
    assert sorted(LengthBucketSampler(lengths, batch_size, seed=0)) == list(range(len(lengths)))


def lengths_of_texts():
    return torch.randint(1, 60, (6_400 + 3,), generator=torch.Generator().manual_seed(1)).tolist()


def batches_of(sampler):
    order = list(sampler)
    return [order[start : start + sampler.batch_size] for start in range(0, len(order), sampler.batch_size)]


def test_little_of_a_batch_is_padding():
    lengths = lengths_of_texts()
    batches = batches_of(LengthBucketSampler(lengths, 64, seed=0))
    padded = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches)
    assert padded < 1.05 * sum(lengths)


def test_batches_are_not_sorted_among_themselves():
    lengths = lengths_of_texts()
    longest = [
        max(lengths[index] for index in batch) for batch in batches_of(LengthBucketSampler(lengths, 64, seed=0))
    ]
    shorter = sum(first > second for first, second in pairwise(longest))
    assert 30 < shorter < 70  # of 100: half of them, where grouping by length has nearly all


def test_the_order_depends_on_seed_and_epoch_alone():
    lengths = lengths_of_texts()
    sampler = LengthBucketSampler(lengths, 64, seed=0)
    first = list(sampler)
    assert first == list(LengthBucketSampler(lengths, 64, seed=0))
    assert first != list(LengthBucketSampler(lengths, 64, seed=1))
    sampler.set_epoch(1)
    second = list(sampler)
    assert second != first
    sampler.set_epoch(0)
    assert list(sampler) == first
