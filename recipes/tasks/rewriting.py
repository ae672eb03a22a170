"""Answers that need no model where one text is to become another that says the same: simpler, or a title of it."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import median

from sklearn.feature_extraction.text import TfidfVectorizer

from atenta.recipes.tasks.task import Baselines, Row

# An aside has no bracket or dash inside.
_ASIDE = re.compile(r"\s*\([^()]*\)|\s+[—–]\s[^—–]*\s[—–](?=[\s,.;:])|\s*\[[^\[\]]*\]")
_ROWS_AT_ONCE = 256  # whose similarities to all rows of training are in memory


def rewriting_baselines(train: Sequence[Row]) -> Baselines:
    """Return the answers without a model, by name: a rule, the beginning of the source, and what training has."""
    return {
        "without asides": without_asides,
        "first characters": partial(first_characters, train),
        "most similar in training": partial(most_similar_target, train),
    }


def without_asides(rows: Iterable[Row]) -> list[str]:
    """Return each `source` without what is in brackets or between two dashes; a source that is all aside stays."""
    return [_ASIDE.sub("", row["source"]).strip() or row["source"] for row in rows]


def first_characters(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return the first words of each `source`: as many as fit into the median length of the training targets."""
    length = int(median(len(row["target"]) for row in train))

    def answer(source: str) -> str:
        if len(source) <= length:
            return source
        return source[: length + 1].rpartition(" ")[0].strip() or source[:length]

    return [answer(row["source"]) for row in rows]


def most_similar_target(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return for each `source` the target of the training pair with the most similar source.

    Sources are compared by the cosine of the TF-IDF of their runs of 2 to 4 characters within words. Of equals, the
    first pair is taken.
    """
    train, rows = list(train), list(rows)
    if not rows:
        return []
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    known = vectorizer.fit_transform([row["source"] for row in train])
    asked = vectorizer.transform([row["source"] for row in rows])
    parts = (asked[start : start + _ROWS_AT_ONCE] for start in range(0, len(rows), _ROWS_AT_ONCE))
    nearest = (index for part in parts for index in (part @ known.T).toarray().argmax(axis=1))
    return [train[index]["target"] for index in nearest]
