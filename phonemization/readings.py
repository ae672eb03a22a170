"""Pronunciations of words that need no model: a user's lexicon, and what the folder of a model knows of its words."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

READINGS_FILE = "readings.txt"  # in the folder of a model
STRESS = "ˈ"  # a phone of its own, before the stressed syllable
Phones = tuple[str, ...]
_PLAIN_SIGNS = str.maketrans("’\u2010\u2011", "'--")
_PROBABILITY = re.compile(r"\d*\.\d+")


class Reading(NamedTuple):
    """A pronunciation of a word.

    Attributes:
        phones: its phones, such as `("ˈ", "ɡ", "o", "s", "t", "ʊ")`.
        confidence: the probability that the model gives them, 0 to 1; 1 if they are from a lexicon.
    """

    phones: Phones
    confidence: float


def plain_word(word: str) -> str:
    """Return a word as lexicons and models have it: in NFC, in lower case, with the signs `'` and `-`."""
    return unicodedata.normalize("NFC", word).lower().translate(_PLAIN_SIGNS)


def read_lexicon(path: str | Path) -> dict[str, list[Phones]]:
    """Return the pronunciations of each word of a lexicon: `word<TAB>phones separated by spaces`, one on each line.

    A word with several pronunciations has several lines, the preferred one first. Neither case nor the full stop of
    an abbreviation counts, and `ˈt` is the mark of stress and t. This is the
    `lexicon.txt` of aligners and speech programs: between word and phones there may be a space instead of the tab, and
    probabilities, which are not read.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not UTF-8, or a line has a word without phones, or several words.
    """
    lexicon: dict[str, list[Phones]] = {}
    for where, (first, *cells) in _rows(Path(path)):
        word, *rest = (first, *cells) if cells else first.split(maxsplit=1)
        rest = [*dropwhile(_PROBABILITY.fullmatch, rest)]
        if len(rest) > 1:
            raise ValueError(f"{where}: found {len(cells) + 1} columns; expected two, word<TAB>phones.")
        spaced = re.sub(rf"{STRESS}(?=\S)", f"{STRESS} ", " ".join(rest))
        phones = [*dropwhile(_PROBABILITY.fullmatch, spaced.split())]
        if not word.strip() or not phones:
            raise ValueError(
                f"{where}: found {word!r:.60} without phones; expected word<TAB>phones separated by spaces."
            )
        if len(word.split()) > 1:
            raise ValueError(f"{where}: found {word!r:.60}; expected one word, as texts are read word by word.")
        plain = plain_word(word.strip())
        lexicon.setdefault(plain.removesuffix(".") or plain, []).append(tuple(phones))
    return lexicon


def load_readings(folder: Path) -> dict[tuple[str, str], list[Phones]]:
    """Return the readings of words by their variant and the word, from beside a model; none if it has no such file.

    A line is `variant<TAB>word<TAB>phones<TAB>phones…`. One reading is how the word is said. Two are those of a
    homograph, the more frequent one first. A word without any, as earlier versions have, is left to the model.

    Raises:
        ValueError: If the file is damaged.
    """
    path = folder / READINGS_FILE
    if not path.is_file():
        return {}
    found = {}
    for where, (variant, *cells) in _rows(path):
        if not cells or len(cells) > 3 or not all(map(str.strip, cells)):
            raise ValueError(f"{where} is damaged; expected variant<TAB>word, and at most two readings.")
        found[variant, plain_word(cells[0])] = [tuple(each.split()) for each in cells[1:]]
    return found


def save_readings(folder: Path, rows: Iterator[tuple[str, str, list[str]]]) -> None:
    """Write the readings of words for [`load_readings`]: variant, word, and the phones of each reading."""
    lines = ("\t".join([variant, word, *readings]) for variant, word, readings in rows)
    (folder / READINGS_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the cells of each line that is not blank."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # splitlines would part words at U+2028 and its like
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8.") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}, line {number}", line.split("\t")


def is_vowel(phone: str) -> bool:
    """Return whether a phone is a vowel, nasal or not; glides are none."""
    return unicodedata.normalize("NFD", phone)[0] in "aeiouɐəɛɔɪʊɨ"
