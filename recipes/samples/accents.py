"""Samples for accent restoration: texts of Machado de Assis without and with their diacritics."""

import math
import random
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from atenta.recipes.samples.dialogue import read_scenes
from atenta.recipes.samples.files import SPLITS, read_samples
from atenta.tokenization.base_letters import strip_accents

_SHORTEST_SPAN, _LONGEST_SPAN = 2, 30  # words
_SHORTEST_SENTENCE, _LONGEST_SENTENCE = 60, 240  # characters
_SHORTEST_PARAGRAPH = 600  # characters
_SENTENCES, _PARAGRAPHS = 600, 100  # in the further tests
_PARTLY_MARKED = 0.15  # share of the training sources that keep some of their diacritics
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def cut_spans(text: str, generator: random.Random) -> Iterator[str]:
    """Cut a text into consecutive spans of 2 to 30 words, using each word once, but for one left over at the end.

    The logarithms of the lengths are drawn evenly, so that the model meets texts of every length, and as many words in
    short spans as it can use. Words are separated by white space and include punctuation; a span has single spaces,
    whatever white space the text has, because its line breaks only wrap the text.
    """
    words, start = text.split(), 0
    while len(words) - start >= _SHORTEST_SPAN:
        end = start + int(math.exp(generator.uniform(math.log(_SHORTEST_SPAN), math.log(_LONGEST_SPAN + 1))))
        yield " ".join(words[start:end])
        start = end


def strip_some_accents(text: str, generator: random.Random) -> str:
    """Return a text in NFC with some of its diacritics, a share of them that is drawn evenly from none to all."""
    kept = generator.random()
    return "".join(each if generator.random() < kept else strip_accents(each) for each in text)


def accent_pairs() -> dict[str, list[dict[str, Any]]]:
    """Return pairs of a text without diacritics and the text, in three splits and two further tests.

    The splits `train`, `validation` and `test` are spans of novels and tales. Each is shuffled, so that its first
    pairs are a sample of all of it. Training spans that also occur in validation or test, ignoring accents
    (`— Por quê?`), are left out. Some training sources keep some of their diacritics, as people write some of them;
    those of validation and tests keep none. The further tests are drawn from a genre that training does not have,
    plays: 600 `sentences` of 60 to 240 characters, and 100 `paragraphs` of consecutive sentences of a scene that
    together have at least 600.

    Returns:
        The rows of each split: `source` and `target` are strings, `tags` is an empty list.
    """
    pairs = {}
    for split in SPLITS:
        generator = random.Random(0)
        spans = [span for work in read_samples(f"machado/{split}") for span in cut_spans(work, generator)]
        generator.shuffle(spans)
        pairs[split] = _pairs(spans)
    held_out = {pair["source"] for split in ("validation", "test") for pair in pairs[split]}
    pairs["train"] = [pair for pair in pairs["train"] if pair["source"] not in held_out]
    generator = random.Random(0)
    for pair in pairs["train"]:
        if generator.random() < _PARTLY_MARKED:
            pair["source"] = strip_some_accents(pair["target"], generator)
    scenes = [
        [sentence for speech in scene for sentence in _SENTENCE_END.split(speech.text)]
        for split in SPLITS
        for scene in read_scenes(split)
    ]
    sentences = dict.fromkeys(chain.from_iterable(scenes))  # each once
    fitting = [each for each in sentences if _SHORTEST_SENTENCE <= len(each) <= _LONGEST_SENTENCE]
    paragraphs = [paragraph for scene in scenes for paragraph in _join_paragraphs(scene)]
    generator = random.Random(0)
    pairs["sentences"] = _pairs(generator.sample(fitting, _SENTENCES))
    pairs["paragraphs"] = _pairs(generator.sample(paragraphs, _PARAGRAPHS))
    return pairs


def _join_paragraphs(sentences: Iterable[str]) -> Iterator[str]:
    """Join consecutive sentences into paragraphs; what is left at the end is too short, and is left out."""
    paragraph = ""
    for sentence in sentences:
        paragraph = f"{paragraph} {sentence}".strip()
        if len(paragraph) >= _SHORTEST_PARAGRAPH:
            yield paragraph
            paragraph = ""


def _pairs(targets: Iterable[str]) -> list[dict[str, Any]]:
    return [{"source": strip_accents(target), "target": target, "tags": []} for target in targets]
