"""What a trained model has to beat: answers that need no model.

Rows are dictionaries, those of a `datasets.Dataset` or any like them; each function says which columns it reads. Ties
go to what training holds first.
"""

import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def copy_source(rows: Iterable[Row]) -> list[str]:
    """Return each pair's `source`, left as it is."""
    return [row["source"] for row in rows]


def look_up(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Answer each `source` with what it, or else each of its words, most often becomes in training.

    A source that training holds with the same `tags` becomes its most frequent `target`. Any other becomes, word by
    word, the most frequent spelling of that word under the same tags, and words never seen stay as they are, as
    does the space between words. Words are what white space separates; a training pair teaches words only if
    its source and target have the same number of them, the first then standing for the first and so on.
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


def majority_label(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Answer every row with training's most frequent `label`.

    Raises:
        ValueError: there are no training rows.
    """
    label = _most_frequent(Counter(row["label"] for row in train))
    return [label for _ in rows]


def most_frequent_tags(train: Iterable[Row], rows: Iterable[Row]) -> list[list[str]]:
    """Answer each of a row's `words` with the tag it most often has in training's `words` and `tags`.

    Words never seen, in that case and spelling, get the most frequent tag overall.

    Raises:
        ValueError: there are no training words.
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


def random_spans(train: Iterable[Row], rows: Iterable[Row], seed: int) -> list[str]:
    """Answer each question with a run of words of its `context`, cut out as it stands there.

    Its length in words is that of one of training's accepted `answers`, drawn at random, and its beginning any word
    at which that many fit, all as likely; a context with fewer words is the answer whole. Words are what white space
    separates.

    Raises:
        ValueError: there are no training answers.
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


def uniform_characters(train_texts: Iterable[str], texts: Iterable[str]) -> list[float]:
    """Return the nats of each text when all characters are as likely.

    Each character of a text has the probability 1 / (alphabet + 1), the alphabet being the different characters of
    training and the one more standing for any other. So a character never seen costs as much as one seen, and
    which it is costs nothing: with many of them, the figure is better than the baseline deserves. Characters are
    code points of the NFC; the end of a text is not counted.
    """
    nats = math.log(len(_count_characters(train_texts)) + 1)
    return [len(unicodedata.normalize("NFC", text)) * nats for text in texts]


def unigram_characters(train_texts: Iterable[str], texts: Iterable[str]) -> list[float]:
    """Return the nats of each text when characters are as likely as they are frequent in training.

    A character has the probability (times in training + 1) / (training's characters + alphabet + 1): one is added to
    the count of each of the alphabet, which is the different characters of training, and to that of "any other",
    0. So a character never seen has the probability 1 / (training's characters + alphabet + 1), and which it is
    costs nothing. Characters are code points of the NFC; the end of a text is not counted.
    """
    counts = _count_characters(train_texts)
    log_total = math.log(counts.total() + len(counts) + 1)
    nats = {character: log_total - math.log(count + 1) for character, count in counts.items()}
    return [
        math.fsum(nats.get(character, log_total) for character in unicodedata.normalize("NFC", text)) for text in texts
    ]


def most_frequent_character(train_texts: Iterable[str]) -> str:
    """Return the character, in NFC, that training holds most often: what to put in place of each that is masked.

    Raises:
        ValueError: the training texts hold no character.
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
