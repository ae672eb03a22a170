"""Words whose letters become units, such as phones: their alignment, encoding, scores and baselines."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from unicodedata import is_normalized, normalize

from datasets import Features, List, Value

from atenta.recipes.tasks.characters import encode_pieces
from atenta.recipes.tasks.task import Row
from atenta.recipes.tasks.transduction import PAIRS, AlignedRow, PairTask, align_letters, check_pair, divide
from atenta.restoration.character_codes import CharacterCodes

FEATURES = Features({"text": Value("string"), "pieces": List(Value("string"))})
_MARKS = range(ord("1"), 0x3000)  # code points of the characters that stand for tags
_EXPECTED = 10  # times that a unit would occur under tags which never have it


def check_letters(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair as [`check_pair`] does, with the source in NFC, in which letters are counted."""
    row = check_pair(fields)
    return {**row, "source": normalize("NFC", row["source"])}


LETTER_PAIRS = replace(PAIRS, check=check_letters)


class Alignment:
    """What each letter becomes, learned from pairs: those ways that are frequent enough, and their probabilities.

    Args:
        pairs: Training pairs.
        separator: The text between the units of a target; None if its characters are the units.
        min_count: Lowest count of a way for a letter to become units; rarer ones are never learned, nor made.

    Attributes:
        aligned: The pairs that frequent ways can spell, with the units that each letter becomes.
    """

    def __init__(self, pairs: Iterable[Row], separator: str | None, min_count: int) -> None:
        self._separator = separator
        aligned = align_letters(pairs, separator)
        counts = Counter(way for row, parts in aligned for way in zip(row["source"], parts))
        frequent = {way: count for way, count in counts.items() if count >= min_count}
        totals: Counter[str] = Counter()
        for (letter, _), count in frequent.items():
            totals[letter] += count
        self._scores = {way: math.log(count / totals[way[0]]) for way, count in frequent.items()}
        self.aligned = [
            (row, parts) if all(way in frequent for way in zip(row["source"], parts)) else (row, self.divide(row))
            for row, parts in aligned
        ]
        self.aligned = [(row, parts) for row, parts in self.aligned if parts]

    def divide(self, row: Row) -> list[tuple[str, ...]]:
        """Return the units that each letter of a pair becomes; nothing if frequent ways cannot spell its target."""
        units = tuple(row["target"].split(self._separator) if self._separator else row["target"])
        return divide(row["source"], units, self._scores.get)

    def align(self, pairs: Iterable[Row]) -> list[AlignedRow]:
        """Return the pairs that frequent ways can spell, with the units that each letter becomes."""
        return [(row, parts) for row in pairs if (parts := self.divide(row))]

    def variants(self) -> dict[str, list[str]]:
        """Return the pieces that each letter may become."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for letter, units in sorted(self._scores):
            found[letter].append(join_units(units, self._separator))
        return dict(found)


def join_units(units: Iterable[str], separator: str | None) -> str:
    """Return the piece of some units: each is followed by the separator, so that pieces can be joined and split."""
    return "".join(unit + (separator or "") for unit in units)


def choose_marks(tags: Sequence[str], letters: Iterable[str]) -> dict[str, str]:
    """Return a character for each tag, which no word has: digits, unless words have some, and then letters."""
    used = {*letters}
    free = (each for each in map(chr, _MARKS) if each.isalnum() and each not in used and is_normalized("NFC", each))
    return dict(zip(sorted(tag[1:-1] for tag in tags), islice(free, len(tags))))


def count_unit(rows: Iterable[Row], unit: str, separator: str | None) -> dict[str, int]:
    """Return how often a unit occurs in each target, 0 or 1, by the tags under which this is so in all rows."""
    counts: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows:
        units = row["target"].split(separator) if separator else row["target"]
        counts[";".join(tag[1:-1] for tag in row["tags"])].add(units.count(unit))
    return {tags: next(iter(of_tags)) for tags, of_tags in sorted(counts.items()) if of_tags in ({0}, {1})}


def absent_units(rows: Iterable[Row], separator: str | None) -> dict[str, list[str]]:
    """Return the units that never occur under some tags, by these tags, where that is not by accident.

    At the frequency that they have in all rows, they would occur ten times or more.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        units = row["target"].split(separator) if separator else row["target"]
        counts[";".join(tag[1:-1] for tag in row["tags"])].update(units)
    total: Counter[str] = sum(counts.values(), Counter())
    enough = {tags: _EXPECTED * total.total() / of_tags.total() for tags, of_tags in sorted(counts.items())}
    absent = {
        tags: sorted(unit for unit, count in total.items() if unit not in counts[tags] and count >= least)
        for tags, least in enough.items()
    }
    return {tags: units for tags, units in absent.items() if units}


class LetterTask(PairTask):
    """Words, whose letters a tagger replaces by units.

    Its options are those of [`PairTask`], and what the tagger reads and writes: `tag_characters`, the character for
    each tag that precedes a word, `unique_unit`, and `unique_unit_counts` and `absent_units` as in the functions
    [`count_unit`] and [`absent_units`].
    """

    kind = "letters-to-units"
    row_format = LETTER_PAIRS

    @property
    def marks(self) -> dict[str, str]:
        """The character for each tag."""
        return self.options["tag_characters"]

    def mark(self, row: Row) -> str:
        """Return what the tagger reads of a row: a character for each tag, and the word."""
        return "".join(self.marks[tag[1:-1]] for tag in row["tags"]) + row["source"]

    def with_pieces(self, aligned: Iterable[AlignedRow]) -> Iterator[dict[str, Any]]:
        """Yield what the tagger reads of each pair, and the piece that each of its characters becomes."""
        for row, parts in aligned:
            pieces = [join_units(part, self.options["target_separator"]) for part in parts]
            yield {"text": self.mark(row), "pieces": [""] * len(row["tags"]) + pieces}


def encode_letters(batch: Mapping[str, list], codes: CharacterCodes, ends: tuple[int, int]) -> dict[str, list]:
    """Encode words, columns `text` and `pieces`, for a tagger, as [`encode_pieces`] does."""
    return encode_pieces(zip(batch["text"], batch["pieces"]), codes, ends)
