"""Metrics of outputs: a function for each, which needs no network, and `scores`, which computes them by name."""

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jiwer
import sacrebleu
import sklearn.metrics
from nervaluate import Evaluator
from rapidfuzz.distance import LCSseq

from atenta.tokenization.base_letters import strip_accents

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def scores(names: Iterable[str], *, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
    """Return the figures of the named metrics in one dictionary, all of them computed from texts in NFC.

    A process scores only what it is given: gather the outputs of all processes first, with
    `Accelerator.gather_for_metrics`, which drops the examples that were added to complete the last batch.

    Args:
        names: Keys of `METRICS`, such as `exact_match`. The docstring of each metric defines its figures.
        predictions: One prediction per example, of the type that the named metrics expect.
        references: The right outputs, in the order of `predictions`.

    Raises:
        ValueError: If a metric is unknown, there are no examples, the numbers of predictions and references differ,
            or a metric does not accept its input.
    """
    names = list(names)
    if unknown := [name for name in names if name not in METRICS]:
        raise ValueError(f"found the metric {', '.join(unknown)}; expected some of {', '.join(METRICS)}")
    if len(predictions) != len(references):
        raise ValueError(
            f"Mismatch in the number of predictions ({len(predictions)}) and references ({len(references)})"
        )
    if not len(references):
        raise ValueError("found no references; expected at least one")
    predictions, references = _in_nfc(predictions), _in_nfc(references)
    return {key: value for name in names for key, value in METRICS[name](predictions, references).items()}


def _in_nfc(value: Any) -> Any:
    """Return a text, or all texts of a sequence, in NFC, so that accented letters compare equal in every encoding."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return [_in_nfc(each) for each in value] if isinstance(value, Iterable) else value


# Labels


def accuracy(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `accuracy`: the share of labels that equal the reference, 0 to 1."""
    return {"accuracy": float(sklearn.metrics.accuracy_score(references, predictions))}


def macro_f1(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `macro_f1`: the mean of the F1 of each label, 0 to 1.

    The F1 of a label is 2 × right / (predicted + expected), computed by scikit-learn. All labels among predictions and
    references count: a label that is predicted but never expected, or expected but never predicted, has an F1 of 0.
    """
    f1 = sklearn.metrics.f1_score(references, predictions, average="macro", zero_division=0)
    return {"macro_f1": float(f1)}


# Texts


def exact_match(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `exact_match`: the share of predictions that equal their reference, 0 to 1.

    Case, punctuation and all white space count.
    """
    return {"exact_match": sum(map(str.__eq__, predictions, references)) / len(references)}


def letters_kept(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `letters_kept`: the share of predictions with the letters of their reference, 0 to 1.

    Diacritics do not count. Case, punctuation and all white space do.
    """
    bare = [list(map(strip_accents, texts)) for texts in (predictions, references)]
    return {"letters_kept": sum(map(str.__eq__, *bare)) / len(references)}


def word_accuracy(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `word_accuracy`: the share of reference words that are right in the predictions, 0 to 1.

    Words are separated by white space. A word is right if jiwer matches it when it turns the reference into the
    prediction with the fewest substituted, deleted and inserted words. If there are several ways, the one that jiwer
    finds counts. Additional words have no effect (`word_error_rate` counts them). An empty prediction has no right
    word. Each reference needs a word.
    """
    _check_words(references)
    words = jiwer.process_words(references, predictions, _split_words, _split_words)
    return {"word_accuracy": words.hits / (words.hits + words.substitutions + words.deletions)}


def character_error_rate(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `character_error_rate`: substituted, deleted and inserted characters / all reference characters.

    0 is best; long predictions can have a rate above 1. Characters are code points, spaces included. The number of
    edits is the Levenshtein distance, computed by jiwer. The rate is that of all texts together, not a mean over
    texts. Each reference needs a word.
    """
    _check_words(references)
    return {"character_error_rate": jiwer.cer(references, predictions, _split_characters, _split_characters)}


def word_error_rate(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `word_error_rate`: substituted, deleted and inserted words / all reference words.

    0 is best; long predictions can have a rate above 1. Words are separated by white space. The number of edits is
    the Levenshtein distance, computed by jiwer. The rate is that of all texts together, not a mean over texts. Each
    reference needs a word.
    """
    _check_words(references)
    return {"word_error_rate": jiwer.wer(references, predictions, _split_words, _split_words)}


def phone_error_rate(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `phone_error_rate`: the `word_error_rate` of phones that are separated by spaces, as in `k a z ɐ`.

    A phone may have several characters. The share of words with a wrong phone, which work on grapheme-to-phoneme
    conversion calls word error rate, is 1 − `exact_match`.
    """
    return {"phone_error_rate": word_error_rate(predictions, references)["word_error_rate"]}


def chrf(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `chrf`: the F-score of the n-grams of 1 to 6 characters, 0 to 100.

    This is chrF2 (Popović, 2015, "chrF: character n-gram F-score for automatic MT evaluation") with the defaults of
    sacrebleu: precision and recall of each n-gram length over all texts together are averaged over the lengths, and
    recall has twice the weight. There are no word n-grams, and spaces are ignored; case counts.
    """
    return {"chrf": sacrebleu.CHRF().corpus_score(predictions, [references]).score}


def bleu(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `bleu`: the precision of n-grams of 1 to 4 words, with a penalty for short outputs, 0 to 100.

    This is BLEU over all texts together (Papineni et al., 2002, "BLEU: a method for automatic evaluation of machine
    translation", section 2.3) with the defaults of sacrebleu, so that it is comparable with published figures. Words
    are those of its tokenisation `13a`, which the WMT campaigns use: they are separated by white space, and ASCII
    punctuation marks are words ("Olá, mundo!" has 4 words), except a full stop or comma between digits; case counts.
    The first n-gram length without a match counts as half a match, the next as a quarter, and so on (`exp`
    smoothing). BLEU says little about single words: use `chrf` or error rates for those.
    """
    return {"bleu": sacrebleu.BLEU().corpus_score(predictions, [references]).score}


def rouge_l(predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return `rouge_l`: the F1 of the words that output and reference have in common in the same order, 0 to 1.

    This is ROUGE-L (Lin, 2004, "ROUGE: a package for automatic evaluation of summaries", section 3) of whole texts:
    2 × the longest common subsequence / (words of the output + words of the reference), a mean over texts. The package
    rouge-score is not used, because its words are of a to z: it would cut `ação` into `a` and `o`. Words are runs of
    letters and digits, in lower case.
    """
    words = [[re.findall(r"\w+", text.lower()) for text in texts] for texts in (predictions, references)]
    common = [LCSseq.similarity(*both) for both in zip(*words)]
    shares = [2 * each / max(1, len(one) + len(other)) for each, one, other in zip(common, *words)]
    return {"rouge_l": sum(shares) / len(shares)}


def _check_words(references: Sequence[str]) -> None:
    for index, reference in enumerate(references):
        if not reference.strip():
            raise ValueError(f"found {reference!r} as reference {index}; expected at least one word in each")


# jiwer's defaults split words only at spaces and strip texts; here all white space separates words, and an additional
# space is a wrong character.


def _split_words(texts: Sequence[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def _split_characters(texts: Sequence[str]) -> list[list[str]]:
    return [list(text) for text in texts]


# Likelihoods


def bits_per_character(predictions: Sequence[float], references: Sequence[str]) -> dict[str, float]:
    """Return three figures over all texts together; lower is better.

    - `bits_per_character`: nats / ln 2 / characters.
    - `character_perplexity`: exp(nats / characters), which is 2 to the power of `bits_per_character`.
    - `word_perplexity`: exp(nats / words), for comparison with models of words; infinite if it exceeds a float.

    `predictions` are the negative log-likelihoods of the texts in nats, none of them negative. `references` are the
    texts, which need a word. Characters are code points, spaces and line ends included; words are separated by white
    space. The nats may include the end-of-text token, which does not count as a character.
    """
    words = sum(len(text.split()) for text in references)
    if not words:
        raise ValueError(f"found no word in {len(references)} references; expected at least one")
    for index, nats in enumerate(predictions):
        if nats < 0:
            raise ValueError(f"found {nats} nats for text {index}; expected a negative log-likelihood, 0 or more")
    nats = math.fsum(predictions)
    characters = sum(map(len, references))
    return {
        "bits_per_character": nats / math.log(2) / characters,
        "character_perplexity": _exp(nats / characters),
        "word_perplexity": _exp(nats / words),
    }


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


# Tags of words: a list for each sentence, with a tag for each word


def tag_accuracy(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return `tag_accuracy`: the share of words with the tag of the reference, 0 to 1.

    The share is that of the words of all sentences together, not a mean over sentences.
    """
    _check_lengths(predictions, references)
    right = sum(sum(map(str.__eq__, *sentences)) for sentences in zip(predictions, references))
    return {"tag_accuracy": right / sum(map(len, references))}


def entity_f1(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return three figures, 0 to 1, over the entities of all sentences and all types together (the micro average).

    - `f1`: the harmonic mean of the two others, 2 × right / (predicted + reference).
    - `precision`: predicted entities that are right / predicted entities.
    - `recall`: predicted entities that are right / reference entities.

    An entity is right if its first word, last word and type are those of an entity in the reference; 0 / 0 counts as
    0. Tags are `O`, or `B-` or `I-` and a type; any other prediction counts as `O`. Entities are read as by conlleval,
    the program of the CoNLL-2000 shared task: a `B-` starts an entity, and so does an `I-` that does not continue an
    entity of its type. nervaluate counts them.
    """
    _check_lengths(predictions, references)
    for tag in {tag for sentence in references for tag in sentence} - {"O"}:
        if not _is_of_entity(tag):
            raise ValueError(f"found the tag {tag!r}; expected O, or B- or I- and a type, as in B-PERSON")
    predictions = [[tag if _is_of_entity(tag) else "O" for tag in sentence] for sentence in predictions]
    types = sorted({tag[2:] for sentence in [*predictions, *references] for tag in sentence} - {""})
    found = Evaluator(references, predictions, tags=types, loader="list").evaluate()["overall"]["strict"]
    return {"f1": float(found.f1), "precision": float(found.precision), "recall": float(found.recall)}


def _is_of_entity(tag: str) -> bool:
    return tag.startswith(("B-", "I-")) and len(tag) > 2


def _check_lengths(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    if not any(references):
        raise ValueError(f"found no tags in {len(references)} references; expected at least one")
    for index, (prediction, reference) in enumerate(zip(predictions, references)):
        if len(prediction) != len(reference):
            raise ValueError(
                f"found {len(prediction)} tags in prediction {index} and {len(reference)} in its reference; "
                "expected one for each word in both"
            )


# Answers to questions


def squad(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return two means over all questions, 0 to 1 (the SQuAD script prints them multiplied by 100).

    - `exact_match`: whether the answer is one of the accepted answers.
    - `f1`: 2 × words in common / (words of the answer + words of the accepted answer), for the accepted answer with
      the highest value; 0 without a word in common.

    As in SQuAD 1.1 (Rajpurkar et al., 2016, "SQuAD: 100,000+ questions for machine comprehension of text", section
    6.1) both are compared in lower case, without ASCII punctuation and without the English articles "a", "an" and
    "the", and words are separated by white space. This applies to other languages too, so that figures are comparable
    with published ones (those of FaQuAD are computed in this way): of the Portuguese articles only "a" is removed, and
    “ ” « » – are kept.

    `predictions` are texts ("" for no answer) and `references` lists of one or more accepted texts.
    """
    for index, accepted in enumerate(references):
        if not accepted:
            raise ValueError(f"found no accepted answer as reference {index}; expected at least one in each")
    answers = [_squad_words(answer) for answer in predictions]
    accepted_answers = [[_squad_words(text) for text in accepted] for accepted in references]
    exact = [answer in accepted for answer, accepted in zip(answers, accepted_answers)]
    f1 = [max(_word_f1(answer, text) for text in accepted) for answer, accepted in zip(answers, accepted_answers)]
    return {"exact_match": sum(exact) / len(exact), "f1": sum(f1) / len(f1)}


def _squad_words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _word_f1(answer: list[str], accepted: list[str]) -> float:
    common = (Counter(answer) & Counter(accepted)).total()
    return 2 * common / (len(answer) + len(accepted)) if common else 0.0


_Metric = Callable[[Sequence[Any], Sequence[Any]], dict[str, float]]
_OF_PAIRS: tuple[_Metric, ...] = (
    *(accuracy, macro_f1, exact_match, letters_kept, word_accuracy),
    *(character_error_rate, word_error_rate, phone_error_rate, chrf, bleu, rouge_l),
)

PAIR_METRICS = [metric.__name__ for metric in _OF_PAIRS]
"""The metrics of a text with a text."""

METRICS: dict[str, _Metric] = {
    metric.__name__: metric for metric in (*_OF_PAIRS, bits_per_character, tag_accuracy, entity_f1, squad)
}
"""All metrics by name. `scores` checks the number of their inputs, and puts texts into NFC."""
