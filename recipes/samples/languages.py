"""Samples for language identification: Italian, French and Portuguese words."""

import random
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

from atenta.recipes.samples.files import DATA, SPLITS, read_samples


def lowercase_words(text: str) -> list[str]:
    """Return the distinct words of a text that have only lower-case letters, in the order of their first occurrence.

    Words are separated by white space and stripped of punctuation. Names, which have a capital, and words with a
    hyphen or an apostrophe are left out.
    """
    bare = (word.strip(".,;:!?…—–-()[]'\"“”‘’«»ºª") for word in text.split())
    return list(dict.fromkeys(word for word in bare if word.isalpha() and word.islower()))


def language_words(folder: Path = DATA, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Return words of three languages, equally many of each, in the splits `train`, `validation` and `test`.

    Italian and French words are from the grapheme-to-phoneme lists in `folder`/g2p, Portuguese words from the works of
    Machado de Assis in `folder`/machado. A word is in the split of its list or work. Words of two of the languages, in
    any split, are ambiguous and are left out. Of the other words, each split gets the same number of each language: as
    many as the language with the fewest has (Italian). They are drawn at random, and frequent words are no more likely
    than rare ones. No word is in two splits: test draws first, train last. The seed decides the draw and the order.

    Returns:
        The rows of each split: `text` is a word, `text_pair` is None, `label` is `ita`, `fra` or `por`.

    Raises:
        FileNotFoundError: If a list or the works of a split are missing, as in an installed package, which contains no
            data.
    """
    vocabularies = {
        "ita": _listed_words(folder / "g2p", "ita"),
        "fra": _listed_words(folder / "g2p", "fre"),
        "por": {split: lowercase_words("\n".join(read_samples(folder / "machado" / split))) for split in SPLITS},
    }
    languages_of = Counter(word for vocabulary in vocabularies.values() for word in set(chain(*vocabulary.values())))
    drawn: set[str] = set()
    rows = {}
    generator = random.Random(seed)
    for split in reversed(SPLITS):
        candidates = {
            language: [word for word in vocabulary[split] if languages_of[word] == 1 and word not in drawn]
            for language, vocabulary in vocabularies.items()
        }
        size = min(map(len, candidates.values()))
        rows[split] = [
            {"text": word, "text_pair": None, "label": language}
            for language, words in candidates.items()
            for word in generator.sample(words, size)
        ]
        generator.shuffle(rows[split])
        drawn.update(row["text"] for row in rows[split])
    return {split: rows[split] for split in SPLITS}


def _listed_words(folder: Path, language: str) -> dict[str, list[str]]:
    return {
        split: [line.partition("\t")[0] for line in read_samples(folder, f"{language}_{part}.tsv")[0].splitlines()]
        for split, part in zip(SPLITS, ("train", "dev", "test"))
    }
