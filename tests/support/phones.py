"""Taggers of letters: one whose answers are known, and one with random weights."""

import math

from atenta.phonemization.letter_tagger import WrittenWord
from support.taggers import make_restorer

PIECES = {
    "c": ["k ", "ˈ k ", ""],
    "a": ["a ", "ˈ a ", "ə ", "a j "],
    "s": ["s ", "z ", "ˈ z ", "ˈ s "],
    "e": ["e ", "ɛ ", "ˈ e "],
    "d": ["d ", "ˈ d ", "d ʒ "],
    "-": [""],
}


def make_letter_tagger():
    """Return a restorer with random weights: words have one stress mark under br, and neither that nor ʒ under pt."""
    options = {"tag_characters": {"br": "1", "pt": "2"}, "target_separator": " ", "unique_unit": "ˈ"}
    options |= {"unique_unit_counts": {"br": 1, "pt": 0}, "absent_units": {"pt": ["ʒ"]}}
    return make_restorer(variants={"1": [""], "2": [""], **PIECES}, task_options=options, initializer_range=1.0)


class SpellingTagger:
    """A tagger that writes each letter as a phone, after a stress mark; its second best has ɔ and ɛ for o and e."""

    longest = 64

    def __init__(self, tags=("br", "pt"), letters="abcdefghijlmnopqrstuvxzáàâãéêíóôõúç-"):
        self.tags, self.letters = tags, frozenset(letters)
        self.calls = []

    def write(self, words, tags=(), n_best=1):
        self.calls.append((list(words), tuple(tags), n_best))
        return [self._write(word)[:n_best] for word in words]

    def _write(self, word):
        best = ("ˈ", *word)
        other = tuple({"o": "ɔ", "e": "ɛ"}.get(each, each) for each in best)
        return [WrittenWord(*each) for each in zip((best, other, (*best, "s")), map(math.log, (0.75, 0.2, 0.05)))]
