"""The votes of every pair of tokens that was seen (document 1), in memory that grows with the triples seen."""

import numpy as np
import torch
from torch import nn

from .triple_counts import TripleCounts

VOTES_AT_ONCE = 2**22


class VoteTable(nn.Module):
    """Rows of votes, one a pair (earlier, current), of which only those above 0 are stored.

    Attributes:
        pair_keys: (num_pairs,) int64, earlier * vocab_size + current, sorted.
        row_starts: (num_pairs + 1,) int64, where the row of each pair starts below, and where the last one ends.
        next_tokens: (num_triples,) int32.
        votes: (num_triples,) of the model's dtype. Votes and not counts: these could be above float16's largest.
    """

    def __init__(self, vocab_size: int, num_pairs: int, num_triples: int):
        super().__init__()
        self.vocab_size = vocab_size
        self._set("pair_keys", torch.zeros(num_pairs, dtype=torch.int64))
        self._set("row_starts", torch.zeros(num_pairs + 1, dtype=torch.int64))
        self._set("next_tokens", torch.zeros(num_triples, dtype=torch.int32))
        self._set("votes", torch.zeros(num_triples))

    def _set(self, name: str, values: torch.Tensor) -> None:
        setattr(self, name, nn.Parameter(values, requires_grad=False))

    def fill(self, counts: TripleCounts) -> None:
        """Replace the table by the votes that follow from counts.

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
        """Add the votes of pairs to rows of totals. A pair that was never seen has none.

        Args:
            totals: (all rows, vocab_size), changed in place.
            rows: (pairs,) the row that each pair votes in.
            earlier, current: (pairs,) token ids.
            weights: (pairs,) what each pair's votes are multiplied by.
        """
        keys = earlier * self.vocab_size + current
        first, last = (torch.searchsorted(self.pair_keys, keys, right=right) for right in (False, True))
        starts = self.row_starts[first]
        sizes = self.row_starts[last] - starts  # 0 where the key is not there
        pieces = (sizes.cumsum(0) // VOTES_AT_ONCE).unique_consecutive(return_counts=True)[1].tolist()
        for piece in torch.arange(len(keys), device=keys.device).split(pieces):
            repeats = sizes[piece]
            skipped = starts[piece] - (repeats.cumsum(0) - repeats)
            triples = torch.arange(int(repeats.sum()), device=keys.device) + skipped.repeat_interleave(repeats)
            cells = (rows[piece] * self.vocab_size).repeat_interleave(repeats) + self.next_tokens[triples]
            votes = self.votes.detach()[triples] * weights[piece].repeat_interleave(repeats)
            totals.view(-1).index_add_(0, cells, votes)
