"""The sample of Portuguese words and their phones: which rows are trained on, and which words have two readings."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

from atenta.phonemization.readings import is_vowel
from atenta.recipes.samples.files import SPLITS, read_cells
from atenta.tokenization.base_letters import strip_accents

# The lists by the tag of their rows. The first has stress marks and one pronunciation for each word.
LISTS = {"br": "fg2p", "br-wikipron": "wikipron_br", "pt": "wikipron_pt"}
WIKTIONARY = {"br-wikipron": "Brazil, Wiktionary", "pt": "Portugal, Wiktionary"}
_PHONE = re.compile("[^\u0300-\u036f](?:\u0361.|[\u0300-\u036f])*")  # a letter with its marks, or two under a tie
_NOT_PALATALISED = re.compile("[td] (?:ˈ )?[iĩ]")
_VOICELESS = ("p", "t", "k", "f", "s", "t͡ʃ")
_HEIGHTS = ({"e", "ɛ"}, {"o", "ɔ"})
# The homographs whose reading with ɛ or ɔ is the more frequent one in running text: *bola*, *gosto*, *leste*. In most
# others the noun has e or o, and a rarer verb form ɛ or ɔ: *acordo*, *governo*, *jogo*.
MOSTLY_OPEN = {
    *("aposto", "berma", "bola", "bolas", "bordo", "bota", "briquete", "carrego", "coleta", "colher", "colheres"),
    *("corte", "cortes", "elo", "enrolo", "foda", "forma", "gosto", "ioga", "lerdo", "leste", "meta", "mor", "nega"),
    *("nego", "oca", "olha", "pega", "pego", "percebe", "pezinho", "pilota", "polo", "rola", "rota", "sede", "teto"),
    *("toco", "troço", "vitelo"),
}
OPEN_IN_BRAZIL = {"controlo", "testo"}  # where they are no nouns
Pronunciations = dict[str, list[str]]  # of each word, the phones of each separated by spaces


def read_list(name: str, split: str) -> Pronunciations:
    """Return the pronunciations of each word of a list of `LISTS`, in its order: phones are separated by spaces."""
    cells = read_cells(f"g2p_pt/{name}_{split}.tsv")
    return {word: [" ".join(_PHONE.findall(each)) for each in pronounced] for word, *pronounced in cells}


def portuguese_phones() -> dict[str, list[dict[str, Any]]]:
    """Return words and their phones in the splits `train`, `validation` and `test`, and tests of Wiktionary's lists.

    A tag says which list the phones are of: `br`, Brazil with stress marks; `br-wikipron`, Brazil, and `pt`, Portugal,
    without. In training and validation a word has one pronunciation under each tag, of one accent. What must not be
    learned is left out: see [`is_faulty`], [`is_general_brazil`] and [`is_standard_portugal`]. `test` is the whole
    test of the first list. Its words are trained on under no tag.

    Returns:
        The rows of each split: `source`, `target`, phones separated by spaces, and `tags`, such as `<br>`.
    """
    lists = {tag: {split: read_list(name, split) for split in SPLITS} for tag, name in LISTS.items()}
    attested = {word for tag in WIKTIONARY for words in lists[tag].values() for word in words}
    marked = {strip_accents(word) for word in attested if strip_accents(word) != word}
    held_out = lists["br"]["test"]
    rows: dict[str, list[dict[str, Any]]] = {}
    for split in ("train", "validation"):
        rows[split] = [
            _row(word, fitting[0], tag)
            for tag in LISTS
            for word, pronounced in lists[tag][split].items()
            if word not in held_out and not (tag == "br" and word in marked and word not in attested)
            if (fitting := of_one_accent(tag, word, pronounced))
        ]
    for tag, name in {"br": "test", **WIKTIONARY}.items():
        rows[name] = [_row(word, each, tag) for word, of_word in lists[tag]["test"].items() for each in of_word]
    return rows


def of_one_accent(tag: str, word: str, pronounced: Sequence[str]) -> list[str]:
    """Return a word's right pronunciations in the accent of a tag, by their code points, but for `br` as given."""
    if tag == "br":
        return [each for each in pronounced if not is_faulty(word, each)]
    if tag == "br-wikipron":
        return sorted(each for each in pronounced if is_general_brazil(word, each))
    standard = sorted(each for each in pronounced if is_standard_portugal(word, each))
    return [each for each in standard if unlike_lisbon(each) == min(map(unlike_lisbon, standard))]


def _row(word: str, phones: str, tag: str) -> dict[str, Any]:
    return {"source": word, "target": phones, "tags": [f"<{tag}>"]}


def is_faulty(word: str, phones: str) -> bool:
    """Return whether a row of the list with stress marks is wrong: words with ü, and tí or dí that stay hard."""
    hard = re.search("[td]í", word) and _NOT_PALATALISED.search(phones)
    return "ü" in word or hard is not None or "ˈ" not in phones


def is_general_brazil(word: str, phones: str) -> bool:
    """Return whether a pronunciation of Wiktionary's Brazil is of the general accent.

    Those of the South, with ɻ or with final o, os, e, es, a or as that is not stressed, and of Rio, with ʃ before
    voiceless consonants or at the end, are not.
    """
    units = phones.split(" ")
    hushed = any(one == "ʃ" and after in _VOICELESS for one, after in pairwise(units))
    is_plural = word.endswith(("as", "es", "os")) and units[-1] == "s"
    full_vowel = units[-2 if is_plural else -1] in ("o", "e", "a") and not re.search("[áàâéêóô]$", word)
    return not (hushed or full_vowel or units[-1] == "ʃ" or "ɻ" in units)


def is_standard_portugal(word: str, phones: str) -> bool:
    """Return whether a pronunciation of Wiktionary's Portugal is not of the North.

    That has b for v, t͡ʃ for ch, and i after r or l at the end and before -mente and -zinho.
    """
    units = phones.split(" ")
    extra_vowel = re.search("[ɾl] i( m ẽ t ɨ| z i ɲ.*)?$", phones) and re.search("[rl](mente|zinh.*)?$", word)
    return not (units.count("b") > word.count("b") or ("t͡ʃ" in units and "ch" in word) or extra_vowel)


def unlike_lisbon(phones: str) -> int:
    """Return a number that is lower the more a pronunciation of Portugal has in common with that of Lisbon.

    There a is ɐ before m, n and nh; ei is ɐj, ou is o and sc is ʃ; and i before a vowel is j.
    """
    counts = Counter(pairwise(phones.split(" ")))
    hiatus = sum(count for (one, after), count in counts.items() if one == "i" and is_vowel(after))
    others = (("a", "m"), ("a", "n"), ("a", "ɲ"), ("o", "w"), ("ʃ", "s"))
    return hiatus + sum(counts[each] for each in others) - counts["ɐ", "j"]


def homographs() -> dict[str, dict[str, list[str]]]:
    """Return the words with two readings, which differ in e and ɛ or in o and ɔ: *gosto*, *sede*.

    They are those of which Wiktionary has both readings, for Brazil and for Portugal: one list alone has doubts too.

    Returns:
        For the tags `br-wikipron` and `pt`, both readings of each word, the one with e or o first.
    """
    found = {}
    for tag, kept in (("br-wikipron", is_general_brazil), ("pt", is_standard_portugal)):
        words: defaultdict[str, list[str]] = defaultdict(list)
        for split in SPLITS:
            for word, pronounced in read_list(LISTS[tag], split).items():
                words[word] += [each for each in pronounced if kept(word, each)]
        found[tag] = {word: pair for word, each in words.items() if (pair := _differ_in_height(each))}
    both = found["br-wikipron"].keys() & found["pt"].keys()
    return {tag: {word: words[word] for word in sorted(both)} for tag, words in found.items()}


def _differ_in_height(pronounced: Sequence[str]) -> list[str]:
    for one, other in combinations(sorted(pronounced), 2):
        pairs = [pair for pair in zip(one.split(" "), other.split(" ")) if pair[0] != pair[1]]
        if len(one) == len(other) and len(pairs) == 1 and {*pairs[0]} in _HEIGHTS:
            return [one, other]
    return []


def readings() -> Iterator[tuple[str, str, list[str]]]:
    """Yield what a model of these rows need not learn: tag, word and its readings.

    They are the words of the closed class, such as articles, mostly without stress, with frequent words that the lists
    have wrong, and frequent foreign words, all of one reading; and the homographs of Wiktionary, the more frequent
    reading first.
    """
    closed = [*read_cells("g2p_pt/closed_class.tsv"), *read_cells("g2p_pt/foreign_words.tsv")]
    for tag, word, phones in closed:
        yield tag, word, [" ".join(_PHONE.findall(phones))]
    unstressed = {word for _, word, _ in closed}
    for tag, words in homographs().items():
        for word, pair in words.items():
            if word not in unstressed:
                is_open = word in (MOSTLY_OPEN if tag == "pt" else MOSTLY_OPEN | OPEN_IN_BRAZIL)
                yield tag, word, pair[::-1] if is_open else pair
