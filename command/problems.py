"""Suspicious outputs of `atenta predict`: the first of each kind is named, and all are counted at the end."""

import sys
from collections import Counter

from atenta.tokenization.text_windows import name_source

# What a message of `find_problems` has in it, and what its kind is called, for one and for several.
_KINDS = {
    "training did not have": (
        "line has characters that training did not have",
        "lines have characters that training did not have",
    ),
    "is cut off": ("output is cut off", "outputs are cut off"),
    "output has 0 characters": ("output is empty", "outputs are empty"),
    "training suggests": ("output has an unusual length", "outputs have an unusual length"),
}


class Problems:
    """The problems of outputs, which are printed on standard error.

    Those of a long file would hide each other, so that only the first of each kind is printed when it is found.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, message: str, source: str | None = None) -> None:
        """Take a problem of the output for a source, which the message may name already."""
        kind = next((kind for kind in _KINDS if kind in message), message)
        self._counts[kind] += 1
        if self._counts[kind] == 1:
            print(f"warning: {message if source is None else f'{name_source(source)}: {message}'}", file=sys.stderr)

    def report(self) -> None:
        """Print how many there are of each kind, if there are several of one."""
        counted = [f"{self._counts[kind]:,} {names[1]}" for kind, names in _KINDS.items() if self._counts[kind] > 1]
        counted += [f"{self._counts[kind]} {names[0]}" for kind, names in _KINDS.items() if self._counts[kind] == 1]
        if max(self._counts.values(), default=0) > 1 and counted:
            print(f"warning: in all, {', '.join(counted)}", file=sys.stderr)
        self._counts.clear()
