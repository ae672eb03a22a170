"""The sample of Portuguese words and their phones: which rows are trained on, and which words have two readings."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from atenta.phonemization.letter_tagger import LetterTagger
from atenta.phonemization.readings import STRESS, Phones, is_vowel, save_readings
from atenta.phonemization.spelled_out import FOREIGN_WORD
from atenta.recipes.samples.files import SPLITS, read_cells
from atenta.tokenization.base_letters import strip_accents

# The lists by the tag of their rows. The first has stress marks and one pronunciation for each word.
LISTS = {"br": "fg2p", "br-wikipron": "wikipron_br", "pt": "wikipron_pt"}
_TESTS = {"br-wikipron": "Brazil, Wiktionary", "pt": "Portugal, Wiktionary"}
_PHONE = re.compile("[^\u0300-\u036f](?:\u0361.|[\u0300-\u036f])*")  # a letter with its marks, or two under a tie
_NOT_PALATALISED = re.compile("[td] (?:ˈ )?[iĩ]")
_VOICELESS = ("p", "t", "k", "f", "s", "t͡ʃ")
_VOWELS = "aeiouáéíóúâêôãõàü"
_HEIGHTS = ({"e", "ɛ"}, {"o", "ɔ"})
_NUCLEI = "aãeẽɛiĩoõɔuũəɪʊ"
# What the list with stress marks has wrong where a spelling occurs, in its phones, and what is right.
_MISREAD = (
    ("nr", r"(?<=[ãẽĩõũ] )(ˈ )?ɾ(?= )", r"\1x"),
    ("[ao]iu$", r"ˈ ((?:[^ ˈ]+ ){0,3}[ao]) [yj] [ʊu]$", r"\1 ˈ i w"),
    ("uiu$", r"ˈ ((?:[^ ˈ]+ ){0,3})[ʊu] [yj] [ʊu]$", r"\1u ˈ i w"),
    ("uiz$", r"ˈ ((?:[^ ˈ]+ ){0,3})[ʊu] [yj] ([sz])$", r"\1u ˈ i \2"),
    ("eem$", r"i ẽ ỹ$", "e ẽ ỹ"),
    ("[eéê][mn][aeiouãõáéíóúâêô]", rf"(?<=ˈ )((?:[^ {_NUCLEI}]+ )*)[eɛ](?= [mn] [{_NUCLEI}])", r"\1ẽ"),
    ("[oóô][mn][aeiouãõáéíóúâêô]", rf"(?<=ˈ )((?:[^ {_NUCLEI}]+ )*)[oɔ](?= [mn] [{_NUCLEI}])", r"\1õ"),
)
_OTHER_HEIGHT = {"e": "ɛ", "ɛ": "e", "o": "ɔ", "ɔ": "o"}
# The homographs whose reading with ɛ or ɔ is the more frequent one in running text: *bola*, *gosto*, *leste*. In most
# others the noun has e or o, and a rarer verb form ɛ or ɔ: *acordo*, *governo*, *jogo*.
_MOSTLY_OPEN = {
    *("aposto", "berma", "bola", "bolas", "bordo", "bota", "briquete", "carrego", "coleta", "colher", "colheres"),
    *("corte", "cortes", "elo", "enrolo", "foda", "forma", "gosto", "ioga", "lerdo", "leste", "meta", "nega", "nego"),
    *("oca", "olha", "pega", "pego", "percebe", "pezinho", "pilota", "polo", "rola", "rota", "sede", "teto", "toco"),
    *("troço", "vitelo"),
}
_Pronunciations = dict[str, list[str]]  # of each word, the phones of each separated by spaces


def read_list(name: str, split: str) -> _Pronunciations:
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
    attested = {word for tag in _TESTS for words in lists[tag].values() for word in words}
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
    for tag, name in {"br": "test", **_TESTS}.items():
        rows[name] = [_row(word, each, tag) for word, of_word in lists[tag]["test"].items() for each in of_word]
    return rows


def of_one_accent(tag: str, word: str, pronounced: Sequence[str]) -> list[str]:
    """Return those of a word's pronunciations that are right and of the accent of a tag, by their code points."""
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
                yield tag, word, pair[::-1] if word in _MOSTLY_OPEN else pair


def homographs_with_stress(tagger: LetterTagger) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the homographs under `br`, whose list has one reading of each: what a model writes, in both heights."""
    words = [word for tag, word, of_word in readings() if tag == "pt" and len(of_word) > 1]
    for word, written in zip(words, tagger.write(words, ("br",))):
        phones = written[0].units if written else ()
        if other := other_height(phones):
            pair = sorted([" ".join(phones), " ".join(other)], reverse=word in _MOSTLY_OPEN)
            yield "br", word, pair


def other_height(phones: Phones) -> Phones | None:
    """Return phones with the other height of the stressed vowel, ɛ for e or ɔ for o; `None` without such a vowel."""
    if STRESS not in phones:
        return None
    place = next((place for place in range(phones.index(STRESS), len(phones)) if is_vowel(phones[place])), None)
    if place is None or phones[place] not in _OTHER_HEIGHT:
        return None
    return (*phones[:place], _OTHER_HEIGHT[phones[place]], *phones[place + 1 :])


def exceptions(tagger: LetterTagger) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the words of Wiktionary's training and validation that a model writes otherwise: tag, word and phones.

    Of several pronunciations of the accent any is right, and the nearest is taken if the model writes none of them.
    Those of the list with stress marks, which programs have made, are as often its own mistakes.
    """
    known = {(tag, word) for tag, word, _ in readings()}
    for tag in _TESTS:
        listed = chain(*(read_list(LISTS[tag], split).items() for split in ("train", "validation")))
        right = {word: fitting for word, each in listed if (fitting := of_one_accent(tag, word, each))}
        words = [word for word in right if (tag, word) not in known]
        for word, found in zip(words, tagger.write(words, (tag,))):
            written = " ".join(found[0].units) if found else ""
            if written not in right[word]:
                yield tag, word, [min(right[word], key=partial(Levenshtein.distance, written, processor=str.split))]


def corrections(tagger: LetterTagger) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the words that a model writes wrongly under `br`, as far as the other lists or the spelling say so.

    No vowel is nasal without a letter for it, and no e is written as o, both of which the list has by mistake (*uso*
    with ũ, *senador* with o). The stressed e or o has the height that all pronunciations of Wiktionary give it, of
    Brazil and of Portugal; the u of que, qui, gue and gui is heard where they all have it, as in *cinquenta*;
    consonants between vowels are those of Brazil there, as in *lixo* and *exame*; t and d are hard but before i; g is
    soft before e and i; the ending -ens has its glide. The r after n is strong, as in *honra*; i is stressed in *caiu*
    and *juiz*; *leem* has its e; a stressed e or o before m or n is nasal, as in *dono* and *faremos*.
    """
    heights = [
        dict(chain(*(read_list(LISTS[tag], split).items() for split in ("train", "validation")))) for tag in _TESTS
    ]
    words = {*chain(*(read_list(name, split) for name in LISTS.values() for split in ("train", "validation")))}
    known = {word for tag, word, of_word in readings() if tag == "br" or len(of_word) > 1}
    listed = sorted(word for word in words - known if not re.search(FOREIGN_WORD, word))  # else another is read
    for word, written in zip(listed, tagger.write(listed, ("br",))):
        if written:
            mended = _mend(word, phones := written[0].units, heights)
            if mended != phones:
                yield "br", word, [" ".join(mended)]


def _mend(word: str, phones: Phones, heights: Sequence[_Pronunciations]) -> Phones:
    if word.count("g") == len(re.findall("g[eéêií]", word)):
        phones = tuple("ʒ" if each == "ɡ" else each for each in phones)
    if not re.search("tch|dj|t[hsxz]", word):
        phones = tuple(re.sub("(t|d) [ʃʒ](?= (?:ˈ )?[aãeẽɛoõɔuũəʊ])", r"\1", " ".join(phones)).split(" "))
    if word.endswith(("ens", "éns")) and phones[-2:] == ("ẽ", "s"):
        phones = (*phones[:-1], "ỹ", "s")
    for spelled, old, new in _MISREAD:
        if re.search(spelled, word):
            phones = (*re.sub(old, new, " ".join(phones)).split(" "),)
    phones = _with_heard_u(word, phones, [each for of_list in heights for each in of_list.get(word, [])])
    phones = _with_written_vowels(word, phones)
    in_brazil = [each.split(" ") for each in heights[0].get(word, []) if is_general_brazil(word, each)]
    phones = _with_heard_consonants(word, phones, in_brazil)
    other = other_height(phones)
    if other is None:
        return phones
    place = next(place for place, pair in enumerate(zip(phones, other)) if pair[0] != pair[1])
    nuclei, number = len(_nuclei(phones)), len(_nuclei(phones[:place]))
    attested = [
        {_nuclei(each.split(" "))[number] for each in of_list.get(word, []) if len(_nuclei(each.split(" "))) == nuclei}
        for of_list in heights
    ]
    return other if all(each == {other[place]} for each in attested) else phones


def _with_heard_u(word: str, phones: Phones, attested: Sequence[str]) -> Phones:
    """Return phones with w after each k or ɡ that has it in all attested pronunciations of que, qui, gue or gui."""
    for letter, phone in (("q", "k"), ("g", "ɡ")):
        heard = {_places_with_u(each.split(" "), phone) for each in attested}
        if re.search(f"{letter}u[eéêií]", word) and len(heard) == 1:
            (wanted,) = heard
            found = _places_with_u(phones, phone)
            if len(found) == len(wanted):
                is_lacking = (want and not have for want, have in zip(wanted, found))
                phones = (*chain(*((one, "w") if one == phone and next(is_lacking) else (one,) for one in phones)),)
    return phones


def _places_with_u(phones: Sequence[str], phone: str) -> tuple[bool, ...]:
    """Return whether each occurrence of a phone is before the glide w."""
    return tuple(after == "w" for one, after in zip(phones, (*phones[1:], "")) if one == phone)


def _with_heard_consonants(word: str, phones: Phones, attested: Sequence[Sequence[str]]) -> Phones:
    """Return phones with the consonants between vowels on which all attested pronunciations agree.

    What a letter can be is exchanged alone: x, and sometimes g, c and the s of *trans*.
    """
    runs = _runs(phones)
    others = [found for each in attested if len(found := _runs(each)) == len(runs)]
    for place in range(1, len(runs) - 1):
        own = " ".join(each for each in runs[place] if each != STRESS)
        heard = {" ".join(other[place]) for other in others}
        new = heard.pop() if len(heard) == 1 else own
        if (
            ("x" in word and {own, new} <= {"k s", "ʃ", "z", "s"})
            or {own, new} == {"ɡ", "ʒ"}
            or (own, new) == ("ʃ", "s")
            or ((own, new) == ("s", "z") and "trans" in word)
        ):
            runs[place] = [*([STRESS] if STRESS in runs[place] else []), *new.split(" ")]
    return (*chain(*runs),)


def _with_written_vowels(word: str, phones: Phones) -> Phones:
    """Return phones without nasal vowels that no letter makes nasal, and without o for e.

    Words whose vowels are not those of the phones one by one stay.
    """
    spelled = re.sub(f"(?<=[qg])u(?=[eéêií])|(?<=[{_VOWELS}])l(?![h{_VOWELS}])", "", word)  # silent, or a glide
    letters, runs = re.findall(f"[{_VOWELS}]+|[^{_VOWELS}]+", spelled), _runs(phones)
    if [each[0] in _VOWELS for each in letters] != [_is_vocalic(run[-1]) for run in runs]:
        return phones
    for place, (written, run) in enumerate(zip(letters, runs)):
        after = [*letters[place + 1 : place + 2], *chain(*runs[place + 1 : place + 2])]
        is_nasal = any(each in "ãõ" for each in written) or any(each[0] in "mnɲ" for each in after)
        for index, vowel in enumerate(run if written[0] in _VOWELS else ()):
            base, *marks = [*unicodedata.normalize("NFD", vowel)]
            if marks and not is_nasal:
                marks, base = [], "ɔ" if base == "o" and re.search("os(os|as?)$", word) else base
            if strip_accents(written) == "e" and base in "oɔʊu" and len(run) <= 1 + run.count(STRESS):
                base = "e"
            run[index] = unicodedata.normalize("NFC", "".join([base, *marks]))
    return (*chain(*runs),)


def _runs(phones: Sequence[str]) -> list[list[str]]:
    """Return phones divided where vowels and glides begin or end, with a stress mark before what it precedes."""
    runs: list[list[str]] = []
    for phone, after in zip(phones, (*phones[1:], STRESS)):
        kind = _is_vocalic(after if phone == STRESS else phone)
        if runs and (runs[-1][-1] == STRESS or kind == _is_vocalic(runs[-1][-1])):
            runs[-1].append(phone)
        else:
            runs.append([phone])
    return runs


def _is_vocalic(phone: str) -> bool:
    return is_vowel(phone) or unicodedata.normalize("NFD", phone)[0] in "jwy"


def _nuclei(phones: Sequence[str]) -> list[str]:
    return [each for each in phones if is_vowel(each)]


def save_known_words(folder: Path, tagger: LetterTagger) -> None:
    """Write beside a model how the words are said that it need not know, and those that it gets wrong."""
    save_readings(folder, chain(readings(), homographs_with_stress(tagger), exceptions(tagger), corrections(tagger)))
