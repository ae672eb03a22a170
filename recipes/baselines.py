"""Baselines that a trained model has to beat, computed without a model.

Rows are dictionaries, such as those of a `datasets.Dataset`; each function names the columns that it reads. Ties are
broken in favour of the value that occurs first in training.
"""

import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from atenta.restoration.spellings import WORD

_T = TypeVar("_T")
_Row = Mapping[str, Any]
_AlignedRow = tuple[_Row, list[tuple[str, ...]]]  # a pair, and what each letter of its source becomes
_MOST_UNITS = 5  # that a letter may become: enough for the endings of inflected words
_ROUNDS = 5  # of alignment; words to phones gain nothing from more
_WINDOWS = ((4, 4), (3, 3), (2, 3), (2, 2), (1, 2), (1, 1), (0, 1), (1, 0), (0, 0))  # letters before and after
_BORDER = " "  # stands for what is before and after a word
_ORDER = 6  # characters in a row that are counted
_OUTSIDE = -1  # stands for what is before and after a text; no code point
_MOST_COUNTED = 20_000_000  # characters of training: a gigabyte of memory, a minute
_MOST_LABELLED = 2_000_000  # as many with labels


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


def align_letters(train: Iterable[_Row], separator: str | None = None) -> list[_AlignedRow]:
    """Return each pair with what each letter of its `source` becomes: up to five units of its `target`, or none.

    A target is divided among the letters, in order, in the way that is most probable given how often each letter
    became what in the round before (Viterbi training). In the first round letters become one unit, and an equal one,
    where they can. A pair is left out if its target has more than five units for each letter.

    Args:
        train: Pairs with `source` and `target`.
        separator: The text between the units of a target; `None` if its characters are the units.
    """
    pairs = [(row, tuple(row["target"].split(separator) if separator else row["target"])) for row in train]
    pairs = [(row, units) for row, units in pairs if len(units) <= _MOST_UNITS * len(row["source"])]
    divided = [_divide(row["source"], units, _by_form) for row, units in pairs]
    for _ in range(_ROUNDS - 1):
        counts = Counter(became for (row, _), parts in zip(pairs, divided) for became in zip(row["source"], parts))
        totals = Counter(letter for row, _ in pairs for letter in row["source"])
        log_probability = {became: math.log(count / totals[became[0]]) for became, count in counts.items()}
        divided = [_divide(row["source"], units, log_probability.get) for row, units in pairs]
    return [(row, parts) for (row, _), parts in zip(pairs, divided)]


def _by_form(became: tuple[str, tuple[str, ...]]) -> float:
    letter, units = became
    return float(units == (letter,)) - abs(len(units) - 1)


def _divide(
    source: str, units: tuple[str, ...], score: Callable[[tuple[str, tuple[str, ...]]], float | None]
) -> list[tuple[str, ...]]:
    """Return the units that each letter becomes in the division with the highest sum of scores; `None` excludes."""
    best: dict[int, float] = {0: 0.0}  # the highest sum that ends before each unit
    starts: list[dict[int, int]] = []  # for each letter, and where its units end, where they start
    for remaining, letter in zip(reversed(range(len(source))), source):
        sums: dict[int, float] = {}
        start_of: dict[int, int] = {}
        for start, so_far in best.items():
            first_end = max(start, len(units) - _MOST_UNITS * remaining)  # the letters that remain take no more
            for end in range(first_end, min(start + _MOST_UNITS, len(units)) + 1):
                added = score((letter, units[start:end]))
                if added is not None and (end not in sums or so_far + added > sums[end]):
                    sums[end], start_of[end] = so_far + added, start
        best = sums
        starts.append(start_of)
    parts, end = [], len(units)
    for start_of in reversed(starts):
        parts.append(units[start_of[end] : end])
        end = start_of[end]
    return parts[::-1]


def letters_in_context(
    aligned: Iterable[_AlignedRow], rows: Iterable[_Row], separator: str | None = None
) -> list[str]:
    """Return each `source` with every letter replaced by what it most often becomes between the same neighbours.

    The neighbours are the four letters on each side, or as many fewer as it takes to have seen them in training, under
    the same `tags` (as in Daelemans and van den Bosch, 1997, "Language-independent data-oriented grapheme-to-phoneme
    conversion"). A letter that training lacks under these tags becomes what it becomes under any; one that it lacks
    altogether is unchanged.

    Args:
        aligned: Training pairs, as `align_letters` returns them.
        rows: Pairs with `source` and `tags`.
        separator: The text between the units of a target; `None` if its characters are the units.
    """
    rows = list(rows)
    asked = {context for row in rows for contexts in _contexts(row) for context in contexts}
    counts: defaultdict[tuple[Any, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for row, parts in aligned:
        for contexts, part in zip(_contexts(row), parts):
            for context in contexts:
                if context in asked:
                    counts[context][part] += 1
    best = {context: _most_frequent(parts) for context, parts in counts.items()}

    def answer(row: _Row) -> str:
        replaced = [
            next((best[context] for context in contexts if context in best), (letter,))
            for letter, contexts in zip(row["source"], _contexts(row))
        ]
        return (separator or "").join(unit for part in replaced for unit in part)

    return [answer(row) for row in rows]


def _contexts(row: _Row) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the contexts of each letter of a `source`, from the widest with its `tags` to the letter alone."""
    tags, widest = tuple(row["tags"]), max(_WINDOWS)[0]
    padded = _BORDER * widest + row["source"] + _BORDER * widest
    for place, letter in enumerate(row["source"], start=widest):
        windows = [(before, padded[place - before : place + after + 1]) for before, after in _WINDOWS]
        yield [*((tags, *window) for window in windows), (letter,)]


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


def ngram_labels(train: Iterable[_Row], rows: Iterable[_Row]) -> list[str]:
    """Return for each row the `label` that the n-grams of its characters make most probable.

    This is multinomial naive Bayes over sequences of one to five characters, with one added to each count (as in
    Lui and Baldwin, 2012, "langid.py", which reads bytes). The characters are those of `text` and, if it is not None,
    of `text_pair`, with spaces around both. Training texts are counted up to the one that reaches two million
    characters.

    Raises:
        ValueError: If there are no training rows.
    """
    counted, labels, total = [], [], 0
    for row in train:
        counted.append(_both_texts(row))
        labels.append(row["label"])
        total += len(counted[-1])
        if total >= _MOST_LABELLED:
            break
    if not counted:
        raise ValueError("found nothing to count in the training rows; expected at least one")
    classifier = make_pipeline(CountVectorizer(analyzer="char", ngram_range=(1, 5), lowercase=False), MultinomialNB())
    asked = [_both_texts(row) for row in rows]
    return classifier.fit(counted, labels).predict(asked).tolist() if asked else []


def _both_texts(row: _Row) -> str:
    return f" {row['text']} {row['text_pair'] or ''} "


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


def _most_frequent(counts: Counter[_T]) -> _T:
    if not counts:
        raise ValueError("found nothing to count in the training rows; expected at least one")
    return counts.most_common(1)[0][0]
