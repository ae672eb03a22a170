"""A sparse table of the votes of token pairs (document 1). Its memory grows with the number of distinct triples."""

import numpy as np
import torch
from torch import nn

from .triple_counts import TripleCounts

VOTES_AT_ONCE = 2**22


class VoteTable(nn.Module):
    """Rows of votes, one row per pair (earlier, current). Only votes above 0 are stored.

    Args:
        vocab_size: number of tokens.
        num_pairs: number of distinct pairs.
        num_triples: number of distinct triples (earlier, current, next).

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
