"""Invented pairs for learning inflection from few: rows of pairs whose stems are replaced by random letters.

A model that saw a hundred lemmas learns them by heart, and fails to copy the stem of any other. Hallucination replaces
the inside of what lemma and form have in common by the same random letters in both (Anastasopoulos and Neubig, 2019,
"Pushing the Limits of Low-Resource Morphological Inflection", section 4). Pieces as long as syllables teach more than
independent letters (Liu and Hulden, 2022, "Can a Transformer Pass the Wug Test?"). Here, for any language written with
letters:

- The letters are drawn from a trigram model of the training lemmas, given the letters that stay on both sides. Each
  three letters in a row are three letters in a row of some training lemma, so the stems sound like the language. Where
  there is no further stem like that, bigrams are used, and then single letters, nearly as in the first paper.
- What some training row changes at the end of its lemma stays at the end of every lemma, also where lemma and form are
  equal: -ar of Portuguese `lamentar`, `lamentar`, because another row has `sondar`, `sonde`. The same holds for the
  beginning.
- In one pass over the rows two letters next to the change stay as well, in the next pass one, and in the next none.
  Those that stay show which spellings depend on them, such as c and qu in `tocar`, `toque`; those that go, that most
  do not. From 100 Portuguese pairs and 3,000 invented ones, a model learned more with such a mixture than with any of
  the three alone.

What ties distant letters together, such as vowel harmony or reduplication, is not kept.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import cycle, groupby, takewhile
from random import Random
from typing import Any, NamedTuple

_SHORTEST_STEM = 3  # letters in a row that are a stem, or a part of one
_KEPT_LETTERS = (2, 1, 0)  # next to a change, in stems that are long enough: one number for each pass over the rows
_ORDERS = (3, 2, 1)  # the letters that are counted together; fewer where no new stem is found with more
_TRIES = 20  # stems that are drawn with each, until one is new
_BORDER = " "  # stands for what is not a letter, before and after a word


def hallucinate(rows: Sequence[Mapping[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """Return invented rows: training rows with other stems, the same in source and target.

    Each row with a stem is used as often as any other, as long as new ones can be made of it. Rows without a stem are
    not used: those whose source and target do not share three letters in a row outside of what changes in this or
    other rows, such as `ser`, `fui`.

    Args:
        rows: Training pairs with `source`, the lemma, `target`, its form, and `tags`.
        count: The number of rows to invent.
        seed: The seed that decides, together with the rows, what is invented.

    Returns:
        `count` distinct rows with `source`, `target` and `tags`. All but the letters that are replaced is that of a
        training row, also white space and hyphens. As many letters are replaced as in this or another row. No source
        is that of a training row.

    Raises:
        ValueError: If no row has a stem, or the letters of the rows do not give `count` distinct rows.
    """
    templates = [each for kept in _KEPT_LETTERS if (each := _templates(rows, kept))]
    if not templates:
        raise ValueError(
            f"None of the {len(rows)} training pairs has a stem, {_SHORTEST_STEM} letters in a row that source and "
            "target have in common and that no pair changes; expected lemmas and their forms, as in 'cantar', "
            "'cantava': invent no rows from these pairs."
        )
    generator = Random(seed)
    sources = [row["source"] for row in rows]
    known = set(sources)
    # Short stems become long ones too: there are too few short ones for all the rows that are asked for.
    lengths = [slot.length for of_kept in templates for _, slots in of_kept for slot in slots]
    models = [model for order in _ORDERS for model in [_LetterModel(sources, order)] * _TRIES]
    invented: dict[tuple[str, str, tuple[str, ...]], dict[str, Any]] = {}
    rounds = cycle(templates)
    fruitless = 0  # rounds in a row without a new one
    while len(invented) < count:
        of_kept = next(rounds)
        before = len(invented)
        for template in generator.sample(of_kept, min(len(of_kept), count - before)):
            for model in models:
                row = _fill(template, lengths, model, generator)
                key = row["source"], row["target"], tuple(row["tags"])
                if row["source"] not in known and key not in invented:
                    invented[key] = row
                    break
        fruitless = fruitless + 1 if len(invented) == before else 0
        if fruitless == len(templates):
            raise ValueError(
                f"Found {before} of {count} rows to invent from {max(map(len, templates))} training pairs with a "
                "stem; expected more pairs, or longer and more varied stems: ask for fewer rows."
            )
    return list(invented.values())


class _Slot(NamedTuple):
    """Letters to be replaced: `length` of them from `source_start` in the source and `target_start` in the target."""

    source_start: int
    target_start: int
    length: int


_Template = tuple[Mapping[str, Any], list[_Slot]]  # a training row and its slots, from left to right


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter or a mark on one, as the vowels of Devanagari are."""
    return unicodedata.category(character)[0] in "LM"


def _templates(rows: Sequence[Mapping[str, Any]], kept_letters: int) -> list[_Template]:
    """Return the rows that have a stem, with what is to be replaced in each."""
    pairs = []
    for row in rows:  # a longest common stretch is more of a stem than what the fewest edits leave
        blocks = SequenceMatcher(None, row["source"], row["target"], autojunk=False).get_matching_blocks()
        if stretches := [_Slot(*block) for block in blocks if block.size >= _SHORTEST_STEM]:
            pairs.append((row, stretches))
    beginnings, endings = set(), set()
    for row, stretches in pairs:
        source, target = row["source"], row["target"]
        first, last = stretches[0], stretches[-1]
        if first.source_start or first.target_start:
            beginnings.add(source[: first.source_start])
        source_end, target_end = last.source_start + last.length, last.target_start + last.length
        if source_end < len(source) or target_end < len(target):
            endings.add(source[source_end:])
    templates = []
    for row, stretches in pairs:
        source = row["source"]
        start = max((len(affix) for affix in beginnings if source.startswith(affix)), default=None)
        end = min((len(source) - len(affix) for affix in endings if source.endswith(affix)), default=None)
        if slots := [slot for each in stretches for slot in _slots(source, each, start, end, kept_letters)]:
            templates.append((row, slots))
    return templates


def _slots(source: str, stretch: _Slot, start: int | None, end: int | None, kept_letters: int) -> list[_Slot]:
    """Return what is to be replaced in an equal stretch: its words, without the letters next to a change.

    `start` and `end` border what changes at the beginning and the end of this or other rows; None if nothing does.
    """
    first = max(stretch.source_start, start or 0)
    last = min(stretch.source_start + stretch.length, len(source) if end is None else end)
    slots = []
    for is_word, indices in groupby(range(first, last), key=lambda index: _is_letter(source[index])):
        word = list(indices)
        if not is_word or len(word) < _SHORTEST_STEM:
            continue
        after_change = word[0] == first and (first > 0 or start is not None)
        before_change = word[-1] == last - 1 and (last < len(source) or end is not None)
        kept = min(kept_letters, max(1, len(word) // (after_change + before_change + 1)))
        inside = word[kept * after_change : len(word) - kept * before_change]
        if inside:
            slots.append(_Slot(inside[0], inside[0] + stretch.target_start - stretch.source_start, len(inside)))
    return slots


class _LetterModel:
    """The probability of each letter after the letters before it in a word, without smoothing."""

    def __init__(self, texts: Sequence[str], order: int) -> None:
        self._reach = order - 1  # how many letters the next one depends on
        counts: dict[str, Counter[str]] = {}
        for text in texts:
            for is_word, letters in groupby(text, key=_is_letter):
                if is_word:
                    word = f"{_BORDER * self._reach}{''.join(letters)}{_BORDER}"
                    for end in range(self._reach, len(word)):
                        counts.setdefault(word[end - self._reach : end], Counter())[word[end]] += 1
        self._probabilities = {
            context: {letter: count / following.total() for letter, count in following.items()}
            for context, following in counts.items()
        }
        # By the letters that follow: how probable they are after a context and so many letters, for each context.
        self._ways: dict[str, list[dict[str, float]]] = {}

    def draw(self, before: str, after: str, length: int, generator: Random) -> str | None:
        """Return `length` letters as they stand between others, or None if the model has none that do.

        The letters are drawn with the probability that they have given those on both sides.
        """
        context = self._shift(_BORDER * self._reach, before)
        goal = f"{after}{_BORDER}"[: self._reach]
        ways = self._ways.setdefault(goal, [{known: self._probability(known, goal) for known in self._probabilities}])
        while len(ways) <= length:
            ways.append({known: sum(self._weights(known, ways[-1]).values()) for known in self._probabilities})
        if not ways[length].get(context):
            return None
        drawn = ""
        for remaining in reversed(range(length)):
            weights = self._weights(context, ways[remaining])
            (letter,) = generator.choices(list(weights), list(weights.values()))
            context = self._shift(context, letter)
            drawn += letter
        return drawn

    def _shift(self, context: str, letters: str) -> str:
        text = context + letters
        return text[len(text) - self._reach :]

    def _probability(self, context: str, goal: str) -> float:
        """Return the probability of the letters of `goal` after a context."""
        probability = 1.0
        for letter in goal:
            probability *= self._probabilities.get(context, {}).get(letter, 0.0)
            context = self._shift(context, letter)
        return probability

    def _weights(self, context: str, ways: Mapping[str, float]) -> dict[str, float]:
        """Return how probable each letter is after a context, with what must follow the letter."""
        following = self._probabilities[context].items()
        return {
            letter: share * ways.get(self._shift(context, letter), 0.0)
            for letter, share in following
            if letter != _BORDER
        }


def _fill(template: _Template, lengths: Sequence[int], model: _LetterModel, generator: Random) -> dict[str, Any]:
    """Return a row with random letters in the slots of a template, of random lengths out of `lengths`."""
    row, slots = template
    source, target = row["source"], row["target"]
    sources, targets = [], []
    source_end = target_end = 0
    for slot in slots:
        before = "".join(takewhile(_is_letter, reversed(source[: slot.source_start])))[::-1]
        after = "".join(takewhile(_is_letter, source[slot.source_start + slot.length :]))
        letters = model.draw(before, after, generator.choice(lengths), generator)
        if letters is None:  # the letters that are replaced show that there are some of their length
            letters = model.draw(before, after, slot.length, generator)
        sources += [source[source_end : slot.source_start], letters]
        targets += [target[target_end : slot.target_start], letters]
        source_end, target_end = slot.source_start + slot.length, slot.target_start + slot.length
    return {
        "source": "".join([*sources, source[source_end:]]),
        "target": "".join([*targets, target[target_end:]]),
        "tags": list(row["tags"]),
    }
