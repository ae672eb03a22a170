"""Readings of words that the model of Portuguese phones need not know, as lists or the spelling have them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain, product
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from atenta.phonemization.letter_tagger import LetterTagger
from atenta.phonemization.readings import STRESS, Phones, is_vowel, save_readings
from atenta.phonemization.spelled_out import FOREIGN_WORD
from atenta.recipes.samples.files import sample_files
from atenta.recipes.samples.portuguese_phones import (
    LISTS,
    MOSTLY_OPEN,
    OPEN_IN_BRAZIL,
    WIKTIONARY,
    Pronunciations,
    is_general_brazil,
    of_one_accent,
    read_list,
    readings,
)
from atenta.tokenization.base_letters import strip_accents

_OTHER_HEIGHT = {"e": "ɛ", "ɛ": "e", "o": "ɔ", "ɔ": "o"}
_VOWELS = "aeiouáéíóúâêôãõàü"
_NUCLEI = "aãeẽɛiĩoõɔuũəɪʊ"
_FREQUENT = 10  # times that running text has a word, from which it is read by these rules though no list has it
_ONSET = rf"(?<=ˈ )((?:[^ {_NUCLEI}]+ )*)"  # of the stressed syllable
_IRREGULAR = "(?:f[ie]z|pud|quis|tiv|soub|pus|troux|houv|coub)"  # stems of the past of fazer, poder, querer …
_ENDING = "(?:mente|inh[oa]s?|íssim[oa]s?)$"  # before these, vowels are as in the word that they are added to
_CLUSTERS = {*map("".join, product("ptkbdɡfv", "ɾl")), "tʃ", "dʒ"}  # that begin a syllable
_BEFORE_STRESS = {"ɛ": "e", "ɔ": "o", "ə": "a", "ɪ": "i", "ʊ": "u"}
# What the list with stress marks has wrong where a spelling occurs, in its phones, and what is right.
_MISREAD = (
    ("nr", r"(?<=[ãẽĩõũ] )(ˈ )?ɾ(?= )", r"\1x"),
    ("[ao]iu$", r"ˈ ((?:[^ ˈ]+ ){0,3}[ao]) [yj] [ʊu]$", r"\1 ˈ i w"),
    ("uiu$", r"ˈ ((?:[^ ˈ]+ ){0,3})[ʊu] [yj] [ʊu]$", r"\1u ˈ i w"),
    ("uiz$", r"ˈ ((?:[^ ˈ]+ ){0,3})[ʊu] [yj] ([sz])$", r"\1u ˈ i \2"),
    ("eem$", r"i ẽ ỹ$", "e ẽ ỹ"),
    ("eus?$", "ɛ w( s)?$", r"e w\1"),
    (rf"{_IRREGULAR}(?:er(?:a[sm]?|em|es)?|esse[sm]?)$", _ONSET + "e(?= [ɾxs])", r"\1ɛ"),
    ("^ex[aeioáéíóâêô]", r"^((?:ˈ )?[eɛiẽ] (?:ˈ )?)(?:k s|ʃ|s) ", r"\1z "),
    ("tch", "t ʃ ʃ", "t ʃ"),
    ("^(?:s|c[eiéêí])(?![ch])", r"^((?:ˈ )?)[ʃz](?= )", r"\1s"),
    ("z$", "z$", "s"),
    ("ões$", "(?:[oõ] )?[yỹ] s$", "õ ỹ s"),
    ("", r"([ãẽĩõũ]) (?=\1 )", ""),
    ("[eéê][mn][aeiouãõáéíóúâêô]", _ONSET + rf"[eɛ](?= [mn] [{_NUCLEI}])", r"\1ẽ"),
    ("[oóô][mn][aeiouãõáéíóúâêô]", _ONSET + rf"[oɔ](?= [mn] [{_NUCLEI}])", r"\1õ"),
    ("[a-zà-ü]{2}temente$", r"t (?:ʃ )?[eɛi] (?=ˈ m ẽ t ʃ ɪ$)", "t ʃ i "),
    ("[a-zà-ü]{2}demente$", r"d (?:ʒ )?[eɛi] (?=ˈ m ẽ t ʃ ɪ$)", "d ʒ i "),
    ("oi(?:des?|c[oa]s?)$", _ONSET + "o(?= y )", r"\1ɔ"),
    ("", r"(?<![ʃʒ] )([td]) [ʃʒ] (?=(?:ˈ )?ɾ )", r"\1 "),
    ("x$", "(?<!k )[ʃs]$", "k s"),
    ("^(?:des)?enx", r"(ẽ (?:ˈ )?)(?:k s|z|s) ", r"\1ʃ "),
    ("^(?:re)?mex[aeiou]", r"(m [eɛ] (?:ˈ )?)(?:k s|z|s) ", r"\1ʃ "),
    ("^(?:re)?pux|^relax[aeoáé]|^taxad", "(?:k s|z) ", "ʃ "),
)
_MISREAD_IN_PORTUGAL = (
    ("uir|uiz$", "u j (?=[ɾʃ])", "u i "),
    ("uind|uim$", "u j̃", "u ĩ"),
    ("^[^o]*ou[^o]*$", "o w", "o"),
)
# Endings of plurals and of their singulars, and the last phones of a singular and of its plural.
_PLURALS_OF_PORTUGAL = (
    ("ões$", "ão", "ɐ̃ w̃$", "õ j̃ ʃ"),
    ("res$", "r", "ɾ$", "ɾ ɨ ʃ"),
    ("s$", "", "(?<=[aɐɛeiɨɔouj̃w̃])$", " ʃ"),
)


def homographs_with_stress(tagger: LetterTagger) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the homographs under `br`, whose list has one reading of each: what a model writes, in both heights."""
    words = [word for tag, word, of_word in readings() if tag == "pt" and len(of_word) > 1]
    for word, written in zip(words, tagger.write(words, ("br",))):
        phones = _without_misreadings(word, written[0].units) if written else ()
        if other := other_height(phones):
            pair = sorted([" ".join(phones), " ".join(other)], reverse=word in MOSTLY_OPEN | OPEN_IN_BRAZIL)
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
    for tag in WIKTIONARY:
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
    consonants between vowels are those of Brazil there, as in *lixo* and *exame*. A plural has all this from its
    singular.

    By the spelling alone, t and d are hard but before i; g is soft before e and i, and there alone; s begins *servir*
    and ends *capaz*, and ç and ss are s; the ending -ens has its glide, and -ões its õ;
    r after n is strong, as in *honra*; i is stressed in *caiu* and *juiz*; *leem* has its e; a stressed e or o before
    m or n is nasal, as in *dono* and *faremos*; e is closed in *cresceu* and open in *fizeram* and *esperam*; *exato*
    has z; vowels before the stress are closed, as in *serviço*; the ends -om, -im and -um are stressed, and so is the
    zi of *-zinho*.

    The words are those of the lists but for the tests, and those of running text.
    """
    heights = [
        dict(chain(*(read_list(LISTS[tag], split).items() for split in ("train", "validation")))) for tag in WIKTIONARY
    ]
    words = {*chain(*(read_list(name, split) for name in LISTS.values() for split in ("train", "validation")))}
    words |= _frequent_words()
    known = {word for tag, word, of_word in readings() if tag == "br" or len(of_word) > 1}
    # Of foreign words another spelling is read, and those with a prefix, such as *pré-natal*, in two parts.
    is_read = {word: not re.search(FOREIGN_WORD, word) and f"{word.partition('-')[0]}-" not in known for word in words}
    listed = sorted(word for word in words - known if is_read[word])
    for word, written in zip(listed, tagger.write(listed, ("br",))):
        if written:
            mended = _mend(word, phones := written[0].units, heights)
            if re.search("era[sm]?$", word) and re.sub("[sm]?$", "r", word, count=1) in words:
                mended = (*re.sub(_ONSET + "e(?= ɾ)", r"\1ɛ", " ".join(mended)).split(" "),)
            if mended != phones:
                yield "br", word, [" ".join(mended)]


def corrections_of_portugal(tagger: LetterTagger) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the words of running text that a model writes wrongly under `pt`.

    A plural is said as its singular in Wiktionary: *formas* as *forma*, *ações* as *ação*. The u and the i of
    *construir* and *juiz* are vowels of two syllables, and *ou* is o, as in Lisbon.
    """
    listed = dict(chain(*(read_list(LISTS["pt"], split).items() for split in ("train", "validation"))))
    known = {word for tag, word, of_word in readings() if tag == "pt" or len(of_word) > 1}
    words = sorted(_frequent_words() - known)
    for word, written in zip(words, tagger.write(words, ("pt",))):
        if not written:
            continue
        found = " ".join(written[0].units)
        right = of_one_accent("pt", word, listed.get(word, []))
        nearest = min(right, key=partial(Levenshtein.distance, found, processor=str.split), default=found)
        mended = plural = _plural_of_portugal(word, listed) or nearest
        for spelled, old, new in _MISREAD_IN_PORTUGAL:
            if re.search(spelled, word):
                mended = re.sub(old, new, mended)
        if mended != found and (mended != plural or not right):  # else it is one of the exceptions
            yield "pt", word, [mended]


def _plural_of_portugal(word: str, listed: Pronunciations) -> str | None:
    """Return the phones of a plural that the list lacks, from its singular; `None` if they do not follow from it."""
    if word in listed:
        return None
    for plural, singular, old, new in _PLURALS_OF_PORTUGAL:
        said = of_one_accent("pt", alone := re.sub(plural, singular, word), listed.get(alone, []))
        if alone != word and said and re.search(old, said[0]):
            opens = plural == "s$" and word.endswith("os") and "o" in said[0].split(" ")  # *ovo*, *ovos*
            return None if opens else re.sub(old, new, said[0])
    return None


@cache
def _frequent_words() -> frozenset[str]:
    counts: Counter[str] = Counter()
    for path in (*sample_files("portugues", "*-*.txt"), *sample_files("portugues_2", "*.txt")):
        counts.update(re.findall(r"(?<![\w-])[a-zà-ü]{2,}(?![\w-])", path.read_text(encoding="utf-8")))
    return frozenset(word for word, count in counts.items() if count >= _FREQUENT and re.search(f"[{_VOWELS}]", word))


def _mend(word: str, phones: Phones, heights: Sequence[Pronunciations]) -> Phones:
    soft = ["ʒ" if each == "j" or after in "eéêií" else "ɡ" for each, after in re.findall("([gj])(?=(.))", word)]
    places = [n for n, each in enumerate(phones) if each in "ɡʒ" and phones[max(0, n - 1)] != "d"]  # of d there is dʒ
    if len(soft) == len(places):
        phones = tuple(soft[places.index(n)] if n in places else each for n, each in enumerate(phones))
    if re.search("ç|ss|sc[eiéêí]", word) and not re.search("[xz]|(?<!s)s(?!s|c[eiéêí])", word):
        phones = tuple("s" if each == "z" else each for each in phones)
    if not re.search("tch|dj|t[hsxz]", word):
        phones = tuple(re.sub("(t|d) [ʃʒ](?= (?:ˈ )?[aãeẽɛoõɔuũəʊ])", r"\1", " ".join(phones)).split(" "))
    if word.endswith(("ens", "éns")) and phones[-2:] == ("ẽ", "s"):
        phones = (*phones[:-1], "ỹ", "s")
    if re.search("(?:[oiu]m|[oiu]ns)$", word) and word == strip_accents(word):
        phones = _with_stress(phones, -1)
    if re.search("zinh[oa]s?$", word):
        phones = _with_stress(phones, -2)
    phones = _without_misreadings(word, phones)
    if STRESS in phones and "-" not in word:
        stress = phones.index(STRESS)
        closed = {each: new for each, new in _BEFORE_STRESS.items() if each in "əɪʊ" or not re.search(_ENDING, word)}
        phones = (*(closed.get(each, each) for each in phones[:stress]), *phones[stress:])
    heard = [_attested(word, of_list) for of_list in heights]
    phones = _with_heard_u(word, phones, [*chain(*heard)])
    phones = _with_written_vowels(word, phones)
    in_brazil = [each.split(" ") for each in heard[0] if is_general_brazil(word, each)]
    phones = _with_heard_consonants(word, phones, in_brazil)
    phones = _with_heard_vowels(phones, in_brazil)
    other = other_height(phones)
    if other is None:
        return phones
    place = next(place for place, pair in enumerate(zip(phones, other)) if pair[0] != pair[1])
    if other[place] == "o" and word.endswith("os") and word not in heights[0].keys() | heights[1].keys():
        return phones  # the o of *ovo* is open in the plural
    nuclei, number = len(_nuclei(phones)), len(_nuclei(phones[:place]))
    attested = [
        {_nuclei(each.split(" "))[number] for each in of_list if len(_nuclei(each.split(" "))) == nuclei}
        for of_list in heard
    ]
    attested = [each for each in attested if "ɐ" not in each]  # in Lisbon, of either height in Brazil
    return other if attested and all(each == {other[place]} for each in attested) else phones


def _without_misreadings(word: str, phones: Phones) -> Phones:
    for spelled, old, new in _MISREAD:
        if re.search(spelled, word):
            phones = (*re.sub(old, new, " ".join(phones)).split(" "),)
    return phones


def _attested(word: str, pronunciations: Pronunciations) -> list[str]:
    """Return how a list has a word said, or a plural that it lacks, from its singular."""
    if word in pronunciations or not re.search(f"[{_VOWELS}]s$", word):
        return pronunciations.get(word, [])
    return [f"{each} s" for each in pronunciations.get(word[:-1], [])]


def _with_stress(phones: Phones, syllable: int) -> Phones:
    """Return phones with the stress on a syllable, counted from the end: before the consonants that begin it."""
    plain = [each for each in phones if each != STRESS]
    places = [place for place, each in enumerate(plain) if is_vowel(each)]
    if STRESS not in phones or len(places) < -syllable:
        return phones
    start = places[syllable]
    start -= start > 0 and not _is_vocalic(plain[start - 1])
    if start and "".join(plain[start - 1 : start + 1]) in _CLUSTERS:
        start -= 1
    return (*plain[:start], STRESS, *plain[start:])


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


def _with_heard_vowels(phones: Phones, attested: Sequence[Sequence[str]]) -> Phones:
    """Return phones with e for i and o for u before the stress, where all attested pronunciations have it."""
    heard = [found for each in attested if len(found := _nuclei(each)) == len(_nuclei(phones))]
    found, stress = [*phones], phones.index(STRESS) if STRESS in phones else 0
    for number, place in enumerate(place for place, phone in enumerate(phones) if is_vowel(phone)):
        if place < stress and heard and all(each[number] == {"i": "e", "u": "o"}.get(phones[place]) for each in heard):
            found[place] = heard[0][number]
    return (*found,)


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
            is_first = not any(map(is_vowel, run[:index]))
            if base in "əɪʊ" and is_first and STRESS in chain(*runs[max(0, place - 1) : place], run[:index]):
                base = strip_accents(written[0])
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
    brazil, portugal = corrections(tagger), corrections_of_portugal(tagger)
    save_readings(folder, chain(readings(), homographs_with_stress(tagger), exceptions(tagger), brazil, portugal))
