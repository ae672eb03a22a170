"""Metrics of outputs beside their sources: how much a rewriting keeps, changes and invents.

`SOURCE_METRICS` has them by name. Their figures are of all texts together, in NFC.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from atenta.recipes.metrics import PAIR_METRICS, scores
from atenta.restoration.portuguese import MODEL_FOLDER
from atenta.restoration.spellings import WORD, lower_case

_split_13a = Tokenizer13a()
_ORDERS = (1, 2, 3, 4)  # words in a row that SARI counts
_SENTENCE_START = re.compile(r"(?:\A|[.!?…:])[\W_]*\Z")


def check_metrics(names: Sequence[str]) -> None:
    """Check that names are metrics of texts, one or more, each of them once.

    Raises:
        ValueError: If they are not. The message lists those that there are.
    """
    known = (*PAIR_METRICS, *SOURCE_METRICS)
    unfit = [name for name in names if name not in known or names.count(name) > 1]
    if unfit or not names:
        raise ValueError(f"--metrics {' '.join(unfit)}: expected some of {', '.join(known)}, each of them once.")


def score_texts(
    names: Sequence[str], *, sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]
) -> dict[str, float]:
    """Return the figures of the named metrics in one dictionary, all of them computed from texts in NFC.

    Args:
        names: Keys of `SOURCE_METRICS`, such as `sari`, and members of `PAIR_METRICS` of [`metrics`], such as `chrf`.
        sources: What was rewritten.
        predictions: One output for each source.
        references: The right outputs, in the order of the sources.

    Raises:
        ValueError: If there are no sources, or not as many predictions or references.
    """
    texts = [[unicodedata.normalize("NFC", text) for text in each] for each in (sources, predictions, references)]
    if not sources or len({*map(len, texts)}) > 1:
        raise ValueError(
            "found {} sources, {} predictions and {} references; expected as many of each, at least one".format(
                *map(len, texts)
            )
        )
    found = scores(
        [name for name in names if name not in SOURCE_METRICS], predictions=predictions, references=references
    )
    found |= {name: SOURCE_METRICS[name](*texts) for name in names if name in SOURCE_METRICS}
    return {name: found[name] for name in [*names, *found] if name in found}


def sari(sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return the mean of how well words are added, kept and deleted, 0 to 100.

    This is SARI (Xu et al., 2016, "Optimizing statistical machine translation for text simplification", section 4)
    with one reference, as EASSE computes it (Alva-Manchego et al., 2019), which is on no index of packages: the F1 of
    the n-grams that the output adds to the source, of those that it keeps, and of those that it deletes, over all
    texts together, averaged over the lengths of 1 to 4 words and then over the three. Nothing that is added is 0, so a
    copy of the source has a third of the F1 of what is kept. Words are in lower case, and separated as by `13a` of
    sacrebleu.
    """
    totals = {(kind, order): [0, 0, 0] for kind in range(3) for order in _ORDERS}  # common, of output, of reference
    for texts in zip(sources, predictions, references):
        words = [_split_13a(text.lower()).split() for text in texts]
        for order in _ORDERS:
            before, *after = (Counter(zip(*(each[start:] for start in range(order)))) for each in words)
            for kind, (found, expected) in enumerate(
                (
                    [Counter(each.keys() - before.keys()) for each in after],
                    [before & each for each in after],
                    [before - each for each in after],
                )
            ):
                counts = (found & expected).total(), found.total(), expected.total()
                totals[kind, order] = [total + count for total, count in zip(totals[kind, order], counts)]
    f1 = [2 * common / max(1, found + expected) for common, found, expected in totals.values()]
    return 100 * sum(f1) / len(f1)


def copied(sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of outputs that are their source, 0 to 1."""
    return sum(map(str.__eq__, predictions, sources)) / len(sources)


def length_ratio(sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return the characters of the outputs / those of the sources."""
    return sum(map(len, predictions)) / sum(map(len, sources))


def invented(sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of outputs with a word, name or number that is invented, as in [`find_invented`], 0 to 1."""
    return sum(bool(find_invented(*texts)) for texts in zip(sources, predictions)) / len(sources)


def find_invented(source: str, output: str) -> list[str]:
    """Return the words of an output, Portuguese, that its source does not justify.

    They are those that are not in the source, whatever their case, and have a digit, or have a capital inside a
    sentence, as names, or are not among the 118,000 words that the model of `restore_accents` has read in some fifty
    million characters. An invented word that happens to be one of these is not found.
    """
    known = {lower_case(word) for word in WORD.findall(source)}
    return [
        match[0]
        for match in WORD.finditer(output)
        if lower_case(match[0]) not in known
        and (
            any(map(str.isdigit, match[0]))
            or (match[0][0].isupper() and not _SENTENCE_START.search(output[: match.start()]))
            or lower_case(match[0]) not in _frequent_words()
        )
    ]


@cache
def _frequent_words() -> frozenset[str]:
    return frozenset((MODEL_FOLDER / "spellings.txt").read_text(encoding="utf-8").split())


SOURCE_METRICS: dict[str, Callable[[Sequence[str], Sequence[str], Sequence[str]], float]] = {
    metric.__name__: metric for metric in (sari, copied, length_ratio, invented)
}
"""The metrics of outputs that need their sources, by name."""
