"""Two sequences turned into each other by a textbook dynamic programme, to hold libraries against."""

from collections.abc import Sequence
from functools import cache


def alignment(reference: Sequence, hypothesis: Sequence) -> tuple[int, int, int]:
    """Return (fewest edits, fewest and most matches among the alignments with that many edits).

    An edit substitutes, deletes or inserts one element; short sequences only, for it calls itself.
    """

    @cache
    def best(i: int, j: int) -> tuple[int, int, int]:
        if i == 0 or j == 0:
            return i + j, 0, 0
        match = reference[i - 1] == hypothesis[j - 1]
        steps = [(best(i - 1, j - 1), not match, match), (best(i - 1, j), 1, 0), (best(i, j - 1), 1, 0)]
        edits = min(before[0] + edit for before, edit, _ in steps)
        ways = [(before, hit) for before, edit, hit in steps if before[0] + edit == edits]
        return edits, min(before[1] + hit for before, hit in ways), max(before[2] + hit for before, hit in ways)

    return best(len(reference), len(hypothesis))
