"""Baselines that count the characters of training, for what a decoder or a masked model predicts.

Those of a single task are in its file in recipes/tasks. Ties are broken in favour of the value that occurs first.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, pairwise

import numpy as np

_ORDER = 6  # characters in a row that are counted
_OUTSIDE = -1  # stands for what is before and after a text; no code point
_MOST_COUNTED = 20_000_000  # characters of training: a gigabyte of memory, a minute


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


def ngram_characters(train_texts: Iterable[str], texts: Iterable[str]) -> list[float]:
    """Return the negative log-likelihood of each text in nats under counts of six characters in a row.

    A character is predicted from the five before it, by interpolated Kneser-Ney smoothing with three discounts for
    each length (Chen and Goodman, 1999, "An empirical study of smoothing techniques for language modeling"). The end
    of a text is predicted like a character. The counts of single characters are interpolated with equal probabilities
    for the alphabet of training, the end and any other character. Which other character it is costs nothing.
    Characters are code points after NFC. Training texts are counted up to the one that reaches 20 million characters.
    """
    train, train_lengths = _join(train_texts, _MOST_COUNTED)
    tested, lengths = _join(texts, math.inf)
    alphabet, symbols = np.unique(np.concatenate([train, tested]), return_inverse=True)
    seen = _predicted(train_lengths)
    predicted = len(train) + _predicted(lengths)
    contexts, grams = [np.zeros_like(symbols)], []  # for each length, which context each character has, and which both
    for _ in range(_ORDER):
        grams.append(np.unique(contexts[-1] * len(alphabet) + symbols, return_inverse=True)[1])
        contexts.append(np.concatenate([[0], grams[-1][:-1]]))
    probability = np.full(len(predicted), 1 / (len(np.union1d(train, [_OUTSIDE])) + 1))
    for length, (context, gram) in enumerate(zip(contexts, grams), start=1):
        # Shorter sequences count once for each character before them: only the longest are counted as they occur.
        counted = seen if length == _ORDER else seen[np.unique(grams[length][seen], return_index=True)[1]]
        count = np.bincount(gram[counted], minlength=len(symbols))
        discount = _discounts(count)
        of_context = np.bincount(context[counted], minlength=len(symbols))[context[predicted]]
        distinct = counted[np.unique(gram[counted], return_index=True)[1]]
        freed = np.bincount(context[distinct], discount[count[gram[distinct]].clip(max=3)], minlength=len(symbols))
        own = count[gram[predicted]]
        backed_off = own - discount[own.clip(max=3)] + freed[context[predicted]] * probability
        probability = np.where(of_context > 0, backed_off / of_context.clip(min=1), probability)
    ends = list(accumulate(lengths, lambda end, length: end + length + 1, initial=0))
    return [float(-np.log(probability[start:end]).sum()) for start, end in pairwise(ends)]


def _join(texts: Iterable[str], most: float) -> tuple[np.ndarray, list[int]]:
    """Return the code points of texts, each after as many marks as a context is long, and the length of each."""
    before, after = np.full(_ORDER - 1, _OUTSIDE), np.full(1, _OUTSIDE)
    joined, lengths, total = [np.empty(0, dtype=int)], [], 0
    for text in texts:
        encoded = unicodedata.normalize("NFC", text).encode("utf-32-le", "surrogatepass")
        joined += [before, np.frombuffer(encoded, dtype="<u4").astype(int), after]
        lengths.append(len(encoded) // 4)
        total += lengths[-1]
        if total >= most:
            break
    return np.concatenate(joined), lengths


def _predicted(lengths: Iterable[int]) -> np.ndarray:
    """Return the places of the characters and ends of joined texts."""
    starts = accumulate(lengths, lambda start, length: start + length + _ORDER, initial=_ORDER - 1)
    return np.concatenate([np.empty(0, dtype=int), *(np.arange(s, s + n + 1) for s, n in zip(starts, lengths))])


def _discounts(count: np.ndarray) -> np.ndarray:
    """Return what is taken from sequences that occur never, once, twice, and three times or more."""
    once, *more = (max(int((count == times).sum()), 1) for times in range(1, 5))
    ratio = once / (once + 2 * more[0])
    found = [
        times - (times + 1) * ratio * after / now for times, (now, after) in enumerate(zip([once, *more], more), 1)
    ]
    return np.array([0, *(min(max(each, 0.1), times) for times, each in enumerate(found, 1))])


def most_frequent_character(train_texts: Iterable[str]) -> str:
    """Return the most frequent character of training, after NFC: a guess for every masked character."""
    return _count_characters(train_texts).most_common(1)[0][0]


def _count_characters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(unicodedata.normalize("NFC", text))
    return counts
