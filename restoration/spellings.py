"""The spellings that training has seen for each word: what a look-up would answer, and what the tagger starts from."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

WORD = re.compile(r"\w+")
_SURE = 0.99  # share of a word's occurrences with its most frequent spelling, from which the others are not listed


def lower_case(text: str) -> str:
    """Return the text in lower case, but for the rare capitals that would become two characters, such as `İ`."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(each if each == "İ" else each.lower() for each in text)


class Spellings:
    """The most frequent spelling of each word, and whether it is the only one.

    A tagger reads them instead of the bare words, so that it need not learn the vocabulary by heart: it decides
    between the spellings of a word by its context, and spells the words that are not listed.

    Args:
        bases: for each character that a choice may lead to, the character that had the choice: `{"á": "a", …}`.
        spellings: for each word without marks and in lower case, its spellings, the most frequent one first. All have
            its length.
    """

    def __init__(self, bases: Mapping[str, str], spellings: Mapping[str, tuple[str, ...]]) -> None:
        self._bases = str.maketrans(dict(bases))
        self._spellings = spellings

    def __len__(self) -> int:
        return len(self._spellings)

    def of(self, word: str) -> tuple[str, ...]:
        """Return the spellings of a word, whatever its marks and case, the most frequent first; none if unknown."""
        return self._spellings.get(lower_case(word).translate(self._bases), ())

    @classmethod
    def from_texts(
        cls, bases: Mapping[str, str], texts: Iterable[str], *, fold_case: bool, min_count: int = 1
    ) -> "Spellings":
        """Count the spellings of words in texts as they should be.

        Args:
            bases: as in the class.
            texts: in NFC. Words are runs of letters, digits and underscores.
            fold_case: whether upper and lower case are the same spelling: not if capitals are restored.
            min_count: lowest count of a word that is listed. Words without a choice are not, such as numbers.
        """
        choices = set(bases.values())
        words = Counter(word for text in texts for word in WORD.findall(lower_case(text) if fold_case else text))
        table = str.maketrans(dict(bases))
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word, count in words.items():
            bare = lower_case(word).translate(table)
            if not choices.isdisjoint(bare):
                counts[bare][word] += count
        spellings = {}
        for bare, of_word in sorted(counts.items()):
            if of_word.total() >= min_count:
                ranked = [spelling for spelling, _ in of_word.most_common()]
                sure = of_word[ranked[0]] >= _SURE * of_word.total()
                spellings[bare] = (ranked[0],) if sure else tuple(ranked)
        return cls(bases, spellings)

    @classmethod
    def load(cls, path: str | Path, bases: Mapping[str, str]) -> "Spellings":
        """Read the file that [`Spellings.save`] wrote: a word on each line, as `ação`, or with more spellings.

        Raises:
            OSError: If the file cannot be read.
        """
        table = str.maketrans(dict(bases))
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        rows = [tuple(line.split()) for line in lines if line.strip()]
        return cls(bases, {lower_case(row[0]).translate(table): row for row in rows})

    def save(self, path: str | Path) -> None:
        """Write one word on each line: `ação`, or its spellings, the most frequent one first: `esta está`."""
        Path(path).write_text("".join(f"{' '.join(each)}\n" for each in self._spellings.values()), encoding="utf-8")

    def suggest(self, text: str, skip: Callable[[], bool] | None = None) -> tuple[str, np.ndarray]:
        """Return the text with each listed word in its most frequent spelling, and where there is no other.

        Marks that the text has are kept, and so is the case of its letters where a spelling is in lower case.

        Args:
            text: in NFC.
            skip: for training, called for each listed word: whether to read it as if it were not listed.

        Returns:
            A text of the same length, and (characters,) int64: 1 in words with a single spelling, 0 elsewhere.
        """
        bare = lower_case(text).translate(self._bases)
        suggested, hints = list(text), np.zeros(len(text), np.int64)
        for match in WORD.finditer(bare):
            known = self._spellings.get(match[0])
            if known is None or (skip is not None and skip()):
                continue
            start, end = match.span()
            hints[start:end] = len(known) == 1
            for place, character in enumerate(known[0], start):
                if character != bare[place] and text[place].lower() == bare[place]:
                    upper = character.upper()  # of ß, two characters
                    suggested[place] = upper if text[place].isupper() and len(upper) == 1 else character
        return "".join(suggested), hints
