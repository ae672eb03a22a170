"""Words of no list, with the phones that models of Portuguese words agree on, for one more model to learn from."""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from atenta.phonemization.letter_tagger import LetterTagger, WrittenWord
from atenta.phonemization.readings import Phones
from atenta.recipes.samples.files import SPLITS, first_cells, read_samples
from atenta.recipes.samples.portuguese_phones import LISTS, portuguese_phones, read_list
from atenta.restoration.restorer import CharacterRestorer

_WORDS = {"br": 240_000, "br-wikipron": 100_000, "pt": 100_000}  # under each tag, the most frequent first
_WORD = re.compile("[a-zà-ÿ]+(?:-[a-zà-ÿ]+)*")
_LENGTHS = range(3, 25)  # letters of a word


def save_guessed_rows(file: Path, folders: Sequence[Path], seed: int = 42) -> None:
    """Write rows for `--further_file` of `finetune_letters.py`: guessed ones, and those of training once more.

    A guess is what models, together, give more than half of the probability. Words of a validation or a test are none.

    Args:
        file: `word<TAB>phones<TAB>tag` on each line.
        folders: of models that `finetune_letters.py` has trained on `portuguese_g2p`.
        seed: of the choice among rare words.
    """
    taggers = [LetterTagger(CharacterRestorer.from_pretrained(folder)) for folder in folders]
    known = frozenset.intersection(*(tagger.letters for tagger in taggers))
    words = [word for word in _words(seed) if known.issuperset(word)]
    with file.open("w", encoding="utf-8") as rows:
        for row in portuguese_phones()["train"]:
            print(row["source"], row["target"], row["tags"][0][1:-1], sep="\t", file=rows)
        for tag, count in _WORDS.items():
            listed = {word for split in SPLITS for word in read_list(LISTS[tag], split)}
            chosen = [word for word in words if word not in listed][:count]
            for word, phones in guess(taggers, chosen, tag):
                print(word, " ".join(phones), tag, sep="\t", file=rows)


def guess(taggers: Sequence[LetterTagger], words: Sequence[str], tag: str) -> Iterator[tuple[str, Phones]]:
    """Yield the words of whose phones the taggers are sure together, with these phones."""
    for start in range(0, len(words), 4_000):
        some = words[start : start + 4_000]
        best = {word: _shares(ways) for word, *ways in zip(some, *(tagger.write(some, (tag,)) for tagger in taggers))}
        doubtful = [word for word in some if len(best[word]) > 1]  # where further ways decide, which take time
        found = (tagger.write(doubtful, (tag,), n_best=3) for tagger in taggers)
        best |= {word: _shares(ways) for word, *ways in zip(doubtful, *found)}
        for word, shares in best.items():
            phones = max(shares, key=shares.__getitem__, default=())
            if shares[phones] > 0.5:
                yield word, phones


def _shares(ways: Sequence[Sequence[WrittenWord]]) -> defaultdict[Phones, float]:
    """Return the mean of the probabilities that several taggers give to the ways to write a word."""
    shares: defaultdict[Phones, float] = defaultdict(float)
    for way in chain(*ways):
        shares[way.units] += math.exp(way.log_probability) / len(ways)
    return shares


def _words(seed: int) -> list[str]:
    """Return words of running text, by their frequency, and then rare ones of a dictionary in a random order."""
    held_out = {word for name in LISTS.values() for split in ("validation", "test") for word in read_list(name, split)}
    counts = Counter[str]()
    for folder in ("portugues", "portugues_2"):
        for text in read_samples(folder):
            counts.update(_WORD.findall(text.lower()))
    frequent = [word for word, count in counts.most_common() if count > 1]
    rare = sorted({word.lower() for word in first_cells("words_pt/words.txt")} - {*frequent})
    random.Random(seed).shuffle(rare)
    return [word for word in (*frequent, *rare) if len(word) in _LENGTHS and word not in held_out]
