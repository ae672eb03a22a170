"""The table of votes: its size is that of the distinct triples, and each pair's votes sum to 1."""

import pytest
import torch
from hypothesis import given

from atenta.modeling import vote_table
from atenta.modeling.triple_counts import count_triples
from atenta.modeling.vote_table import VoteTable
from support.pair_votes import MAX_DISTANCES, VOCAB_SIZE, WEIGHTED_DOCUMENTS, counts_of

ALL_PAIRS = torch.cartesian_prod(torch.arange(VOCAB_SIZE), torch.arange(VOCAB_SIZE))


def table_of(weighted_documents, max_distance=None, vocab_size=VOCAB_SIZE):
    documents, weights = zip(*weighted_documents)
    table = VoteTable(vocab_size, num_pairs=0, num_triples=0)
    table.fill(count_triples(documents, weights, vocab_size, max_distance))
    return table


def votes_of_all_pairs(table):
    """Return the votes of all pairs, (pairs, vocab_size)."""
    votes = torch.zeros(len(ALL_PAIRS), VOCAB_SIZE)
    table.add_votes(votes, torch.arange(len(ALL_PAIRS)), *ALL_PAIRS.T, torch.ones(len(ALL_PAIRS)))
    return votes


@given(WEIGHTED_DOCUMENTS, MAX_DISTANCES)
def test_votes_are_shares_of_the_counts(weighted_documents, max_distance):
    counts = counts_of(weighted_documents, max_distance)
    votes = votes_of_all_pairs(table_of(weighted_documents, max_distance))
    for pair, row in zip(ALL_PAIRS.tolist(), votes):
        following = counts.get(tuple(pair), {})
        expected = [following.get(token, 0.0) / (sum(following.values()) or 1.0) for token in range(VOCAB_SIZE)]
        assert row.tolist() == pytest.approx(expected)


@given(WEIGHTED_DOCUMENTS, MAX_DISTANCES)
def test_memory_is_that_of_the_distinct_triples(weighted_documents, max_distance):
    counts = counts_of(weighted_documents, max_distance)
    pairs, triples = len(counts), sum(map(len, counts.values()))
    table = table_of(weighted_documents, max_distance)
    assert sum(parameter.nbytes for parameter in table.parameters()) == 16 * pairs + 8 + 8 * triples


def test_memory_does_not_grow_with_the_vocabulary():
    table = table_of([([5, 29_999, 7, 20_000], 1.0)], vocab_size=30_000)
    assert sum(parameter.nbytes for parameter in table.parameters()) == 16 * 3 + 8 + 8 * 3


@given(WEIGHTED_DOCUMENTS)
def test_votes_added_in_pieces_equal_those_added_at_once(weighted_documents):
    table = table_of(weighted_documents)
    at_once = votes_of_all_pairs(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_table, "VOTES_AT_ONCE", 2)
        assert torch.equal(votes_of_all_pairs(table), at_once)  # one vote for each number, so nothing is summed


def test_weighted_votes_are_added_to_the_totals():
    table = table_of([([0, 1, 2], 1.0), ([0, 1, 3], 1.0)])
    totals = torch.ones(2, VOCAB_SIZE)
    rows, earlier, current = torch.tensor([1, 1, 0]), torch.tensor([0, 0, 5]), torch.tensor([1, 1, 5])
    table.add_votes(totals, rows, earlier, current, weights=torch.tensor([1.0, 0.5, 1.0]))
    assert totals.tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1.75, 1.75, 1, 1]]
