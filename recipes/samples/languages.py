"""The language task: is this word Italian, French or Portuguese?"""

import random
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

from atenta.recipes.samples.files import DATA, SPLITS, read_samples


def words(text: str) -> list[str]:
    """Return the words of a running text that hold small letters only, in the order of their first occurrence.

    Words are what white space separates, without the punctuation around them: names, which have a capital, and
    words with a hyphen or an apostrophe, do not count.
    """
    bare = (word.strip(".,;:!?…—–-()[]'\"“”‘’«»ºª") for word in text.split())
    return list(dict.fromkeys(word for word in bare if word.isalpha() and word.islower()))


def language_words(folder: Path = DATA, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Return words of three languages, as many of each, in the splits `train`, `validation` and `test`.

    Italian and French words are those of the grapheme-to-phoneme lists in `folder`/g2p, Portuguese ones those that
    Machado de Assis uses in the works in `folder`/machado; a word stays in the split of its list or work. A word
    that two of the languages have, in whatever split, has no one answer and is left out. Of the others a split gets
    as many of each language as it has of the one with fewest (Italian), drawn at random, a frequent word no likelier
    than a rare one. No word is in two splits: test draws first, train last. The seed decides draw and order.

    Returns:
        for each split its rows: `text` is a word, `text_pair` None, `label` one of `ita`, `fra` and `por`.

    Raises:
        FileNotFoundError: if a list or a split's works are not there, as in an installed package, which ships none.
    """
    vocabularies = {
        "ita": _listed_words(folder / "g2p", "ita"),
        "fra": _listed_words(folder / "g2p", "fre"),
        "por": {split: words("\n".join(read_samples(folder / "machado" / split))) for split in SPLITS},
    }
    holders = Counter(word for vocabulary in vocabularies.values() for word in set(chain(*vocabulary.values())))
    drawn: set[str] = set()
    rows = {}
    generator = random.Random(seed)
    for split in reversed(SPLITS):
        candidates = {
            language: [word for word in vocabulary[split] if holders[word] == 1 and word not in drawn]
            for language, vocabulary in vocabularies.items()
        }
        size = min(map(len, candidates.values()))
        rows[split] = [
            {"text": word, "text_pair": None, "label": language}
            for language, words_of_split in candidates.items()
            for word in generator.sample(words_of_split, size)
        ]
        generator.shuffle(rows[split])
        drawn.update(row["text"] for row in rows[split])
    return {split: rows[split] for split in SPLITS}


def _listed_words(folder: Path, language: str) -> dict[str, list[str]]:
    return {
        split: [line.partition("\t")[0] for line in read_samples(folder, f"{language}_{part}.tsv")[0].splitlines()]
        for split, part in zip(SPLITS, ("train", "dev", "test"))
    }
