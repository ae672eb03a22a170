"""`Phonemizer`: a saved model of words to phones that reads texts."""

import math
import os
import re
import unicodedata
import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..engines.choice import EngineName, Quantization
from ..engines.feedback import user_level, warn_of_files
from ..engines.saved_model import find_model
from ..generation_options import is_whole
from ..restoration.restorer import CharacterRestorer
from ..tokenization.base_letters import strip_accents
from ..tokenization.text_checks import Texts, check_sequence, list_of_texts
from .letter_tagger import LetterTagger
from .numbers_in_words import INSTALL, LANGUAGES
from .readings import STRESS, Phones, Reading, load_readings, plain_word, read_lexicon
from .spelled_out import in_native_letters, spell_out

_LETTERS = r"(?:[^\W\d_][\u0300-\u036f]*)+"
_TOKEN = re.compile(rf"{_LETTERS}(?:['’\u2010\u2011-]{_LETTERS})*|\d+")
_CLITIC = re.compile(r"(\w{2,})-(me|te|se|lhes?|[oa]s?|n[oa]s?|vos)")  # pronouns after verbs that keep their form
# Soft hyphens and what else has no width inside words; between emoji, a joiner makes one of them.
_UNSEEN = re.compile(r"[\u00ad\u200b\u200c\u2060]|(?<=\w)\u200d|\u200d(?=\w)")
_MOST_CACHED = 100_000  # words; more would only take memory


class PhonemizedWord(NamedTuple):
    """A word with its pronunciations.

    Attributes:
        word: as it was read: a number in words, otherwise as in the text.
        readings: its pronunciations, best first, of a homograph the more frequent one; none if it stays as it is, as a
            number or letters unknown to the model.
        ambiguous: for a homograph, such as *gosto*, the phones of both readings; otherwise nothing.
        source: `"lexicon"`, `"model"`, or `"none"` if it stays as it is.
    """

    word: str
    readings: tuple[Reading, ...]
    ambiguous: tuple[Phones, ...]
    source: str

    @property
    def confidence(self) -> float:
        """The probability of the best reading, 0 to 1: one half for a homograph, 0 for a word that stays as it is."""
        return self.readings[0].confidence if self.readings else 0.0


class PhonemizedText(NamedTuple):
    """A text with the pronunciation of each word.

    Attributes:
        text: as it was read, with numbers and abbreviations in words.
        words: its words.
        gaps: what is before the first word, between two words, and after the last one.
    """

    text: str
    words: tuple[PhonemizedWord, ...]
    gaps: tuple[str, ...]

    def join(self, *, punctuation: bool = False, word_separator: str = " ", phone_separator: str = "") -> str:
        """Return the phones of all words as a text.

        Args:
            punctuation: whether what is between words stays, with single spaces.
            word_separator: what separates words, without punctuation.
            phone_separator: what separates the phones of a word.
        """
        words = [phone_separator.join(each.readings[0].phones) if each.readings else each.word for each in self.words]
        if not punctuation:
            return word_separator.join(words)
        gaps = [re.sub(r"\s+", " ", gap) for gap in self.gaps]
        return "".join([*(gap + word for gap, word in zip(gaps, words)), gaps[-1]]).strip()


class Phonemizer:
    """A model of words to phones that reads texts: numbers in words, a lexicon before the model, doubts by name.

    Words are read in lower case. What the model writes for up to 100,000 words is kept in memory.

    Args:
        tagger: of the letters of words, which become phones.
        readings: what is known of words without the model, by variant and word, as in [`load_readings`].
        lexicon: a user's own pronunciations, which come before all others, as in [`read_lexicon`].

    Attributes:
        variants: the tags of the model, which say what the phones are of, such as `br` and `pt`; none if it has no
            tags.
    """

    def __init__(
        self,
        tagger: LetterTagger,
        readings: Mapping[tuple[str, str], list[Phones]] | None = None,
        lexicon: Mapping[str, list[Phones]] | None = None,
    ) -> None:
        self.tagger, self.variants = tagger, tagger.tags
        self._readings, self._lexicon = dict(readings or {}), dict(lexicon or {})
        # Entries of the lexicon that `_TOKEN` would not find as words, such as *mp3* and *R$*.
        words = (word for word in self._lexicon if re.search(r"\w", word) and not word.isdecimal())
        own = [word for word in words if re.search(r"\d", word) or not _TOKEN.fullmatch(word)]
        listed = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
        self._own = re.compile(rf"(?<!\w)({listed})(?!\w)", re.IGNORECASE) if own else None
        self._token = re.compile(f"{self._own.pattern}|{_TOKEN.pattern}", re.IGNORECASE) if self._own else _TOKEN
        self._cache: dict[tuple[str, str | None, int], tuple[Reading, ...]] = {}

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike,
        *,
        engine: EngineName = "auto",
        quantization: Quantization | None = None,
        lexicon: str | Path | None = None,
    ) -> "Phonemizer":
        """Load a model with what its folder knows of words, from a folder or from the Hub.

        Args:
            name_or_path: folder, or repository on the Hub.
            engine: as in [`CharacterRestorer.from_pretrained`].
            quantization: as there.
            lexicon: file of pronunciations that come before all others: see [`read_lexicon`].

        Raises:
            FileNotFoundError: If there is no such model or file.
            ImportError: If what the engine needs is not installed.
            ValueError: If a file is damaged, or the model is of another kind.
        """
        own = None if lexicon is None else read_lexicon(lexicon)
        folder = find_model(name_or_path)
        restorer = CharacterRestorer.from_pretrained(folder, engine=engine, quantization=quantization)
        return cls(LetterTagger(restorer), load_readings(folder), own)

    def with_lexicon(self, lexicon: Mapping[str, list[Phones]]) -> "Phonemizer":
        """Return a phonemizer of the same model with a lexicon, as in [`read_lexicon`], instead of its own."""
        return Phonemizer(self.tagger, self._readings, lexicon)

    def phonemize(
        self,
        texts: str | Texts,
        variant: str | None = None,
        *,
        punctuation: bool = False,
        word_separator: str = " ",
        phone_separator: str = "",
    ) -> str | list[str]:
        """Return the phones of texts: `amanhã vou à praia` becomes `amãˈɲã ˈvow a ˈpɾayə`.

        Args:
            texts: a text, or several: a list or tuple, or a column of datasets, pandas or NumPy.
            variant: one of `variants`; `None` for a model that has none.
            punctuation, word_separator, phone_separator: as in [`PhonemizedText.join`].

        Returns:
            A text for a text, a list for a list. Numbers and words that cannot be read stay as they are.

        Raises:
            TypeError: If an input is not a text.
            ValueError: If there is no such variant, or a text has a lone surrogate.

        Warns:
            UserWarning: As in [`Phonemizer.read`], or if a text names a file.
        """
        for name, separator in (("word_separator", word_separator), ("phone_separator", phone_separator)):
            if not isinstance(separator, str):
                raise TypeError(f"`{name}` is {separator!r:.80} ({type(separator).__name__}), expected a str.")
        expected = "a str, a list or tuple of str, or a column of a table; for a file, give its text"
        given = [texts] if isinstance(texts, str) else check_sequence(texts, "texts", expected)
        read = self.read(given, variant)
        warn_of_files(given)
        found = [
            each.join(punctuation=punctuation, word_separator=word_separator, phone_separator=phone_separator)
            for each in read
        ]
        return found[0] if isinstance(texts, str) else found

    def read(self, texts: Texts, variant: str | None = None, *, n_best: int = 1) -> list[PhonemizedText]:
        """Return texts with the pronunciations of each word.

        Args:
            texts: as in [`Phonemizer.phonemize`], without one alone.
            variant: as in [`Phonemizer.phonemize`].
            n_best: number of readings of each word that the model writes; a homograph has both in any case.

        Raises:
            TypeError: As in [`Phonemizer.phonemize`].
            ValueError: As in [`Phonemizer.phonemize`], or if `n_best` is below 1.

        Warns:
            UserWarning: If numbers or words stay as they are.
        """
        texts = list_of_texts(texts)
        if variant not in (self.variants or (None,)):
            variants = (
                f"one of {', '.join(self.variants):.200}" if self.variants else "None: the model has no variants"
            )
            raise ValueError(f"variant={variant!r:.60}; expected {variants}.")
        if not is_whole(n_best, 1):
            raise ValueError(f"n_best={n_best!r:.60}; expected 1 or more.")
        plain = [unicodedata.normalize("NFC", _UNSEEN.sub("", text)) for text in texts]
        spoken = self._spell_out(plain, variant)
        tokens = [[*self._token.finditer(text)] for text in spoken]
        answers = self._answer({token[0] for of_text in tokens for token in of_text}, variant, n_best)
        found = []
        for text, of_text in zip(spoken, tokens):
            borders = [0, *(border for token in of_text for border in token.span()), len(text)]
            gaps = tuple(text[start:end] for start, end in zip(borders[::2], borders[1::2]))
            found.append(PhonemizedText(text, tuple(answers[token[0]] for token in of_text), gaps))
        return found

    def _spell_out(self, texts: list[str], variant: str | None) -> list[str]:
        language = LANGUAGES.get(variant or "")
        if language is None:
            parts = [part for text in texts for part in (self._own.split(text)[::2] if self._own else [text])]
            numbers, how = [number for part in parts for number in re.findall(r"\d+", part)], "write them in words"
        else:
            found = [self._spell(text, language) for text in texts]
            texts, numbers = [text for text, _ in found], [number for _, of_text in found for number in of_text]
            how = f"{INSTALL} to have them read out"
        if numbers:
            warnings.warn(f"Not read out: {_some(numbers)}; {how}.", stacklevel=user_level())
        return texts

    def _spell(self, text: str, language: str) -> tuple[str, list[str]]:
        """Spell out a text, except for the lexicon's entries that are not words, such as *mp3*."""
        pieces = self._own.split(text) if self._own else [text]
        found = [
            (piece, []) if place % 2 else spell_out(piece, language, self._lexicon)
            for place, piece in enumerate(pieces)
        ]
        return "".join(piece for piece, _ in found), [number for _, of_piece in found for number in of_piece]

    def _answer(self, tokens: Collection[str], variant: str | None, n_best: int) -> dict[str, PhonemizedWord]:
        """Return each word as it is in the texts with its pronunciations."""
        parts_of = {token: self._parts(plain_word(token), variant) for token in tokens}
        parts = {part for of_token in parts_of.values() for part in of_token}
        known = {part: self._known(part, variant) for part in parts}
        written = self._write(sorted(part for part in parts if not known[part]), variant, n_best)
        answers, unread = {}, []
        for token, of_token in parts_of.items():
            readings = [known[part] or written[part] for part in of_token]
            if not all(readings) or not readings:
                answers[token] = PhonemizedWord(token, (), (), "none")
                unread += [] if token.isdecimal() else [token]
                continue
            source = "lexicon" if all(known[part] for part in of_token) else "model"
            joined = tuple(_join(readings, rank) for rank in range(max(map(len, readings))))
            word = of_token[0]
            is_homograph = of_token == [word] and word not in self._lexicon and len(known[word]) > 1
            both = tuple(each.phones for each in known[word]) if is_homograph else ()
            answers[token] = PhonemizedWord(token, joined, both, source)
        if unread:
            some = _some(sorted(unread))
            warnings.warn(
                f"Left as in the text: {some}, too long, or with a letter that the model lacks.",
                stacklevel=user_level(),
            )
        return answers

    def _known(self, word: str, variant: str | None) -> list[Reading]:
        """Return how a word is said, a homograph in two ways; nothing if the model has to write it."""
        if word in self._lexicon:
            return [Reading(phones, 1.0) for phones in self._lexicon[word]]
        known = self._readings.get((variant or "", word), [])
        return [Reading(phones, 1 / len(known)) for phones in known]

    def _parts(self, word: str, variant: str | None) -> list[str]:
        """Return the parts of a word to be read: the word, or its parts at hyphens and apostrophes the model lacks.

        A verb of Portuguese is read apart from the pronoun after it, and a word from a known prefix, such as *pré-*,
        neither of which is stressed: the lists of words have many of them wrong. Verbs with *lo* and *la* stay whole,
        because *vendê* alone is not a word.
        """
        if self._known(word, variant):
            return [word]
        if word.isdecimal():
            return []
        prefix, rest = word[: (start := word.find("-") + 1)], word[start:]
        if prefix and self._known(prefix, variant):
            return [prefix, *self._parts(rest, variant)]
        if variant in LANGUAGES and (found := _CLITIC.fullmatch(word)):
            return [*found.groups()]
        joints = [each for each in "-'" if each in word and each not in self.tagger.letters]
        if not joints:
            return [word]
        return re.split(f"[{re.escape(''.join(joints))}]", word)

    def _write(self, words: Sequence[str], variant: str | None, n_best: int) -> dict[str, tuple[Reading, ...]]:
        """Return the readings that the model writes for words; none for those with letters that it has not."""
        native = partial(in_native_letters, variant=variant) if variant in LANGUAGES else str
        spelled = {word: self._in_known_letters(native(word)) for word in words}
        cached = {text: self._cache.get((text, variant, n_best)) for text in spelled.values() if text}
        new = sorted(text for text, readings in cached.items() if readings is None)
        found = self.tagger.write(new, () if variant is None else (variant,), n_best)
        answers = {
            text: tuple(
                Reading(each.units, math.exp(each.log_probability)) for each in written if {*each.units} - {STRESS}
            )
            for text, written in zip(new, found)
            if written and {*written[0].units} - {STRESS}  # else the model finds the letters silent
        }
        if len(self._cache) + len(new) > _MOST_CACHED:
            self._cache = {}
        self._cache |= {(text, variant, n_best): readings for text, readings in answers.items()}
        return {word: answers.get(text) or cached.get(text) or () for word, text in spelled.items()}

    def _in_known_letters(self, word: str) -> str:
        """Return a word in letters that the model has, as n for ñ and ss for ß; nothing if it cannot be read."""
        known = self.tagger.letters
        spelled = "".join(each if each in known else strip_accents(each.upper().lower()) for each in word)
        return spelled if len(spelled) <= self.tagger.longest and known.issuperset(spelled) else ""


def _join(parts: Sequence[Sequence[Reading]], rank: int) -> Reading:
    """Return the reading of this rank of a word that was read in parts."""
    chosen = [part[min(rank, len(part) - 1)] for part in parts]
    phones = tuple(phone for reading in chosen for phone in reading.phones)
    return Reading(phones, math.prod(reading.confidence for reading in chosen))


def _some(items: Sequence[str]) -> str:
    """Return the first items in quotes, and how many more there are."""
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    return ", ".join(repr(each if len(each) <= 40 else f"{each[:39]}…") for each in items[:3]) + more
