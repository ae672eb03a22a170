"""Metrics of outputs, each an `evaluate.Metric` that needs no network, and `scores`, which computes them by name."""

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import datasets
import evaluate
import jiwer
import sacrebleu
import sklearn.metrics
from nervaluate import Evaluator

from atenta.tokenization.base_letters import strip_accents

_TEXT = datasets.Value("string")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def scores(names: Iterable[str], *, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
    """Return the figures of the named metrics in one dictionary.

    Nothing is written to files, so several processes may score at the same time. A process scores only what it is
    given: gather the outputs of all processes first, with `Accelerator.gather_for_metrics`, which drops the examples
    that were added to complete the last batch.

    Args:
        names: Keys of `METRICS`, such as `exact_match`. The docstring of each metric defines its figures.
        predictions: One prediction per example, of the type that the named metrics expect.
        references: The expected outputs, in the order of `predictions`.

    Raises:
        ValueError: If a metric is unknown, there are no examples, the numbers of predictions and references differ,
            or a metric does not accept its input.
    """
    names = list(names)
    if unknown := [name for name in names if name not in METRICS]:
        raise ValueError(f"found the metric {', '.join(unknown)}; expected some of {', '.join(METRICS)}")
    # The metrics are created for each call, because a metric that raised an error keeps its input for the next one.
    metrics = [METRICS[name](keep_in_memory=True) for name in names]
    return evaluate.combine(metrics).compute(predictions=predictions, references=references)


class _Metric(evaluate.Metric):
    """A metric with predictions and references of the types in `_inputs`, by default texts."""

    _inputs = (_TEXT, _TEXT)

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features(dict(zip(("predictions", "references"), self._inputs)))
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=features)


# Labels


class Accuracy(_Metric):
    """`accuracy`: the share of labels that equal the reference, 0 to 1.

    Labels are texts, compared in NFC.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        return {"accuracy": float(sklearn.metrics.accuracy_score(references, predictions))}


class MacroF1(_Metric):
    """`macro_f1`: the mean of the F1 of each label, 0 to 1.

    The F1 of a label is 2 × right / (predicted + expected), computed by scikit-learn. All labels among predictions and
    references count: a label that is predicted but never expected, or expected but never predicted, has an F1 of 0.
    Labels are texts, compared in NFC.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        f1 = sklearn.metrics.f1_score(references, predictions, average="macro", zero_division=0)
        return {"macro_f1": float(f1)}


# Texts


class ExactMatch(_Metric):
    """`exact_match`: the share of predictions that equal their reference, 0 to 1.

    Both are texts, compared in NFC. Case, punctuation and all white space count.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        return {"exact_match": sum(map(str.__eq__, predictions, references)) / len(references)}


class LettersKept(_Metric):
    """`letters_kept`: the share of predictions with the letters of their reference, whatever their accents, 0 to 1.

    Both are texts, compared in NFC without diacritics. Case, punctuation and all white space count.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        kept = [strip_accents(given) == strip_accents(gold) for given, gold in zip(predictions, references)]
        return {"letters_kept": sum(kept) / len(references)}


class WordAccuracy(_Metric):
    """`word_accuracy`: the share of reference words that are right in the predictions, 0 to 1.

    Both are texts, compared in NFC; words are separated by white space. A word is right if jiwer matches it when it
    turns the reference into the prediction with the fewest substituted, deleted and inserted words. If there are
    several ways, the one that jiwer finds counts. Additional words have no effect (`word_error_rate` counts them). An
    empty prediction has no right word.

    Raises:
        ValueError: If there are no examples, the numbers of predictions and references differ, or a reference has no
            word.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references, require_words=True)
        words = jiwer.process_words(references, predictions, _split_words, _split_words)
        return {"word_accuracy": words.hits / (words.hits + words.substitutions + words.deletions)}


class CharacterErrorRate(_Metric):
    """`character_error_rate`: substituted, deleted and inserted characters / all reference characters.

    0 is best; long predictions can have a rate above 1. Both are texts, compared in NFC; characters are code points,
    spaces included. The number of edits is the Levenshtein distance, computed by jiwer. The rate is that of all texts
    together, not a mean over texts.

    Raises:
        ValueError: If there are no examples, the numbers of predictions and references differ, or a reference has no
            word.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references, require_words=True)
        return {"character_error_rate": jiwer.cer(references, predictions, _split_characters, _split_characters)}


class WordErrorRate(_Metric):
    """`word_error_rate`: substituted, deleted and inserted words / all reference words.

    0 is best; long predictions can have a rate above 1. Both are texts, compared in NFC; words are separated by white
    space. The number of edits is the Levenshtein distance, computed by jiwer. The rate is that of all texts together,
    not a mean over texts.

    Raises:
        ValueError: If there are no examples, the numbers of predictions and references differ, or a reference has no
            word.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references, require_words=True)
        return {"word_error_rate": jiwer.wer(references, predictions, _split_words, _split_words)}


class PhoneErrorRate(_Metric):
    """`phone_error_rate`: substituted, deleted and inserted phones / all reference phones.

    Both are texts with phones separated by spaces, as in `k a z ɐ`; a phone may have several characters. They are
    compared in NFC. The number of edits is the Levenshtein distance, and the rate is that of all texts together; 0 is
    best. The share of words with a wrong phone, which work on grapheme-to-phoneme conversion calls word error rate, is
    1 − `exact_match`.

    Raises:
        ValueError: If there are no examples, the numbers of predictions and references differ, or a reference has no
            phone.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references, require_words=True)
        return {"phone_error_rate": jiwer.wer(references, predictions, _split_words, _split_words)}


class ChrF(_Metric):
    """`chrf`: the F-score of the n-grams of 1 to 6 characters, 0 to 100.

    This is chrF2 (Popović, 2015, "chrF: character n-gram F-score for automatic MT evaluation") with the defaults of
    sacrebleu: precision and recall of each n-gram length over all texts together are averaged over the lengths, and
    recall has twice the weight. There are no word n-grams, and spaces are ignored. Both are texts, compared in NFC;
    case counts.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        return {"chrf": sacrebleu.CHRF().corpus_score(predictions, [references]).score}


class Bleu(_Metric):
    """`bleu`: the precision of n-grams of 1 to 4 words, with a penalty for short outputs, 0 to 100.

    This is BLEU over all texts together (Papineni et al., 2002, "BLEU: a method for automatic evaluation of machine
    translation", section 2.3) with the defaults of sacrebleu, so that it is comparable with published figures. Words
    are those of its tokenisation `13a`, which the WMT campaigns use: they are separated by white space, and ASCII
    punctuation marks are words ("Olá, mundo!" has 4 words), except a full stop or comma between digits. Both are
    texts, compared in NFC; case counts. The first n-gram length without a match counts as half a match, the next as a
    quarter, and so on (`exp` smoothing). BLEU says little about single words: use `chrf` or error rates for those.

    Raises:
        ValueError: If there are no examples, or the numbers of predictions and references differ.
    """

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _texts_in_nfc(predictions, references)
        return {"bleu": sacrebleu.BLEU().corpus_score(predictions, [references]).score}


# Likelihoods


class BitsPerCharacter(_Metric):
    """Three figures over all texts together; lower is better.

    - `bits_per_character`: nats / ln 2 / characters.
    - `character_perplexity`: exp(nats / characters), which is 2 to the power of `bits_per_character`.
    - `word_perplexity`: exp(nats / words), for comparison with models of words; infinite if it exceeds a float.

    `predictions` are the negative log-likelihoods of the texts in nats. `references` are the texts. Characters are
    code points after NFC, spaces and line ends included; words are separated by white space. The nats may include the
    end-of-text token, which does not count as a character.

    Raises:
        ValueError: If the texts have no word, the numbers of predictions and references differ, or nats are negative.
    """

    _inputs = (datasets.Value("float64"), _TEXT)

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        words = sum(len(text.split()) for text in references)
        if not words:
            raise ValueError(f"found no word in {len(references)} references; expected at least one")
        for index, nats in enumerate(predictions):
            if nats < 0:
                raise ValueError(f"found {nats} nats for text {index}; expected a negative log-likelihood, 0 or more")
        nats = math.fsum(predictions)
        characters = sum(map(len, _in_nfc(references)))
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


# Tags of words


class TagAccuracy(_Metric):
    """`tag_accuracy`: the share of words with the tag of the reference, 0 to 1.

    Both are lists of tags, one list per sentence and one tag per word, compared in NFC. The share is that of all words
    together, not a mean over sentences.

    Raises:
        ValueError: If there are no tags, the numbers of predictions and references differ, or a sentence and its
            reference differ in their number of tags.
    """

    _inputs = (datasets.List(_TEXT), datasets.List(_TEXT))

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _tags_in_nfc(predictions, references)
        right = sum(sum(map(str.__eq__, *sentences)) for sentences in zip(predictions, references))
        return {"tag_accuracy": right / sum(map(len, references))}


class EntityF1(_Metric):
    """Three figures, 0 to 1, over the entities of all sentences and all types together (the micro average).

    - `precision`: predicted entities that are right / predicted entities.
    - `recall`: predicted entities that are right / reference entities.
    - `f1`: their harmonic mean, 2 × right / (predicted + reference).

    An entity is right if its first word, last word and type are those of an entity in the reference; 0 / 0 counts as
    0. Both are lists of tags, one list per sentence and one tag per word (`O`, `B-PERSON`, `I-PERSON`), compared in
    NFC. Entities are read as by conlleval, the program of the CoNLL-2000 shared task: a `B-` starts an entity, and so
    does an `I-` that does not continue an entity of its type.

    Raises:
        ValueError: If there are no tags, the numbers of predictions and references differ, a sentence and its
            reference differ in their number of tags, or a tag has another form.
    """

    _inputs = (datasets.List(_TEXT), datasets.List(_TEXT))

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        predictions, references = _tags_in_nfc(predictions, references)
        tags = {tag for sentence in predictions + references for tag in sentence} - {"O"}
        for tag in tags:
            if not (tag.startswith(("B-", "I-")) and len(tag) > 2):
                raise ValueError(f"found the tag {tag!r}; expected O, or B- or I- and a type, as in B-PERSON")
        types = sorted({tag[2:] for tag in tags})
        found = Evaluator(references, predictions, tags=types, loader="list").evaluate()["overall"]["strict"]
        return {"precision": float(found.precision), "recall": float(found.recall), "f1": float(found.f1)}


# Answers to questions


class Squad(_Metric):
    """Two means over all questions, 0 to 1 (the SQuAD script prints them multiplied by 100).

    - `exact_match`: whether the answer is one of the accepted answers.
    - `f1`: 2 × words in common / (words of the answer + words of the accepted answer), for the accepted answer with
      the highest value; 0 without a word in common.

    As in SQuAD 1.1 (Rajpurkar et al., 2016, "SQuAD: 100,000+ questions for machine comprehension of text", section
    6.1) both are compared in lower case, without ASCII punctuation and without the English articles "a", "an" and
    "the", and words are separated by white space. This applies to other languages too, so that figures are comparable
    with published ones (those of FaQuAD are computed in this way): of the Portuguese articles only "a" is removed, and
    “ ” « » – are kept. In addition, texts are compared in NFC.

    `predictions` are texts ("" for no answer) and `references` lists of one or more accepted texts.

    Raises:
        ValueError: If there are no examples, the numbers of predictions and references differ, or a question has no
            accepted answer.
    """

    _inputs = (_TEXT, datasets.List(_TEXT))

    def _compute(self, predictions: list[Any], references: list[Any]) -> dict[str, float]:
        if not references:
            raise ValueError("found no references; expected at least one")
        for index, accepted in enumerate(references):
            if not accepted:
                raise ValueError(f"found no accepted answer as reference {index}; expected at least one in each")
        answers = [_squad_words(answer) for answer in _in_nfc(predictions)]
        accepted_answers = [[_squad_words(text) for text in _in_nfc(accepted)] for accepted in references]
        exact = [answer in accepted for answer, accepted in zip(answers, accepted_answers)]
        f1 = [max(_word_f1(answer, text) for text in accepted) for answer, accepted in zip(answers, accepted_answers)]
        return {"exact_match": sum(exact) / len(exact), "f1": sum(f1) / len(f1)}


def _squad_words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _word_f1(answer: list[str], accepted: list[str]) -> float:
    common = (Counter(answer) & Counter(accepted)).total()
    return 2 * common / (len(answer) + len(accepted)) if common else 0.0


METRICS: dict[str, type[_Metric]] = {
    "accuracy": Accuracy,
    "macro_f1": MacroF1,
    "exact_match": ExactMatch,
    "letters_kept": LettersKept,
    "word_accuracy": WordAccuracy,
    "character_error_rate": CharacterErrorRate,
    "word_error_rate": WordErrorRate,
    "phone_error_rate": PhoneErrorRate,
    "chrf": ChrF,
    "bleu": Bleu,
    "bits_per_character": BitsPerCharacter,
    "tag_accuracy": TagAccuracy,
    "entity_f1": EntityF1,
    "squad": Squad,
}

PAIR_METRICS = [name for name, metric in METRICS.items() if metric._inputs == (_TEXT, _TEXT)]
"""The metrics of a text with a text."""


def _in_nfc(texts: Sequence[str]) -> list[str]:
    """Return the texts in NFC, so that a letter with an accent compares equal in every encoding."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def _texts_in_nfc(
    predictions: Sequence[str], references: Sequence[str], require_words: bool = False
) -> tuple[list[str], list[str]]:
    """Return predictions and references in NFC.

    Raises:
        ValueError: If there are no references, or `require_words` is true and a reference is blank.
    """
    if not references:
        raise ValueError("found no references; expected at least one")
    if require_words:
        for index, reference in enumerate(references):
            if not reference.strip():
                raise ValueError(f"found {reference!r} as reference {index}; expected at least one word in each")
    return _in_nfc(predictions), _in_nfc(references)


def _tags_in_nfc(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return predictions and references in NFC.

    Raises:
        ValueError: If there are no tags, or a prediction and its reference differ in their number of tags.
    """
    if not any(references):
        raise ValueError(f"found no tags in {len(references)} references; expected at least one")
    for index, (prediction, reference) in enumerate(zip(predictions, references)):
        if len(prediction) != len(reference):
            raise ValueError(
                f"found {len(prediction)} tags in prediction {index} and {len(reference)} in its reference; "
                "expected one for each word in both"
            )
    return [_in_nfc(tags) for tags in predictions], [_in_nfc(tags) for tags in references]


# jiwer's defaults split words only at spaces and strip texts; here all white space separates words, and an additional
# space is a wrong character.


def _split_words(texts: Sequence[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def _split_characters(texts: Sequence[str]) -> list[list[str]]:
    return [list(text) for text in texts]
