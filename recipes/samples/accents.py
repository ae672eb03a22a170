"""Samples for accent restoration: short phrases of Machado de Assis without and with their diacritics."""

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atenta.recipes.samples.files import DATA, SPLITS, read_samples

_SHORTEST, _LONGEST = 3, 6  # words in a phrase


def strip_accents(text: str) -> str:
    """Return the text in NFC without its diacritics: `ação` becomes `acao`, `pingüim` becomes `pinguim`.

    Characters that Unicode does not compose from a letter and a combining mark are unchanged: `º`, `ª`, `°`, `ø`, `ß`.
    A text in NFC keeps its number of characters unless one of its marks has no composed form.
    """
    letters = (character for character in unicodedata.normalize("NFD", text) if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", "".join(letters))


def cut_phrases(text: str, generator: random.Random) -> Iterator[str]:
    """Cut each line of a text into consecutive phrases of three to six words, using each word once.

    The texts are wrapped, and nothing marks the end of a paragraph. But no line belongs to two paragraphs, so a phrase
    within a line never crosses the end of a paragraph. Lines of one or two words (most headings, some ends of
    paragraphs) give no phrase. Words are separated by white space and include punctuation.
    """
    for line in text.splitlines():
        words = line.split()
        while len(words) >= _SHORTEST:
            # A length is allowed if the rest of the line can still be cut into phrases.
            lengths = [n for n in range(_SHORTEST, _LONGEST + 1) if len(words) == n or len(words) - n >= _SHORTEST]
            length = generator.choice(lengths)
            yield " ".join(words[:length])
            words = words[length:]


def accent_pairs(folder: Path = DATA / "machado", seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Return pairs of a phrase without diacritics and the phrase, in the splits `train`, `validation` and `test`.

    `folder` has a sub-folder for each split, with one UTF-8 text file per work. The seed decides the cuts and the
    order of each split, which is shuffled so that its first pairs are a sample of all of it. Training phrases that
    also occur in validation or test, ignoring accents (`— Por quê?`), are left out.

    Returns:
        The rows of each split: `source` and `target` are strings, `tags` is an empty list.

    Raises:
        FileNotFoundError: If a split has no text, as in an installed package, which contains no data.
    """
    pairs = {split: _pairs(read_samples(folder / split), random.Random(seed)) for split in SPLITS}
    held_out = {pair["source"] for split in ("validation", "test") for pair in pairs[split]}
    pairs["train"] = [pair for pair in pairs["train"] if pair["source"] not in held_out]
    return pairs


def _pairs(works: list[str], generator: random.Random) -> list[dict[str, Any]]:
    targets = [phrase for work in works for phrase in cut_phrases(work, generator)]
    generator.shuffle(targets)
    return [{"source": strip_accents(target), "target": target, "tags": []} for target in targets]
