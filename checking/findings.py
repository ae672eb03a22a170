"""Words whose marks a model would add, with its confidence, in the prose of a file."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np

from ..restoration.spans import VARIANTS, protected_spans
from ..restoration.spellings import WORD, Spellings, code_points
from ..restoration.window_reader import WindowReader
from .blocks import NOWHERE, Block, line_starts, mark_spans
from .html import INLINE, LEFT_OUT
from .language import portuguese_blocks
from .prose import Prose

_READ_AT_ONCE = 300_000  # characters
# What is written for machines in prose: code in tags, control flow of templates, placeholders, tags, formulas and
# short names of emoji.
_FOR_MACHINES = re.compile(
    rf"(?i:<({'|'.join(sorted(LEFT_OUT))})(?:\s[^<>]*)?>(?:[^<]++|<(?!/?\1\b))*+</\1\s*>)|"
    r"@(?:if|else|for|switch|case|let|defer)\b[^{};]{,200}[{;]|"
    r"\{\{.{,200}?\}\}|\{%.{,200}?%\}|\$?\{[^{}]{,200}\}|<(?=[^\W\d_]|[/!?])(?:=>|[^<>]){,200}>|"
    r"\$\$.{,500}?\$\$|\$(?=\S)[^$]{,200}?(?<=\S)\$(?!\d)|(?<![\w:]):[\w+-]{1,50}:(?![\w:])"
)
_IN_CODE = re.compile(r"[_/\\=<>{}$@#%&|+^~\d]|[.:]\w|[\"']:[\"']\w|^--|[a-z][A-Z]")
_TAG = re.compile(r"</?(\w+)[^<>]*>")
_STRESS = re.compile("[\u0300-\u0302]")  # grave, acute and circumflex, of which a word has one
_LONGEST = 200  # characters
_PORTUGAL = VARIANTS["pt"]
_AROUND = ".,;:!?…()[]\"'“”‘’«»*`~–—"  # signs at the ends of a word
_SENTENCE_END = re.compile(r"[.!?…][\"'”»)]*\s+")
_OF_VERB = re.compile(r"(\w+i)(?:a[sm]?|o)")  # `referencia`, of *referenciar*, is not *referência*
_BEFORE_NOUN = re.compile(
    r"\b(?:[ao]s?|um(?:as?)?|uns|(?:[dn]|pel)[ao]s?|num(?:as?)?|[àa]os?|às?|[dn]?est[ae]s?|[dn]?ess[ae]s?|[dn]?aquel[ae]s?|de|"
    r"em|com|sem|por|para|sobre|entre|como|e|ou|cada|seus?|suas?|outr[ao]s?|mesm[ao]s?)\s+$",
    re.IGNORECASE,
)


class Finding(NamedTuple):
    """A word that lacks marks.

    Attributes:
        line, column: where it begins, counted from 1, in characters of the file.
        length: number of characters of the file that it takes.
        before, after: the word as it stands and as it should be.
        confidence: the least probability of a mark that is added.
        as_it_stands: the probability of the letter there as it stands.
        is_name: whether it may be a name: a word that the model does not know, or a capital within a sentence.
        sentence: the sentence as it stands, and where the word begins in it.
        changes: for each place in the file's text that changes, the letter with its mark.
        in_either: the least probability of a mark, where both that of Brazil and that of Portugal are right.
    """

    line: int
    column: int
    length: int
    before: str
    after: str
    confidence: float
    as_it_stands: float
    is_name: bool
    sentence: tuple[str, int]
    changes: list[tuple[int, str]]
    in_either: float

    @property
    def corrected_sentence(self) -> str:
        """The sentence with the word as it should be."""
        sentence, start = self.sentence
        return sentence[:start] + self.after + sentence[start + len(self.before) :]


def find_words(
    reader: WindowReader, sources: Sequence[str], proses: Sequence[Prose], variant: str | None = None
) -> list[list[Finding] | None]:
    """Return the words that lack marks in each of some files, whatever the confidence, in the order of the files.

    A file in which nothing is Portuguese is not read, and has None. A word whose spellings are known lacks marks only
    if one of them is the word with more marks. The model reads the sentences with such words, and with words that it
    does not know; these are about three quarters of a text.
    """
    found: list[list[Finding]] = [[] for _ in sources]
    read = [
        (number, block)
        for number, prose in enumerate(proses)
        for block, is_portuguese in zip(prose.blocks, portuguese_blocks([block.text for block in prose.blocks]))
        if is_portuguese
    ]
    in_portuguese = {number for number, _ in read}
    starts = np.cumsum([0, *(len(block.text) for _, block in read)])[:-1]
    borders = [*np.flatnonzero(np.diff(starts // _READ_AT_ONCE, prepend=-1)).tolist(), len(read)]
    lines = [line_starts(source) for source in sources]
    spellings = reader.codes.spellings
    may_lack = cache(lambda word: True) if spellings is None else cache(spellings.may_lack_marks)
    for first, last in pairwise(borders):
        answers = _read_blocks(reader, [block.text for _, block in read[first:last]], may_lack, variant)
        for (number, block), answer in zip(read[first:last], answers):
            names = proses[number].names
            found[number] += [
                each for each in _words(reader, block, answer, names, lines[number]) if may_lack(each.before)
            ]
    return [sorted(findings) if number in in_portuguese else None for number, findings in enumerate(found)]


class _Answer(NamedTuple):
    restored: str
    probabilities: np.ndarray  # of the best variant of each character
    as_they_stand: np.ndarray  # of each character as it was given
    in_either: np.ndarray  # of the best variant, or of the one of the same letter in the other country


def _read_blocks(
    reader: WindowReader, texts: list[str], may_lack: Callable[[str], bool], variant: str | None
) -> list[_Answer]:
    """Read those sentences of texts that have a word that may lack marks, equal ones once."""
    sentences = [_cut_sentences(text) for text in texts]
    different = dict.fromkeys(each for of_text in sentences for each in of_text)
    to_read = [each for each in different if any(map(may_lack, WORD.findall(each)))]
    answers = dict(zip(to_read, _read(reader, to_read, variant)))
    joined = []
    for of_text in sentences:
        parts = [answers.get(each) or _as_it_is(each) for each in of_text]
        restored, *probabilities = zip(*parts)
        joined.append(_Answer("".join(restored), *map(np.concatenate, probabilities)))
    return joined


def _cut_sentences(text: str) -> list[str]:
    """Return the sentences of a text, which together are the text; no span that must not change is cut."""
    within = mark_spans(text, ((first + 1, last) for first, last in protected_spans(text)))
    ends = (match.end() for match in _SENTENCE_END.finditer(text))
    return [text[start:end] for start, end in pairwise([0, *(end for end in ends if not within[end]), len(text)])]


def _as_it_is(text: str) -> _Answer:
    sure = np.ones(len(text), np.float32)
    return _Answer(text, sure, sure, sure)


def _read(reader: WindowReader, texts: list[str], variant: str | None) -> list[_Answer]:
    given = "".join(texts)
    restored = code_points(given).copy()
    best, stands, either = np.ones((3, len(given)), np.float32)
    differs = np.zeros(len(given), bool)
    differs[[match.start() for match in _PORTUGAL.places.finditer(given)]] = True
    label_of = reader.codes.label_of
    other: np.ndarray = np.full(len(label_of), -1)
    for pair in _PORTUGAL.marks.items():
        if label_of.keys() >= {*pair}:
            other[[label_of[each] for each in pair]] = [label_of[each] for each in reversed(pair)]
    for places, probabilities in reader.probabilities(texts, variant):
        labels = probabilities.argmax(1)
        rows = np.arange(len(places))
        restored[places] = reader.codes.labels[labels, 0]
        best[places] = probabilities[rows, labels]
        stands[places] = probabilities[rows, [label_of[given[place]] for place in places]]
        has_other = differs[places] & (other[labels] >= 0)
        either[places] = best[places] + has_other * probabilities[rows, other[labels]]
    borders = [0, *accumulate(map(len, texts))]
    return [
        _Answer(
            restored[start:end].tobytes().decode("utf-32-le"), *(each[start:end] for each in (best, stands, either))
        )
        for start, end in pairwise(borders)
    ]


def _words(
    reader: WindowReader, block: Block, answer: _Answer, names: frozenset[str], lines: list[int]
) -> Iterator[Finding]:
    text = block.text
    if answer.restored == text:
        return
    written_for_machines = (span.span() for span in _FOR_MACHINES.finditer(text))
    for_machines = mark_spans(text, chain(protected_spans(text), written_for_machines))
    for match in WORD.finditer(text):
        start, end = match.span()
        word, after = match.group(), answer.restored[start:end]
        if word == after or word in names or len(_STRESS.findall(unicodedata.normalize("NFD", after))) > 1:
            continue
        changed = [at for at in range(start, end) if text[at] != answer.restored[at]]
        if (
            for_machines.find(1, start, end) != -1
            or NOWHERE in (block.places[start], *(block.places[at] for at in changed))
            or _is_parted(block.places[start:end])
            or _is_code(text, start, end)
        ):
            continue
        least = min(changed, key=lambda at: answer.probabilities[at])
        place = block.places[start]
        line = bisect_right(lines, place)
        sentence, spellings = _sentence(text, start, end), reader.codes.spellings
        if spellings is not None and _may_be_verb(word, text[max(0, start - _LONGEST) : start], spellings):
            continue
        yield Finding(
            line=line,
            column=place - lines[line - 1] + 1,
            length=max(block.places[start:end]) + 1 - place,
            before=word,
            after=after,
            confidence=round(float(answer.probabilities[least]), 6),
            as_it_stands=round(float(answer.as_they_stand[least]), 6),
            is_name=_is_capital(word, *sentence) or not (spellings is None or spellings.of(word)),
            sentence=sentence,
            changes=[(block.places[at], answer.restored[at]) for at in changed],
            in_either=round(float(min(answer.in_either[changed])), 6),
        )


def _is_code(text: str, start: int, end: int) -> bool:
    """Return whether a word is part of a path, an option, an identifier or a number."""
    first, last = max(0, start - _LONGEST), end + _LONGEST
    before, after = _without_tags(text[first:start]).split(" ")[-1], _without_tags(text[end:last]).split(" ")[0]
    if before[-1:].isalnum() or after[:1].isalnum():  # a tag is inside of the word
        return True
    is_long = max(len(before), len(after)) == _LONGEST  # no prose has so much without a space
    whole = before + text[start:end] + after
    return is_long or "()" in whole or bool(_IN_CODE.search(whole.strip(_AROUND)))


def _without_tags(text: str) -> str:
    """Return a text with a space for each run of white space and each tag that is not one within a sentence."""
    return re.sub(r"\s", " ", _TAG.sub(lambda tag: "" if tag[1].lower() in INLINE else " ", text))


def _is_parted(places: list[int]) -> bool:
    """Return whether something is between the letters of a word, such as marks of emphasis."""
    return any(NOWHERE not in pair and pair[1] - pair[0] != 1 for pair in pairwise(places))


def _may_be_verb(word: str, before: str, spellings: Spellings) -> bool:
    """Return whether a word that the model knows only as a noun may be a verb: no word before it asks for a noun."""
    match = _OF_VERB.fullmatch(word.lower())
    if match is None or len(spellings.of(word)) != 1:
        return False
    return bool(spellings.of(match[1] + "ar")) and not _BEFORE_NOUN.search(before)


def _is_capital(word: str, sentence: str, start: int) -> bool:
    """Return whether a word has a capital that is not the first letter of a sentence nor one of a text in capitals."""
    return word[0].isupper() and not word.isupper() and any(map(str.isalnum, sentence[:start]))


def _sentence(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the sentence around a word, and where the word begins in it."""
    first = max(
        (match.end() for match in _SENTENCE_END.finditer(text, max(0, start - 300), start)),
        default=max(0, start - 300),
    )
    closing = _SENTENCE_END.search(text, end, end + 300)
    sentence = text[first : closing.end() if closing else end + 300]
    indent = len(sentence) - len(sentence.lstrip())
    return sentence.strip(), start - first - indent
