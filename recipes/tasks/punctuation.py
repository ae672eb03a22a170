"""Texts whose capitals and punctuation are restored, as speech recognition leaves them: pieces, styles, scores.

The signs are those of `samples/portuguese_texts.py`. In the source a sign is missing, and the white space after it
becomes the sign and the white space.
"""

import random
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import sklearn.metrics

from atenta.recipes.samples.portuguese_texts import MARKS, SIGNS, speak, strip_punctuation
from atenta.restoration.spellings import WORD, lower_case
from atenta.tokenization.base_letters import strip_accents

_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?…:]))([\s“”\"«(—–-]*)(\w)", re.MULTILINE)
# The shares of training texts that are read as speech, without accents, without capitals, and with all or some signs.
_SPOKEN, _BARE, _SMALL, _UNSIGNED, _COMMAS = 0.7, 0.5, 0.85, 0.75, 0.1
_WRAPPED = 0.1  # of the training texts, lines are as long as on a page
_LINE = (30, 90)  # characters
_NAMES = {sign: name for name, sign in SIGNS.items()}


def split_pieces(source: str, target: str) -> list[str]:
    """Return what each character of a source becomes in the target: a character, or a sign and white space.

    What follows the last character, such as a full stop, is part of the last piece.
    """
    if len(source) == len(target):
        return list(target)
    pieces, place = [], 0
    for character in source:
        end = place + 1
        if character.isspace() and not target[place : place + 1].isspace():
            end += 1
        pieces.append(target[place:end])
        place = end
    pieces[-1:] = [each + target[place:] for each in pieces[-1:]]
    return pieces


def are_pieces(source: str, target: str) -> bool:
    """Return whether a target adds nothing to a source but what is restored: a sign before white space or the end."""
    if not len(source) <= len(target):
        return False
    return all(
        len(piece) == 1 or (len(piece) == 2 and (piece[0] if before.isspace() else piece[1]) in MARKS)
        for before, piece in zip(source, split_pieces(source, target))
    )


def vary_styles(batch: Mapping[str, list], seed: int) -> dict[str, list[str]]:
    """Return training rows whose sources lack what people and programs leave out: accents, capitals, signs, or some.

    Args:
        batch: Columns `target` and `domain`.
        seed: Decides, together with the text, what is missing.

    Returns:
        Columns `source`, `target` and `domain`.
    """
    rows: dict[str, list[str]] = {"source": [], "target": [], "domain": list(batch["domain"])}
    for target in batch["target"]:
        generator = random.Random(zlib.crc32(target.encode(), seed))
        if generator.random() < _SPOKEN:
            target = speak(target) or target
        if generator.random() < _WRAPPED:
            target = _wrap(target, generator)
        source, chance = target, generator.random()
        if chance < _UNSIGNED:
            source = strip_punctuation(source)
        elif chance < _UNSIGNED + _COMMAS:
            source = strip_punctuation(source, MARKS.replace(",", ""))
        if generator.random() < _SMALL:
            source = lower_case(source)
        if generator.random() < _BARE:
            source = strip_accents(source)
        rows["source"].append(source)
        rows["target"].append(target)
    return rows


def _wrap(text: str, generator: random.Random) -> str:
    """Break the lines of a text at spaces, as on a page."""
    width, start, characters = generator.randint(*_LINE), 0, list(text)
    for place, character in enumerate(text):
        if character == "\n":
            start = place
        elif character == " " and place - start > width:
            characters[place], start = "\n", place
    return "".join(characters)


def lower_sentence_starts(text: str) -> str:
    """Return the text with small letters where sentences start, so that capitals are those of names."""
    return _SENTENCE_START.sub(
        lambda match: match[1] + match[2].lower() if len(match[2].lower()) == 1 else match[0], text
    )


def score_marks(rows: Sequence[Mapping[str, str]], restored: Sequence[str]) -> dict[str, float]:
    """Return the F1 of capitals and of each sign that the targets have: `capital_f1`, `comma_f1`, `period_f1`, ….

    A capital counts where the source has a small letter, a sign where the source has none.

    Args:
        rows: Pairs with `source` and `target`.
        restored: A text for each, which adds to the source what is restored.
    """
    made, wanted = (
        [mark for row, text in zip(rows, texts) for mark in _marks(row["source"], text)]
        for texts in (restored, [row["target"] for row in rows])
    )
    names = [name for name in ("capital", *SIGNS) if name in {*made, *wanted}]
    f1 = sklearn.metrics.f1_score(wanted, made, labels=names, average=None) if names else []
    return {f"{name}_f1": float(of_name) for name, of_name in zip(names, f1)}


def _marks(source: str, text: str) -> Iterator[str]:
    """Yield for each small letter whether it becomes a capital, for each white space and the end its sign."""
    pieces = split_pieces(source, text)
    for character, piece in zip(source, pieces):
        if character.isspace():
            yield _NAMES.get(piece[0], "")
        elif character.islower():
            yield "capital" if piece[0].isupper() else ""
    yield _NAMES.get(pieces[-1][-1], "") if pieces and len(pieces[-1]) > 1 else ""


def most_frequent_marks(train: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return each `source` with the spellings, capitals and signs that are most frequent in training.

    A word has its most frequent spelling within sentences. Between two words is what is most frequent between them, or
    else before the second word; a text ends with a full stop. After `.`, `?` and `!` is a capital.
    """
    key = cache(lambda word: strip_accents(lower_case(word)))  # the same words come again and again
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    signs: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in train:
        text = lower_sentence_starts(row["target"])
        words = list(WORD.finditer(text))
        for word in words:
            spellings[key(word[0])][word[0]] += 1
        for word, after in pairwise(words):
            gap = text[word.end() : after.start()]
            if gap.lstrip(MARKS).isspace() and len(gap) <= 2:
                pair = key(word[0]), key(after[0])
                sign = gap.rstrip()
                signs[pair][sign] += 1
                signs[pair[1:]][sign] += 1
    best = {word: counts.most_common(1)[0][0] for word, counts in spellings.items()}
    between = {
        words: counts.most_common(1)[0][0] for words, counts in signs.items() if len(words) == 1 or counts.total() > 1
    }

    def answer(source: str) -> str:
        pieces, end, starts = [], 0, True
        words = list(WORD.finditer(source))
        for index, word in enumerate(words):
            gap = source[end : word.start()]
            if index and gap.isspace() and len(gap) == 1:
                pair = key(words[index - 1][0]), key(word[0])
                gap = between.get(pair, between.get(pair[1:], "")) + gap
            starts = starts or gap.strip()[-1:] in {".", "?", "!"}
            spelling = best.get(key(word[0]), word[0])
            spelling = spelling if len(spelling) == len(word[0]) else word[0]
            pieces += [gap, spelling[:1].upper() + spelling[1:] if starts else spelling]
            starts, end = False, word.end()
        rest = source[end:]
        return "".join([*pieces, rest or "."])

    return [answer(row["source"]) for row in rows]
