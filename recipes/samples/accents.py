"""The accent-restoration task: short phrases of Machado de Assis without their diacritics, and as he wrote them."""

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atenta.recipes.samples.files import DATA, SPLITS, read_samples

SHORTEST, LONGEST = 3, 6  # words in a phrase


def strip_accents(text: str) -> str:
    """Return the text in NFC without its diacritics: `ação` becomes `acao`, `pingüim` becomes `pinguim`.

    What Unicode does not compose from a letter and a combining mark stays as it is: `º`, `ª`, `°`, `ø`, `ß`.
    A text in NFC keeps its number of characters unless a mark in it has no composed form.
    """
    letters = (character for character in unicodedata.normalize("NFD", text) if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", "".join(letters))


def phrases(text: str, generator: random.Random) -> Iterator[str]:
    """Cut every line of a text into consecutive phrases of three to six words, using each word once.

    The texts are wrapped and nothing marks where a paragraph ends, but no line belongs to two: a phrase that keeps
    to its line never crosses a paragraph. Lines of one or two words (most headings, some paragraphs' ends) hold no
    phrase. Words are what white space separates, punctuation included.
    """
    for line in text.splitlines():
        words = line.split()
        while len(words) >= SHORTEST:
            # A length is allowed if the rest of the line can still be cut into phrases.
            lengths = [n for n in range(SHORTEST, LONGEST + 1) if len(words) == n or len(words) - n >= SHORTEST]
            length = generator.choice(lengths)
            yield " ".join(words[:length])
            words = words[length:]


def accent_pairs(folder: Path = DATA / "machado", seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Return the pairs (phrase without diacritics, phrase) of the splits `train`, `validation` and `test`.

    `folder` holds a sub-folder a split with the split's works, one UTF-8 text file each. The seed decides the cuts
    and the order of each split, which is shuffled so that the first pairs of a split are a sample of all of it. A
    phrase that validation or test hold too, accents aside, is left out of training (`— Por quê?`).

    Returns:
        for each split its rows: `source` and `target` are strings, `tags` is an empty list.

    Raises:
        FileNotFoundError: if a split has no text, as in an installed package, which ships none.
    """
    pairs = {split: _pairs(read_samples(folder / split), random.Random(seed)) for split in SPLITS}
    held_out = {pair["source"] for split in ("validation", "test") for pair in pairs[split]}
    pairs["train"] = [pair for pair in pairs["train"] if pair["source"] not in held_out]
    return pairs


def _pairs(works: list[str], generator: random.Random) -> list[dict[str, Any]]:
    targets = [phrase for work in works for phrase in phrases(work, generator)]
    generator.shuffle(targets)
    return [{"source": strip_accents(target), "target": target, "tags": []} for target in targets]
