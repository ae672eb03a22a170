"""Document 1's formulas for the votes of pairs, with dictionaries, as a reference for the model."""

from collections import defaultdict

from hypothesis import strategies as st

VOCAB_SIZE = 6
MAX_DISTANCES = st.none() | st.integers(1, 4)
DOCUMENT = st.lists(st.integers(0, VOCAB_SIZE - 1), max_size=12)
# Documents and their weights. Weights and their sums are exact in float32 and float64.
WEIGHTED_DOCUMENTS = st.lists(st.tuples(DOCUMENT, st.sampled_from([0.25, 0.5, 1.0, 3.0])), min_size=1, max_size=8)


def counts_of(weighted_documents, max_distance):
    """Return C(earlier, current, next) as a dictionary of dictionaries: [earlier, current][next]."""
    counts = defaultdict(lambda: defaultdict(float))
    for document, weight in weighted_documents:
        for place in range(1, len(document) - 1):
            for earlier in range(place):
                if max_distance is None or place - earlier <= max_distance:
                    counts[document[earlier], document[place]][document[place + 1]] += weight
    return counts


def votes_of(counts, text, place, feature_mask=None, max_distance=None):
    """Return the sum of the votes for each token to follow `text[place]`, as a list."""
    votes = [0.0] * VOCAB_SIZE
    for earlier in range(place):
        if max_distance is None or place - earlier <= max_distance:
            following = counts.get((text[earlier], text[place]), {})
            for token, count in following.items():
                votes[token] += (feature_mask[earlier] if feature_mask else 1.0) * count / sum(following.values())
    return votes
