"""The texts that tokenizers read: works of Machado de Assis, whole and as sentences."""

import re

from atenta.recipes.samples import novels

_SENTENCE = re.compile(r"\S[^.!?]{20,300}[.!?]")


def works() -> list[str]:
    """Return the works of the training split."""
    return [row["text"] for row in novels()["train"]]


def sentences(count: int) -> list[str]:
    """Return the first sentences, of 20 to 300 characters, on one line each."""
    found = [" ".join(match.split()) for work in works() for match in _SENTENCE.findall(work)]
    return found[:count]
