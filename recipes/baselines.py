"""Baselines that a trained model has to beat, computed without a model.

Rows are dictionaries, such as those of a `datasets.Dataset`; each function names the columns that it reads. Ties are
broken in favour of the value that occurs first in training.
"""

import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from atenta.restoration.spellings import WORD

_Row = Mapping[str, Any]


def copy_source(rows: Iterable[_Row]) -> list[str]:
    """Return the `source` of each pair, unchanged."""
    return [row["source"] for row in rows]


def look_up(train: Iterable[_Row], rows: Iterable[_Row]) -> list[str]:
    """Return for each `source` the most frequent output in training, of the complete source or else of each word.

    A source that occurs in training with the same `tags` gets its most frequent `target`. In any other source, each
    word gets its most frequent spelling under the same tags. Words that do not occur in training, and the white space
    between words, are unchanged. Words are separated by white space. The words of a training pair are counted only if
    source and target have the same number of them; they are aligned in order.
    """
    targets: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    spellings: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for row in train:
        source, target, tags = row["source"], row["target"], tuple(row["tags"])
        targets[source, tags][target] += 1
        source_words, target_words = source.split(), target.split()
        if len(source_words) == len(target_words):
            for source_word, target_word in zip(source_words, target_words):
                spellings[source_word, tags][target_word] += 1
    best_target = {key: _most_frequent(counts) for key, counts in targets.items()}
    best_spelling = {key: _most_frequent(counts) for key, counts in spellings.items()}

    def answer(source: str, tags: tuple[str, ...]) -> str:
        if (source, tags) in best_target:
            return best_target[source, tags]
        return re.sub(r"\S+", lambda word: best_spelling.get((word[0], tags), word[0]), source)

    return [answer(row["source"], tuple(row["tags"])) for row in rows]


def most_frequent_spelling(
    train: Iterable[_Row], rows: Iterable[_Row], *, fold_case: bool, after_word: bool = False
) -> list[str]:
    """Return each `source` with every word in its most frequent spelling in training.

    Words are runs of letters, digits and underscores, and source and target of a row have the same length. A word that
    does not occur in training is unchanged, and a capital stays one.

    Args:
        train: Rows with `source` and `target`.
        rows: Rows with `source`.
        fold_case: Whether upper and lower case are one spelling.
        after_word: Whether to take the most frequent spelling after the same preceding word in the source, where
            training has both words in this order.
    """
    spellings: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in train:
        source, target, before = row["source"].lower(), row["target"], ""
        target = target.lower() if fold_case else target
        if not len(source) == len(target) == len(row["source"]):  # a letter whose lower case is two characters
            continue
        for word in WORD.finditer(source):
            spelling = target[word.start() : word.end()]
            spellings[word[0],][spelling] += 1
            if after_word:
                spellings[before, word[0]][spelling] += 1
            before = word[0]
    best = {key: _most_frequent(counts) for key, counts in spellings.items()}

    def answer(source: str) -> str:
        before, pieces, end = "", [], 0
        for word in WORD.finditer(source):
            key = word[0].lower()
            found = best.get((before, key)) or best.get((key,)) or key
            pieces += [source[end : word.start()], *_in_case_of(word[0], found)]
            before, end = key, word.end()
        return "".join([*pieces, source[end:]])

    return [answer(row["source"]) for row in rows]


def _in_case_of(word: str, spelling: str) -> Iterable[str]:
    """Return the letters of a spelling, in capitals where the word has them."""
    if len(word) != len(spelling):
        return word
    return (
        letter.upper() if given.isupper() and len(letter.upper()) == 1 else letter
        for given, letter in zip(word, spelling)
    )


def majority_label(train: Iterable[_Row], rows: Iterable[_Row]) -> list[str]:
    """Return the most frequent `label` of training for every row.

    Raises:
        ValueError: If there are no training rows.
    """
    label = _most_frequent(Counter(row["label"] for row in train))
    return [label for _ in rows]


def most_frequent_tags(train: Iterable[_Row], rows: Iterable[_Row]) -> list[list[str]]:
    """Return for each of a row's `words` its most frequent tag in the `words` and `tags` of training.

    Words that do not occur in training, with the same case and spelling, get the most frequent tag of all words.

    Raises:
        ValueError: If there are no training words.
    """
    tags_of_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    all_tags: Counter[str] = Counter()
    for row in train:
        all_tags.update(row["tags"])
        for word, tag in zip(row["words"], row["tags"]):
            tags_of_word[word][tag] += 1
    best_tag = {word: _most_frequent(counts) for word, counts in tags_of_word.items()}
    fallback = _most_frequent(all_tags)
    return [[best_tag.get(word, fallback) for word in row["words"]] for row in rows]


def random_spans(train: Iterable[_Row], rows: Iterable[_Row], seed: int) -> list[str]:
    """Return for each question a random sequence of consecutive words of its `context`.

    Its number of words is that of a random answer among the accepted `answers` of training. Its first word is drawn
    uniformly from those after which enough words follow. A context with fewer words is returned completely. Words are
    separated by white space.

    Raises:
        ValueError: If there are no training answers.
    """
    lengths = [len(text.split()) for row in train for text in row["answers"]["text"]]
    if not lengths:
        raise ValueError("found no training answers; expected at least one")
    chance = random.Random(seed)

    def answer(context: str) -> str:
        words = list(re.finditer(r"\S+", context))
        length = min(chance.choice(lengths), len(words))
        first = chance.randint(0, len(words) - length)
        return context[words[first].start() : words[first + length - 1].end()]

    return [answer(row["context"]) for row in rows]


def most_similar_sentences(rows: Iterable[_Row]) -> list[str]:
    """Return for each question the sentence of its `context` that has the most of its words, the first of equals.

    Sentences end with `.`, `!` or `?` before white space; upper and lower case are the same.
    """

    def answer(row: _Row) -> str:
        asked = _words(row["question"])
        sentences = re.split(r"(?<=[.!?])\s+", row["context"].strip())
        return max(sentences, key=lambda sentence: len(asked & _words(sentence)))

    return [answer(row) for row in rows]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def uniform_characters(train_texts: Iterable[str], texts: Iterable[str]) -> list[float]:
    """Return the negative log-likelihood of each text in nats if all characters are equally likely.

    Each character has the probability 1 / (alphabet + 1). The alphabet is the set of characters in training, and the
    additional 1 represents any other character. Which other character it is costs nothing, so a text with many of
    them gets a better value than the baseline deserves. Characters are code points after NFC. The end of a text is
    not counted.
    """
    nats = math.log(len(_count_characters(train_texts)) + 1)
    return [len(unicodedata.normalize("NFC", text)) * nats for text in texts]


def unigram_characters(train_texts: Iterable[str], texts: Iterable[str]) -> list[float]:
    """Return the negative log-likelihood of each text in nats under the character frequencies of training.

    A character has the probability (its count in training + 1) / (characters in training + alphabet + 1): one is added
    to the count of each character of the alphabet, which is the set of characters in training, and to the count of any
    other character, which is 0. Which other character it is costs nothing. Characters are code points after NFC. The
    end of a text is not counted.
    """
    counts = _count_characters(train_texts)
    log_total = math.log(counts.total() + len(counts) + 1)
    nats = {character: log_total - math.log(count + 1) for character, count in counts.items()}
    return [
        math.fsum(nats.get(character, log_total) for character in unicodedata.normalize("NFC", text)) for text in texts
    ]


def most_frequent_character(train_texts: Iterable[str]) -> str:
    """Return the most frequent character of training, after NFC: a guess for every masked character.

    Raises:
        ValueError: If the training texts have no character.
    """
    return _most_frequent(_count_characters(train_texts))


def _count_characters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(unicodedata.normalize("NFC", text))
    return counts


def _most_frequent(counts: Counter[str]) -> str:
    if not counts:
        raise ValueError("found nothing to count in the training rows; expected at least one")
    return counts.most_common(1)[0][0]
