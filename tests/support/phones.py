"""A tagger of letters whose answers are known."""

import math

from atenta.phonemization.letter_tagger import WrittenWord


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
