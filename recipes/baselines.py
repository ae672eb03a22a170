"""What a trained model has to beat: two answers that need no model."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from atenta.recipes.pairs import Pair


def copy_source(pairs: Iterable[Pair]) -> list[str]:
    """Return each pair's source, left as it is."""
    return [pair.source for pair in pairs]


def look_up(train: Iterable[Pair], pairs: Iterable[Pair]) -> list[str]:
    """Answer each source with what it, or else each of its words, most often becomes in training.

    A source that training holds with the same tags becomes its most frequent target. Any other becomes, word by
    word, the most frequent spelling of that word under the same tags, and words never seen stay as they are, as
    does the space between words. Words are what white space separates; a training pair teaches words only if
    its source and target have the same number of them, the first then standing for the first and so on. Ties go to
    what training holds first.
    """
    targets: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    spellings: defaultdict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for source, target, tags in train:
        targets[source, tags][target] += 1
        source_words, target_words = source.split(), target.split()
        if len(source_words) == len(target_words):
            for source_word, target_word in zip(source_words, target_words):
                spellings[source_word, tags][target_word] += 1
    best_target = {key: counts.most_common(1)[0][0] for key, counts in targets.items()}
    best_spelling = {key: counts.most_common(1)[0][0] for key, counts in spellings.items()}

    def answer(source: str, tags: tuple[str, ...]) -> str:
        if (source, tags) in best_target:
            return best_target[source, tags]
        return re.sub(r"\S+", lambda word: best_spelling.get((word[0], tags), word[0]), source)

    return [answer(pair.source, pair.tags) for pair in pairs]
