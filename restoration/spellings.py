"""The spellings that training has seen for each word: what a look-up would answer, and what the tagger starts from."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from pathlib import Path

import numpy as np

WORD = re.compile(r"\w+")
_WORDS = re.compile(r"(\w+)")
_CODE_POINTS = 0x110000
_SURE = 0.99  # share of a word's occurrences with its most frequent spelling, from which the others are not listed


def lower_case(text: str) -> str:
    """Return the text in lower case, but for `İ`, which would become two characters."""
    return "İ".join(part.lower() for part in text.split("İ"))


def code_points(text: str) -> np.ndarray:
    """Return the code points of a text, (characters,), uint32."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


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
        self._bases = bases
        self._table = np.arange(_CODE_POINTS, dtype=np.uint32)  # a table is faster than `str.translate`
        self._table[list(map(ord, bases))] = list(map(ord, bases.values()))
        self._choices = frozenset(bases.values())
        # Lines of the file, which are split when they are looked up: to split them all would make loading slow.
        self._lines = {word: " ".join(each) for word, each in spellings.items()}

    def __len__(self) -> int:
        return len(self._lines)

    def of(self, word: str) -> tuple[str, ...]:
        """Return the spellings of a word, whatever its marks and case, the most frequent first; none if unknown."""
        return tuple(self._lines.get(self._bare(word), "").split())

    def may_lack_marks(self, word: str) -> bool:
        """Return whether further marks would make a word one of its spellings, or none of them is known.

        False for a word without a character that has a choice.
        """
        given = lower_case(word)
        if self._choices.isdisjoint(given):
            return False
        bare, spellings = self._bare(word), self.of(word)
        return not spellings or any(
            spelling != given and all(sign in (full, base) for sign, full, base in zip(given, spelling, bare))
            for spelling in spellings
        )

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
            ValueError: As in [`Spellings.from_bytes`].
        """
        return cls.from_bytes(Path(path).read_bytes(), bases, str(path))

    @classmethod
    def from_bytes(cls, content: bytes, bases: Mapping[str, str], name: str) -> "Spellings":
        """Read the content of such a file. Messages call it by its name.

        Raises:
            ValueError: If it is not UTF-8 text, or a line has spellings of different words.
        """
        try:
            text = content.decode("utf-8").replace("\t", " ")
            lines = list(filter(None, map(str.strip, text.split("\n"))))
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} is damaged ({error}); expected the spellings of words in UTF-8.") from None
        loaded = cls(bases, {})
        # All at once, which is faster.
        bare = loaded._bare("\n".join(line.partition(" ")[0] for line in lines)).split("\n")
        others = [(word, each) for word, line in zip(bare, lines) if " " in line for each in line.split()[1:]]
        bare_others = loaded._bare("\n".join(spelling for _, spelling in others)).split("\n")
        for (word, spelling), bare_other in zip(others, bare_others):
            if bare_other != word:
                raise ValueError(f"{name} has {spelling!r:.80} as a spelling of {word!r:.80}; expected the same word.")
        loaded._lines = dict(zip(bare, lines))
        return loaded

    def lacks(self, words: Iterable[str]) -> dict[str, str]:
        """Return the words, in lower case, that have one spelling among those given and none here, by the bare word.

        Args:
            words: in NFC. A word without a character that has a choice is left out.
        """
        found: defaultdict[str, set[str]] = defaultdict(set)
        for word in map(lower_case, words):
            found[self._bare(word)].add(word)
        return {
            bare: spelling
            for bare, (spelling, *others) in sorted(found.items())
            if not others and bare not in self._lines and not self._choices.isdisjoint(bare)
        }

    def with_words(self, words: Mapping[str, str]) -> "Spellings":
        """Return these spellings with further words, each of which has one, as [`Spellings.lacks`] returns them."""
        more = Spellings(self._bases, {})
        more._lines = {**self._lines, **words}
        return more

    def save(self, path: str | Path) -> None:
        """Write one word on each line: `ação`, or its spellings, the most frequent one first: `esta está`."""
        Path(path).write_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file that [`Spellings.save`] writes."""
        return "".join(f"{line}\n" for line in self._lines.values()).encode()

    def suggest(self, text: str, skip: Callable[[], bool] | None = None) -> tuple[str, np.ndarray]:
        """Return the text with each listed word in its most frequent spelling, and where there is no other.

        Marks that the text has are kept, and so is the case of its letters where a spelling is in lower case.

        Args:
            text: in NFC.
            skip: for training, called for each listed word: whether to read it as if it were not listed.

        Returns:
            A text of the same length, and (characters,) int64: 1 in words with a single spelling, 0 elsewhere.
        """
        given, lower = code_points(text), code_points(lower_case(text))
        bare = self._table[lower]
        pieces = _WORDS.split(_text(bare))  # every second one is a word
        words = pieces[1::2]
        known = list(map(str.split, map(self._lines.get, words, repeat(""))))
        if skip is not None:
            known = [[] if spellings and skip() else spellings for spellings in known]
        pieces[1::2] = [spellings[0] if spellings else word for word, spellings in zip(words, known)]
        listed = np.zeros(len(pieces), np.int64)  # number of spellings
        listed[1::2] = list(map(len, known))
        hints = (listed == 1).astype(np.int64).repeat(list(map(len, pieces)))

        first = code_points("".join(pieces))
        changed = (first != bare) & (lower == bare)  # without a mark of its own
        suggested = np.where(changed, first, given)
        for place in np.flatnonzero(changed & (given != lower)).tolist():
            upper = chr(first[place]).upper()
            if text[place].isupper() and len(upper) == 1:  # of ß, two characters
                suggested[place] = ord(upper)
        return _text(suggested), hints

    def _bare(self, text: str) -> str:
        """Return the text in lower case and without marks."""
        return _text(self._table[code_points(lower_case(text))])


def _text(codes: np.ndarray) -> str:
    return codes.tobytes().decode("utf-32-le")
