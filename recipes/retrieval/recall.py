"""How many queries find what answers them, beside what needs no encoder: shared characters, and chance."""

from collections.abc import Sequence
from math import comb

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from atenta.recipes.retrieval.passages import LabelledQuery

DEPTHS = (1, 5, 10)


def recall(found: np.ndarray, queries: Sequence[LabelledQuery]) -> dict[str, float]:
    """Return the share of queries that have a passage that answers them among the first 1, 5 and 10 found.

    Args:
        found: (queries, 10 or as many as there are passages), indices of passages, the best first.
        queries: in the order of `found`.
    """
    hits = np.array([np.isin(row, list(query.answers)) for row, query in zip(found, queries)])
    return {f"recall@{depth}": float(hits[:, :depth].any(1).mean()) for depth in DEPTHS}


def chance_recall(queries: Sequence[LabelledQuery], passages: int) -> dict[str, float]:
    """Return the recall to expect of passages drawn at random, of so many."""

    def miss(query: LabelledQuery, depth: int) -> float:
        return comb(passages - len(query.answers), depth) / comb(passages, depth)

    depths = {depth: min(depth, passages) for depth in DEPTHS}
    return {
        f"recall@{depth}": 1 - float(np.mean([miss(query, drawn) for query in queries]))
        for depth, drawn in depths.items()
    }


def nearest_by_ngrams(passages: Sequence[str], queries: Sequence[str], count: int) -> np.ndarray:
    """Return the passages nearest to each query by the cosine of their TF-IDF, the best first.

    The terms are the runs of 3 to 5 characters in words, small and capital letters alike; how rare they are is counted
    in the passages. Of equal passages the earlier is first.

    Args:
        passages: texts.
        queries: texts.
        count: how many of the passages.

    Returns:
        (queries, count), indices.
    """
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    terms = vectorizer.fit_transform(passages)
    cosines = (vectorizer.transform(queries) @ terms.T).toarray()
    return np.argsort(-cosines, axis=1, kind="stable")[:, :count]
