"""Sample for search: names and words, and how people may misspell them."""

import random
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain
from string import ascii_lowercase

from atenta.recipes.samples.files import FILES, SPLITS, first_cells
from atenta.tokenization.base_letters import strip_accents

_SOURCES = ("hebrew", "french_g2p", "italian_g2p")  # the first cell of each row is an entry
_SHORTEST = 5  # letters of an entry: a shorter one with an error is as near to many others
_COPIES = 4  # misspellings of each training entry
_TRIES = 50
_HELD_OUT = 1_000  # misspellings in validation and in each test
_Error = Callable[[str, random.Random], str]
_KEYBOARD = ("qwertyuiop", "asdfghjklç", "zxcvbnm")
_SOUNDS = (  # spellings that sound alike in some language of the names; each is written for the other
    *(("ss", "ç"), ("ss", "s"), ("s", "z"), ("s", "ç"), ("c", "s"), ("sc", "c"), ("x", "ch"), ("sh", "ch")),
    *(("x", "s"), ("g", "j"), ("c", "k"), ("qu", "k"), ("c", "qu"), ("ck", "k"), ("v", "w"), ("b", "v")),
    *(("i", "y"), ("i", "j"), ("ph", "f"), ("th", "t"), ("h", ""), ("ou", "o"), ("ou", "u"), ("au", "o")),
    *(("eau", "o"), ("ei", "e"), ("ai", "e"), ("l", "u"), ("lh", "li"), ("gn", "nh"), ("e", "i"), ("o", "u")),
    *(("m", "n"), ("tz", "z"), ("ts", "z"), ("x", "ks"), ("ll", "l"), ("nn", "n"), ("tt", "t"), ("rr", "r")),
)


def misspellings() -> dict[str, list[dict[str, str]]]:
    """Return misspellings of names and words, each with its right spelling, in splits and two further tests.

    The entries are the names of `hebrew` and the words of `french_g2p` and `italian_g2p` in lower case, of five
    letters or more. An entry is in the split of its file; if several have it, in the last of test, validation and
    train. An entry of training has four misspellings, of one to three errors. Validation and test have 1,000 entries,
    each misspelled once: by one or two errors, or, in the further test `hard`, by three or four. In the test `random
    letters` one or two letters are lost, replaced or added, any letter anywhere; in training and validation that is a
    quarter of the errors. No misspelling is itself an entry of any split.

    The errors, each equally likely: a letter is replaced by a neighbour on the keyboard; a letter is doubled, or one
    of a double is lost; two letters are swapped; a letter is missing; a spelling is replaced by another that sounds
    alike in one of the languages (`ss` and `ç`, `s` and `z`, `x` and `ch`); all accents are dropped, or, without any,
    one of the others is made. The first letter errs like all others.

    Returns:
        The rows of each split: `anchor`, the misspelling, and `positive`, the entry.

    Raises:
        FileNotFoundError: If a file is missing, as in an installed package that runs outside a clone.
    """
    generator = random.Random(0)
    entries: dict[str, list[str]] = {}
    taken: set[str] = set()
    for index in (2, 1, 0):
        cells = chain.from_iterable(first_cells(FILES[name][index]) for name in _SOURCES)
        found = (unicodedata.normalize("NFC", cell) for cell in cells)
        kept = dict.fromkeys(entry for entry in found if entry.isalpha() and len(entry) >= _SHORTEST)
        entries[SPLITS[index]] = [entry for entry in kept if entry not in taken]
        taken.update(kept)

    def rows(chosen: list[str], fewest: int, most: int, kinds: Sequence[_Error] | None = None) -> list[dict[str, str]]:
        made = ((misspell(entry, generator.randint(fewest, most), generator, taken, kinds), entry) for entry in chosen)
        return [{"anchor": wrong, "positive": entry} for wrong, entry in made if wrong is not None]

    drawn = {split: generator.sample(entries[split], _HELD_OUT) for split in SPLITS[1:]}
    all_kinds = [*_ERRORS, _random_letter, _random_letter]  # it stands for letters that are replaced and added
    training = rows(entries["train"] * _COPIES, 1, 3, all_kinds)
    generator.shuffle(training)
    return {
        "train": training,
        "validation": rows(drawn["validation"], 1, 2, all_kinds),
        "test": rows(drawn["test"], 1, 2),
        "hard": rows(drawn["test"], 3, 4),
        "random letters": rows(drawn["test"], 1, 2, [_random_letter]),
    }


def misspell(
    entry: str, errors: int, generator: random.Random, taken: set[str], kinds: Sequence[_Error] | None = None
) -> str | None:
    """Return an entry with this number of errors, or None if each attempt gives one of the words that are `taken`.

    Errors are made one after another, and a later one may undo an earlier one. Their kinds are equally likely: by
    default all but those of single random letters.
    """
    for _ in range(_TRIES):
        wrong = entry
        for _ in range(errors):
            wrong = generator.choice(kinds or _ERRORS)(wrong, generator)
        if wrong not in taken and wrong != entry and wrong:
            return wrong
    return None


def _near_key(word: str, generator: random.Random) -> str:
    place = generator.randrange(len(word))
    near = _NEAR_KEYS.get(strip_accents(word[place])) or _NEAR_KEYS.get(word[place])
    return word[:place] + generator.choice(near) + word[place + 1 :] if near else word


def _doubled(word: str, generator: random.Random) -> str:
    doubles = [place for place in range(1, len(word)) if word[place] == word[place - 1]]
    if doubles and generator.random() < 0.5:
        place = generator.choice(doubles)
        return word[:place] + word[place + 1 :]
    place = generator.randrange(len(word))
    return word[:place] + word[place] + word[place:]


def _swapped(word: str, generator: random.Random) -> str:
    places = [place for place in range(1, len(word)) if word[place] != word[place - 1]]
    if not places:
        return word
    place = generator.choice(places)
    return word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]


def _missing(word: str, generator: random.Random) -> str:
    place = generator.randrange(len(word))
    return word[:place] + word[place + 1 :] if len(word) > 2 else word


def _sound(word: str, generator: random.Random) -> str:
    bare = strip_accents(word)
    found = [
        (place, written, other)
        for written, other in _RESPELLINGS
        if written in word or written in bare
        for place in range(len(word))
        if word.startswith(written, place) or bare.startswith(written, place)
    ]
    if not found:
        return word
    place, written, other = generator.choice(found)
    return word[:place] + other + word[place + len(written) :]


def _without_accents(word: str, generator: random.Random) -> str:
    bare = strip_accents(word)
    return bare if bare != word else generator.choice(_ERRORS[:-1])(word, generator)


def _random_letter(word: str, generator: random.Random) -> str:
    place, letter = generator.randrange(len(word)), generator.choice(ascii_lowercase)
    lost, replaced, added = word[place + 1 :], letter + word[place + 1 :], letter + word[place:]
    return word[:place] + generator.choice((lost, replaced, added))


def _near_keys() -> dict[str, str]:
    """Return the keys around each key: beside it, and above and below it."""
    keys = {(row, column): key for row, line in enumerate(_KEYBOARD) for column, key in enumerate(line)}
    around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))  # each row is half a key to the right of the last
    return {
        key: "".join(keys.get((row + down, column + right), "") for down, right in around)
        for (row, column), key in keys.items()
    }


_NEAR_KEYS = _near_keys()
_RESPELLINGS = [pair for spellings in _SOUNDS for pair in (spellings, spellings[::-1]) if pair[0]]
_ERRORS: tuple[_Error, ...] = (_near_key, _doubled, _swapped, _missing, _sound, _without_accents)
