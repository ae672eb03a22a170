"""The votes of token pairs (document 1): counts of triples in bounded memory, and a sparse table made of them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat, zip_longest

import numpy as np
import torch
from torch import nn

TOKENS_AT_ONCE = 2**18
TRIPLES_AT_ONCE = 2**22
VOTES_AT_ONCE = 2**22

Document = Sequence[int] | np.ndarray | torch.Tensor


@dataclass
class TripleCounts:
    """Sums of document weights over the occurrences of each triple and of each token.

    Attributes:
        earlier, current, next: (distinct triples,) int64 token ids, sorted by earlier, then current, then next.
        counts: (distinct triples,) float64, each above 0.
        token_counts: (vocab_size,) float64; the first token of a document, which follows no token, is not counted.
    """

    earlier: np.ndarray
    current: np.ndarray
    next: np.ndarray
    counts: np.ndarray
    token_counts: np.ndarray


def count_triples(
    documents: Iterable[Document], weights: Iterable[float] | None, vocab_size: int, max_distance: int | None
) -> TripleCounts:
    """Count C(earlier, current, next) of document 1, for each inner token of a document and each token before it.

    The documents are read once. Apart from about 300 MB, the memory needed is that of the longest document and up to
    100 bytes for each distinct triple. The time is proportional to the number of occurrences, which is `max_distance`
    per token or, without a limit, half the length of the token's document.

    Raises:
        ValueError: If there are no documents, a document is not a sequence of ids inside the vocabulary, a weight is
            not finite or not above 0, or the numbers of documents and weights differ.
    """
    triples, sums = np.empty(0, dtype=np.int64), np.empty(0)
    token_counts = np.zeros(vocab_size)
    pending: list[tuple[np.ndarray, np.ndarray]] = []
    size = 0
    for tokens, lengths, token_weights in _batches(_checked(documents, weights, vocab_size)):
        indices = np.arange(len(tokens)) - np.repeat(lengths.cumsum() - lengths, lengths)  # of tokens in documents
        follows = indices > 0
        token_counts += np.bincount(tokens[follows], token_weights[follows], minlength=vocab_size)
        for found in _occurrences(tokens, lengths, indices, token_weights, vocab_size, max_distance):
            pending.append(found)
            size += len(found[0])
            if size >= max(TRIPLES_AT_ONCE, len(triples)):  # so that all counts are sorted again only rarely
                triples, sums = _add_up([(triples, sums), *pending])
                pending, size = [], 0
    triples, sums = _add_up([(triples, sums), *pending])
    pairs, following = np.divmod(triples, vocab_size)
    return TripleCounts(*np.divmod(pairs, vocab_size), following, sums, token_counts)


class VoteTable(nn.Module):
    """Rows of votes, one row per pair (earlier, current). Only votes above 0 are stored.

    Attributes:
        pair_keys: (num_pairs,) int64, earlier * vocab_size + current, sorted.
        row_starts: (num_pairs + 1,) int64, index in `votes` where each pair's row starts, and where the last row ends.
        next_tokens: (num_triples,) int32.
        votes: (num_triples,) in the model's dtype. Votes instead of counts, which could exceed the largest float16.
    """

    def __init__(self, vocab_size: int, num_pairs: int, num_triples: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self._set("pair_keys", torch.zeros(num_pairs, dtype=torch.int64))
        self._set("row_starts", torch.zeros(num_pairs + 1, dtype=torch.int64))
        self._set("next_tokens", torch.zeros(num_triples, dtype=torch.int32))
        self._set("votes", torch.zeros(num_triples))

    def _set(self, name: str, values: torch.Tensor) -> None:
        setattr(self, name, nn.Parameter(values, requires_grad=False))

    def fill(self, counts: TripleCounts) -> None:
        """Replace the table with the votes computed from counts.

        Document 1: Vote(next | earlier, current) = C(earlier, current, next) / sum over w of C(earlier, current, w).
        """
        keys, starts, sizes = np.unique(
            counts.earlier * self.vocab_size + counts.current, return_index=True, return_counts=True
        )
        votes = counts.counts / np.repeat(np.add.reduceat(counts.counts, starts), sizes)
        device, dtype = self.votes.device, self.votes.dtype
        self._set("pair_keys", torch.from_numpy(keys).to(device))
        self._set("row_starts", torch.from_numpy(np.append(starts, len(votes))).to(device))
        self._set("next_tokens", torch.from_numpy(counts.next).to(device, torch.int32))
        self._set("votes", torch.from_numpy(votes).to(device, dtype))

    def add_votes(
        self,
        totals: torch.Tensor,
        rows: torch.Tensor,
        earlier: torch.Tensor,
        current: torch.Tensor,
        weights: torch.Tensor,
    ) -> None:
        """Add the votes of pairs to rows of totals. A pair that is not in the table has no votes.

        Args:
            totals: (all rows, vocab_size), changed in place.
            rows: (pairs,), the row of `totals` that each pair's votes are added to.
            earlier, current: (pairs,) token ids.
            weights: (pairs,), factor of each pair's votes.
        """
        keys = earlier * self.vocab_size + current
        first, last = (torch.searchsorted(self.pair_keys, keys, right=right) for right in (False, True))
        starts = self.row_starts[first]
        sizes = self.row_starts[last] - starts  # 0 if the key is not in the table
        pieces = (sizes.cumsum(0) // VOTES_AT_ONCE).unique_consecutive(return_counts=True)[1].tolist()
        for piece in torch.arange(len(keys), device=keys.device).split(pieces):
            repeats = sizes[piece]
            skipped = starts[piece] - (repeats.cumsum(0) - repeats)
            triples = torch.arange(int(repeats.sum()), device=keys.device) + skipped.repeat_interleave(repeats)
            cells = (rows[piece] * self.vocab_size).repeat_interleave(repeats) + self.next_tokens[triples]
            votes = self.votes.detach()[triples] * weights[piece].repeat_interleave(repeats)
            totals.view(-1).index_add_(0, cells, votes)


def _checked(
    documents: Iterable[Document], weights: Iterable[float] | None, vocab_size: int
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the ids of each document as an array, and its weight."""
    missing = object()
    weighted = zip(documents, repeat(1.0)) if weights is None else zip_longest(documents, weights, fillvalue=missing)
    number = -1
    for number, (document, weight) in enumerate(weighted):
        if document is missing or weight is missing:
            more, fewer = ("weights", "documents") if document is missing else ("documents", "weights")
            raise ValueError(f"found {number} {fewer} but more {more}; expected one weight for each document.")
        if not (weight > 0 and math.isfinite(weight)):
            raise ValueError(f"the weight of document {number} is {weight}; expected a finite number above 0.")
        ids = np.asarray(document)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise ValueError(f"document {number} is {document!r:.80}; expected a sequence of token ids.")
        outside = (ids < 0) | (ids >= vocab_size)
        if outside.any():
            raise ValueError(
                f"document {number} has the id {ids[outside][0]}, outside the vocabulary; expected ids from 0 to "
                f"{vocab_size - 1}. Encode with the tokenizer whose length is the configuration's vocab_size."
            )
        yield ids.astype(np.int64), float(weight)
    if number < 0:
        raise ValueError("found no documents; expected at least one.")


def _batches(weighted: Iterable[tuple[np.ndarray, float]]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield concatenated documents: their tokens, their lengths, and the weight of each token."""
    documents, size = [], 0
    for document in chain(weighted, [None]):
        if document is not None:
            documents.append(document)
            size += len(document[0])
        if documents and (document is None or size >= TOKENS_AT_ONCE):
            lengths = np.array([len(ids) for ids, _ in documents])
            yield (
                np.concatenate([ids for ids, _ in documents]),
                lengths,
                np.repeat([weight for _, weight in documents], lengths),
            )
            documents, size = [], 0


def _occurrences(
    tokens: np.ndarray,
    lengths: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    vocab_size: int,
    max_distance: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each distance, the triples encoded as single numbers, and their weights."""
    current = np.flatnonzero((indices > 0) & (indices < np.repeat(lengths, lengths) - 1))
    for distance in count(1):
        current = current[indices[current] >= distance]
        if not len(current) or (max_distance is not None and distance > max_distance):
            return
        pairs = tokens[current - distance] * vocab_size + tokens[current]
        yield pairs * vocab_size + tokens[current + 1], weights[current]


def _add_up(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers in ascending order, and the sum of the weights of each."""
    numbers, inverse = np.unique(np.concatenate([numbers for numbers, _ in parts]), return_inverse=True)
    return numbers, np.bincount(inverse, np.concatenate([weights for _, weights in parts]), minlength=len(numbers))
