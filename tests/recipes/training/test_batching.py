from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.samples import SAMPLES
from atenta.recipes.samples.accents import accent_pairs
from atenta.recipes.training.batching import BucketBatchSampler
from atenta.recipes.training.command_line import CONFIGS


def epochs_of(lengths, epoch=0, **options):
    sampler = BucketBatchSampler(lengths, **options)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    return batches


@given(
    lengths=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=3, max_size=200),
    max_tokens=st.integers(80, 500),
    num_processes=st.integers(1, 3),
)
@settings(deadline=None)
def test_every_text_comes_once_and_no_batch_exceeds_the_budget(lengths, max_tokens, num_processes):
    shares = [
        epochs_of(lengths, batch_size=1, max_tokens=max_tokens, num_processes=num_processes, process_index=index)
        for index in range(num_processes)
    ]
    assert len({len(batches) for batches in shares}) == 1  # every process takes part in every step
    seen = sorted(index for batches in shares for batch in batches for index in batch)
    assert seen == list(range(len(lengths)))
    padded = [
        len(batch) * (max(lengths[i][0] for i in batch) + max(lengths[i][1] for i in batch))
        for batches in shares
        for batch in batches
    ]
    # where the last texts are fewer than the processes they join the batch before, and only then is it larger
    over = [tokens for tokens in padded if tokens > max_tokens]
    assert len(over) <= num_processes - 1
    assert all(batch for batches in shares for batch in batches)


@given(lengths=st.lists(st.integers(1, 60), min_size=2, max_size=150), batch_size=st.integers(1, 8))
@settings(deadline=None)
def test_two_processes_see_together_what_one_sees(lengths, batch_size):
    alone = epochs_of(lengths, batch_size=2 * batch_size)
    shares = [epochs_of(lengths, batch_size=batch_size, num_processes=2, process_index=index) for index in (0, 1)]
    if len(lengths) % (2 * batch_size) != 1:  # a last text alone joins the batch before only where two share it
        assert [set(batch) for batch in alone] == [set(one) | set(two) for one, two in zip(*shares)]


def test_the_order_is_new_in_each_epoch_and_the_same_for_one_seed():
    lengths = [5, 6] * 50
    first = epochs_of(lengths, batch_size=10, seed=1)
    assert first == epochs_of(lengths, batch_size=10, seed=1)
    again = epochs_of(lengths, epoch=1, batch_size=10, seed=1)
    assert first != again
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in again}  # mixed anew, not moved
    assert first != epochs_of(lengths, batch_size=10, seed=2)


def test_the_length_of_batches_does_not_fall_or_rise_through_an_epoch():
    means = [sum(batch) / len(batch) for batch in epochs_of(range(1, 1001), batch_size=10)]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)


def test_padding_is_counted_by_hand():
    # (2, 3) with a budget of two texts of the longest: 2 + 3 tokens in 2 * 3 places, then 9 alone
    sampler = BucketBatchSampler([2, 3, 9], batch_size=2)
    assert sampler.padding_share() == pytest.approx(1 - 14 / 15)


def test_texts_longer_than_the_budget_and_too_few_texts_are_named():
    with pytest.raises(ValueError, match="Text 1 has 12 tokens, more than --max_tokens_per_batch 10"):
        BucketBatchSampler([3, 12], batch_size=1, max_tokens=10)
    with pytest.raises(ValueError, match="Found 1 texts"):
        BucketBatchSampler([3], batch_size=1, num_processes=2)


def test_targets_go_on_from_where_they_are_when_sources_get_longer():
    """Of two sources, the longer one begins with its long targets, which the shorter one ended with."""
    lengths = [(source, target) for source in (4, 5) for target in (1, 1, 9, 9)]
    sampler = BucketBatchSampler(lengths, batch_size=4)
    order = sampler._sorted(torch.arange(len(lengths)))
    assert sampler.lengths[order].tolist() == [[4, 1], [4, 1], [4, 9], [4, 9], [5, 9], [5, 9], [5, 1], [5, 1]]


def test_a_batch_ends_half_full_where_more_would_be_padding():
    def sizes(lengths):
        return BucketBatchSampler(lengths, batch_size=1, max_tokens=80).sizes

    assert sizes([10] * 4 + [20]) == [4, 1]  # five times 20 would be over the budget
    assert sizes([10] * 5 + [13]) == [5, 1]  # within it, but 15 of 78 places would be padding
    assert sizes([10] * 3 + [13]) == [4]  # as many of 52, but the batch is not yet half full


@pytest.mark.parametrize("task", ["accents", "french_g2p", "italian_g2p", "hebrew"])
def test_less_than_a_twentieth_of_a_task_is_padding(task):
    options = yaml.safe_load((CONFIGS / f"{task}.yaml").read_text(encoding="utf-8"))
    if task == "accents":
        pairs = [(pair["source"], pair["target"]) for pair in accent_pairs()["train"]]
    else:
        file = SAMPLES[task].split_files()["train"]
        pairs = [line.split("\t")[:2] for line in Path(file).read_text(encoding="utf-8").splitlines()]
    lengths = [(len(source) + 1, len(target) + 1) for source, target in pairs]  # each with its <eos>
    sampler = BucketBatchSampler(lengths, batch_size=1, max_tokens=options["max_tokens_per_batch"])
    assert sampler.padding_share() < 0.05
