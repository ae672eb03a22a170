from itertools import permutations

import numpy as np
import pytest

from atenta.recipes.retrieval.passages import LabelledQuery
from atenta.recipes.retrieval.recall import chance_recall, nearest_by_ngrams, recall

QUERIES = [
    LabelledQuery("a", frozenset([3])),
    LabelledQuery("b", frozenset([0, 5])),
    LabelledQuery("c", frozenset([9])),
]


def test_recall_is_the_share_of_queries_that_find_a_passage():
    found = np.array([[3, 1, 2, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 9]])
    assert recall(found, QUERIES) == {"recall@1": 1 / 3, "recall@5": 2 / 3, "recall@10": 1.0}


def test_chance_is_the_mean_over_all_orders():
    """Six passages, of which the queries are answered by one, and by two."""
    queries = [LabelledQuery("a", frozenset([3])), LabelledQuery("b", frozenset([0, 5]))]
    over_orders = [recall(np.array([order, order]), queries) for order in permutations(range(6))]
    expected = {depth: np.mean([scores[depth] for scores in over_orders]) for depth in over_orders[0]}
    assert chance_recall(queries, 6) == pytest.approx(expected)


def test_shared_runs_of_characters_find_a_passage():
    passages = ["o gato dorme", "as universidades federais", "um rio corre"]
    found = nearest_by_ngrams(passages, ["Qual universidade?", "gatos"], 2)
    assert found.shape == (2, 2)
    assert found[:, 0].tolist() == [1, 0]


def test_of_equal_passages_the_earlier_is_first():
    assert nearest_by_ngrams(["gato", "rio", "gato"], ["gato", "xyz"], 3).tolist() == [[0, 2, 1], [0, 1, 2]]
