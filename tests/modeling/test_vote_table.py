"""The counts of triples: parts of the texts, documents of any type, and bounded memory."""

import math
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atenta.modeling import vote_table
from atenta.modeling.vote_table import VoteTable, count_triples
from support.pair_votes import MAX_DISTANCES, VOCAB_SIZE, WEIGHTED_DOCUMENTS, counts_of


def count(weighted_documents, max_distance=None):
    documents, weights = zip(*weighted_documents)
    return count_triples(iter(documents), iter(weights), VOCAB_SIZE, max_distance)


def as_dictionary(counted):
    columns = (counted.earlier, counted.current, counted.next, counted.counts)
    return {
        triple: count for *triple, count in zip(*(column.tolist() for column in columns)) for triple in [(*triple,)]
    }


def assert_same(actual, expected):
    for column in ("earlier", "current", "next", "counts", "token_counts"):
        np.testing.assert_array_equal(getattr(actual, column), getattr(expected, column))


@given(WEIGHTED_DOCUMENTS, MAX_DISTANCES, st.integers(1, 20), st.integers(1, 50))
def test_counts_in_parts_equal_those_at_once(weighted_documents, max_distance, tokens, triples):
    at_once = count(weighted_documents, max_distance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_table, "TOKENS_AT_ONCE", tokens)
        patch.setattr(vote_table, "TRIPLES_AT_ONCE", triples)
        assert_same(count(weighted_documents, max_distance), at_once)


@given(WEIGHTED_DOCUMENTS, MAX_DISTANCES, st.sampled_from([VOCAB_SIZE, 30_000]))
def test_the_table_of_votes_has_the_memory_of_the_distinct_triples(weighted_documents, max_distance, vocab_size):
    counts = counts_of(weighted_documents, max_distance)
    pairs, triples = len(counts), sum(map(len, counts.values()))
    table = VoteTable(vocab_size, num_pairs=0, num_triples=0)
    table.fill(count_triples(*zip(*weighted_documents), vocab_size, max_distance))
    assert sum(parameter.nbytes for parameter in table.parameters()) == 16 * pairs + 8 + 8 * triples


def test_memory_does_not_grow_with_the_occurrences(monkeypatch):
    """There are a million occurrences of 16 bytes, of which some thousands are distinct."""
    monkeypatch.setattr(vote_table, "TOKENS_AT_ONCE", 2**10)
    monkeypatch.setattr(vote_table, "TRIPLES_AT_ONCE", 2**12)
    document = np.random.default_rng(0).integers(0, 400, 500)
    tracemalloc.start()
    try:
        counted = count_triples((document for _ in range(250)), None, 400, 8)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    occurrences = int(counted.counts.sum())
    assert occurrences == 250 * (498 * 8 - 28)
    assert peak < 16 * occurrences / 10


@pytest.mark.parametrize(
    "kind", [list, lambda rows: [range(4), (3, 2, 1, 0)], lambda rows: np.array(rows, np.uint8), torch.tensor]
)
def test_documents_of_any_kind(kind):
    counted = count_triples(kind([[0, 1, 2, 3], [3, 2, 1, 0]]), None, VOCAB_SIZE, 1)
    assert as_dictionary(counted) == dict.fromkeys([(0, 1, 2), (1, 2, 3), (2, 1, 0), (3, 2, 1)], 1)


def test_the_largest_vocabulary():
    largest = 2_097_151
    counted = count_triples([[largest - 1, largest - 2, largest - 3]], None, largest, None)
    assert as_dictionary(counted) == {(largest - 1, largest - 2, largest - 3): 1}


@pytest.mark.parametrize(
    ("documents", "weights", "message"),
    [
        ([], None, "no documents"),
        ([[0, 1], [0, 6]], None, r"document 1 has the id 6.* 0 to 5"),
        ([[-1]], None, r"document 0 has the id -1"),
        ([[0.5, 1.0]], None, r"document 0 is \[0.5, 1.0\]"),
        (["um texto"], None, r"document 0 is 'um texto'"),
        ([[[0, 1]]], None, r"document 0 is \[\[0, 1\]\]"),
        ([0, 1], None, "document 0 is 0"),
        *(([[0, 1], [1]], [1, weight], f"document 1 is {weight}") for weight in (0.0, -1, math.nan, math.inf)),
        ([[0, 1], [1]], [1.0], "1 weights but more documents"),
        ([[0, 1]], [1.0, 2.0], "1 documents but more weights"),
    ],
)
def test_errors_name_the_document(documents, weights, message):
    with pytest.raises(ValueError, match=message):
        count_triples(documents, weights, VOCAB_SIZE, None)
