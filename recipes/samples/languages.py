"""Samples of words of several languages: which of three it is, and the phones of those with a tag each."""

import random
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

from atenta.recipes.samples.files import FILES, SPLITS, first_cells, read_cells, read_samples

_ROMANCE = {"pt-BR": "Brazil", "pt-PT": "Portugal", "gl": "Galician", "es": "Spanish", "it": "Italian", "fr": "French"}
_LOW = {"ady": "Adyghe", "el": "Greek", "it": "Italian", "km": "Khmer"}
_LOW |= {"lv": "Latvian", "mt": "Maltese", "ro": "Romanian", "sl": "Slovene"}
_MEDIUM = {"bg": "Bulgarian", "fr": "French", "hu": "Hungarian", "hy": "Armenian"}
_MEDIUM |= {"ja": "Japanese", "ka": "Georgian", "nl": "Dutch", "sh": "Serbo-Croatian"}


def lowercase_words(text: str) -> list[str]:
    """Return the distinct words of a text that have only lower-case letters, in the order of their first occurrence.

    Words are separated by white space and stripped of punctuation. Names, which have a capital, and words with a
    hyphen or an apostrophe are left out.
    """
    bare = (word.strip(".,;:!?…—–-()[]'\"“”‘’«»ºª") for word in text.split())
    return list(dict.fromkeys(word for word in bare if word.isalpha() and word.islower()))


def language_words() -> dict[str, list[dict[str, Any]]]:
    """Return words of three languages, equally many of each, in the splits `train`, `validation` and `test`.

    Italian and French words are from the grapheme-to-phoneme lists, Portuguese words from the works of Machado de
    Assis. A word is in the split of its list or work. Words of two of the languages, in any split, are ambiguous and
    are left out. Of the other words, each split gets the same number of each language: as many as the language with
    the fewest has (Italian). They are drawn at random, and frequent words are no more likely than rare ones. No word
    is in two splits: test draws first, train last.

    Returns:
        The rows of each split: `text` is a word, `text_pair` is None, `label` is `ita`, `fra` or `por`.
    """
    vocabularies = {
        "ita": dict(zip(SPLITS, map(first_cells, FILES["italian_g2p"]))),
        "fra": dict(zip(SPLITS, map(first_cells, FILES["french_g2p"]))),
        "por": {split: lowercase_words("\n".join(read_samples(f"machado/{split}"))) for split in SPLITS},
    }
    languages_of = Counter(word for vocabulary in vocabularies.values() for word in set(chain(*vocabulary.values())))
    drawn: set[str] = set()
    rows = {}
    generator = random.Random(0)
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


def _tagged_words(folder: str, names: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return words with a tag such as `<pt-BR>`, and the phones of that language, in three splits and a test of each.

    A word is in one split, with all its pronunciations.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for split in SPLITS:
        cells = read_cells(f"{folder}/{split}.tsv")
        rows[split] = [{"source": word, "target": phones, "tags": [f"<{tag}>"]} for word, phones, tag in cells]
    for tag, name in names.items():
        rows[name] = [row for row in rows["test"] if row["tags"] == [f"<{tag}>"]]
    return rows


romance_words = partial(_tagged_words, "g2p_romance", _ROMANCE)  # Brazil and Portugal count as one language
low_resource_words = partial(_tagged_words, "g2p_low", _LOW)  # 800 of each language in `train`
medium_resource_words = partial(_tagged_words, "g2p_medium", _MEDIUM)  # 8,000 of each


def brazil_words() -> dict[str, list[dict[str, Any]]]:
    """Return the words of [`romance_words`] as they are said in Brazil, without a tag: one language alone."""
    rows = romance_words()
    return {split: [row | {"tags": []} for row in rows[split] if row["tags"] == ["<pt-BR>"]] for split in SPLITS}
