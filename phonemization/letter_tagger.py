"""`LetterTagger`: a tagger of characters that writes what each letter of a word becomes, such as its phones."""

import math
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from ..engines.kinds import saved_options, writes_units
from ..restoration.restorer import CharacterRestorer

_FORBIDDEN = -1000.0  # a logarithm of no probability: in float64, exp gives 0
_Ranked = list[tuple[float, tuple[int, ...]]]  # sums of logarithms and the labels that they are of, best first


class WrittenWord(NamedTuple):
    """What a tagger writes for a word.

    Attributes:
        units: the units of all letters, such as phones.
        log_probability: the logarithm of its probability among all that the tagger may write for the word.
    """

    units: tuple[str, ...]
    log_probability: float


class LetterTagger:
    """A tagger of letters: each letter of a word becomes units, such as phones, as many as training has seen, or none.

    A word is written in the most probable of the ways that training allows under its tags. A unit
    that never occurs there, such as a phone of another dialect, is not written; if all words have a certain unit once,
    such as a stress mark, a word has it once too.

    Args:
        reader: a tagger that `recipes/finetune_letters.py` has trained.

    Attributes:
        tags: the names of the tags, such as those of dialects; none if it was trained without.
        letters: the characters that it can read.

    Raises:
        ValueError: If the tagger restores texts instead, or its configuration is damaged.
    """

    def __init__(self, reader: CharacterRestorer) -> None:
        config = vars(reader.config)
        if not writes_units(config):
            raise ValueError(
                f"{reader.config.name_or_path or type(reader.config).__name__} restores texts; expected a model of "
                "words that recipes/finetune_letters.py has trained."
            )
        options = saved_options(config, "character-restoration")
        marks: Any = options["tag_characters"]
        counts: Any = options.get("unique_unit_counts")
        absent: Any = options.get("absent_units", {})
        are_right = (
            isinstance(marks, dict) and all(isinstance(mark, str) for mark in marks.values()),
            isinstance(counts, dict) and isinstance(options.get("unique_unit"), str),
            isinstance(options.get("target_separator"), str | None),
            isinstance(absent, dict) and all(isinstance(units, list) for units in absent.values()),
        )
        if not all(are_right):
            raise ValueError(
                f"{reader.config.name_or_path}/config.json is damaged: the options of character-restoration are "
                f"{dict(options)!r:.60}; expected what finetune_letters.py has saved."
            )
        self._reader = reader
        self._marks: dict[str, str] = marks
        self._separator: str | None = options.get("target_separator")
        self._counts: dict[str, int] = counts
        self.tags = tuple(self._marks)
        self.letters = frozenset(reader.config.character_variants) - {*self._marks.values()}
        self.longest = reader.config.window_length - len(self._marks)  # letters of a word that one window has
        labels = (reader.config.id2label[index] for index in range(len(reader.config.id2label)))
        self._pieces = [tuple(each.split(self._separator)[:-1] if self._separator else each) for each in labels]
        has_unit = np.array([piece.count(options["unique_unit"]) for piece in self._pieces])
        self._without, self._once = (np.where(has_unit == count, 0.0, _FORBIDDEN) for count in (0, 1))
        self._barred = {
            of_tags: np.array([_FORBIDDEN if any(unit in units for unit in piece) else 0.0 for piece in self._pieces])
            for of_tags, units in absent.items()
        }

    def join(self, units: Sequence[str]) -> str:
        """Return units as a text, as targets of training have them."""
        return (self._separator or "").join(units)

    def write(self, words: Sequence[str], tags: Sequence[str] = (), n_best: int = 1) -> list[list[WrittenWord]]:
        """Return what each word becomes, best first; nothing for a word none of whose letters is known.

        Args:
            words: in the letters that the tagger has.
            tags: of all words.
            n_best: number of ways to write a word; those that differ in which letter becomes what, and not in their
                units, are one.

        Raises:
            ValueError: If there is no such tag.
        """
        if unknown := [tag for tag in tags if tag not in self._marks]:
            expected = f"one of {', '.join(self.tags):.200}" if self.tags else "none: the model was trained without"
            raise ValueError(f"found the tag {unknown[0]!r:.60}; expected {expected}.")
        marks = "".join(self._marks[tag] for tag in tags)
        texts = [marks + word for word in words]
        # The labels that a letter may have: one group, or two if the unit occurs exactly once in a word.
        by_count = {0: [self._without], 1: [self._without, self._once], -1: [np.zeros(len(self._pieces))]}
        key = ";".join(tags)
        groups = np.stack(by_count[self._counts.get(key, -1)]) + self._barred.get(key, 0.0)
        places, labels, scores, totals = self._rank(texts, groups, n_best)
        borders = np.searchsorted(places, [*accumulate(map(len, texts), initial=0)])
        written: list[list[WrittenWord]] = [[] for _ in words]
        inside = np.flatnonzero(np.diff(borders))
        starts = borders[inside]
        of_all_ways = np.add.reduceat(totals[:, 0], starts)  # the logarithms of the probabilities, (words,)
        if len(groups) > 1:
            of_all_ways += np.logaddexp.reduceat(totals[:, 1] - totals[:, 0], starts)
        for word, start, end, of_all in zip(inside, starts, borders[inside + 1], of_all_ways):
            ways: dict[tuple[str, ...], float] = {}
            for score, pieces in _n_best(labels[start:end].tolist(), scores[start:end].tolist(), n_best):
                if ways and score < _FORBIDDEN / 2:
                    break
                units = tuple(unit for piece in pieces for unit in self._pieces[piece])
                ways.setdefault(units, min(0.0, float(score - of_all)))
            written[word] = [WrittenWord(*way) for way in ways.items()]
        return written

    def write_tagged(self, words: Sequence[str], tags: Sequence[Sequence[str]]) -> list[WrittenWord]:
        """Return what each word most probably becomes, each under tags of its own.

        A word none of whose letters is known becomes no units, with a probability of nearly 0.

        Raises:
            ValueError: As in [`LetterTagger.write`].
        """
        found = [WrittenWord((), _FORBIDDEN)] * len(words)
        places: dict[tuple[str, ...], list[int]] = {}
        for place, of_word in enumerate(tags):
            places.setdefault(tuple(of_word), []).append(place)
        for together, of_tags in places.items():
            for place, written in zip(of_tags, self.write([words[place] for place in of_tags], together)):
                if written:
                    found[place] = written[0]
        return found

    def _rank(
        self, texts: Sequence[str], groups: np.ndarray, n_best: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the places of all letters and, in the order of the texts, what they most probably become.

        Args:
            texts: all words.
            groups: (groups, labels), what is added to logarithms of probabilities, so that a group has some labels.
            n_best: number of labels of each group.

        Returns:
            (letters,); the labels and the logarithms of their probabilities, (letters, groups, n_best) each; and the
            logarithm of the probability of each whole group, (letters, groups).
        """
        found = []
        for places, logits in self._reader.score(texts):
            logarithms = (logits / self._reader.config.confidence_temperature).astype(np.float64)
            logarithms -= np.logaddexp.reduce(logarithms, 1, keepdims=True)
            of_groups = logarithms[:, None] + groups
            labels = np.argsort(-of_groups, 2)[..., :n_best] if n_best > 1 else of_groups.argmax(2)[..., None]
            totals = np.log(np.exp(logarithms) @ np.exp(groups).T + math.exp(_FORBIDDEN / 2))
            found.append((places, labels, np.take_along_axis(of_groups, labels, 2), totals))
        if not found:
            return (np.empty(0, np.int64), *(np.empty((0, len(groups), n_best)),) * 2, np.empty((0, len(groups))))
        joined = [np.concatenate(each) for each in zip(*found)]
        order = np.argsort(joined[0])
        return joined[0][order], joined[1][order], joined[2][order], joined[3][order]


def _n_best(labels: list[list[list[int]]], scores: list[list[list[float]]], count: int) -> _Ranked:
    """Return the best ways to write a word, whose letters have labels and scores by group.

    With two groups, exactly one letter of the word has a label of the second.
    """
    best: list[_Ranked] = [[(0.0, ())], []]  # of the letters so far, none and one of the second group
    for of_letter in zip(labels, scores):
        of_groups = [list(zip(*group)) for group in zip(*of_letter)]
        with_one = chain(_extended(best[1], of_groups[0]), _extended(best[0], of_groups[-1]))
        best = [nlargest(count, _extended(best[0], of_groups[0])), nlargest(count, with_one)]
    return best[len(of_groups) - 1]


def _extended(ways: _Ranked, letter: list[tuple[int, float]]) -> Iterator[tuple[float, tuple[int, ...]]]:
    return ((so_far + score, (*before, label)) for so_far, before in ways for label, score in letter)
