"""Classification of texts, or of pairs of texts: rows, their encoding, scores and baselines."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from datasets import Features, Value
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transformers import PreTrainedTokenizerBase

from atenta.recipes.metrics import scores
from atenta.recipes.reading.records import expect_name, expect_text
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task

_MOST_COUNTED = 2_000_000  # characters of training


def check_labelled_text(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a labelled text.

    Args:
        fields: `text`, `label` (a text, or an integer, which is converted to a text) and optionally `text_pair`, the
            second text, which is None in the row if it is missing.

    Raises:
        ValueError: If `text` or `label` is missing, or a value is blank or of another type.
    """
    text_pair = fields.get("text_pair")
    return {
        "text": expect_text(fields.get("text"), "text"),
        "text_pair": None if text_pair is None else expect_text(text_pair, "text_pair"),
        "label": expect_name(fields.get("label"), "label"),
    }


LABELLED_TEXTS = RowFormat(
    Features({"text": Value("string"), "text_pair": Value("string"), "label": Value("string")}),
    check_labelled_text,
    columns=("text", "label"),
    optional=("text_pair",),
)


def encode_labelled(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, label2id: Mapping[str, int]
) -> dict[str, list]:
    """Encode texts, or pairs of texts, and their labels.

    Args:
        batch: Columns `text`, `text_pair` (None for a single text) and `label`.
        tokenizer: An encoder's tokenizer.
        label2id: The number of each label.

    Returns:
        The output of the tokenizer, `<bos> text <eos>` or `<bos> text <eos> text_pair <eos>`, and `labels`, one
        number per row.

    Raises:
        ValueError: If `label2id` lacks a label, as when a model trained without it is trained further.
    """
    if unknown := sorted(set(batch["label"]) - set(label2id)):
        raise ValueError(
            f"found the label {', '.join(map(repr, unknown))}; the model has {', '.join(label2id)}: "
            "train a new model on these labels, without --model_name_or_path."
        )
    rows = [tokenizer(text, pair, split_special_tokens=True) for text, pair in zip(batch["text"], batch["text_pair"])]
    encoded = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return {**encoded, "labels": [label2id[label] for label in batch["label"]]}


# Baselines


def majority_label(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return the most frequent `label` of training for every row."""
    label = Counter(row["label"] for row in train).most_common(1)[0][0]
    return [label for _ in rows]


def ngram_labels(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return for each row the `label` that the n-grams of its characters make most probable.

    This is multinomial naive Bayes over sequences of one to five characters, with one added to each count (as in
    Lui and Baldwin, 2012, "langid.py", which reads bytes). The characters are those of `text` and, if it is not None,
    of `text_pair`, with spaces around both. Training texts are counted up to the one that reaches two million
    characters.
    """
    counted, labels, total = [], [], 0
    for row in train:
        counted.append(_both_texts(row))
        labels.append(row["label"])
        total += len(counted[-1])
        if total >= _MOST_COUNTED:
            break
    classifier = make_pipeline(CountVectorizer(analyzer="char", ngram_range=(1, 5), lowercase=False), MultinomialNB())
    asked = [_both_texts(row) for row in rows]
    return classifier.fit(counted, labels).predict(asked).tolist() if asked else []


def labels_by_length(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return for each pair of texts the `label` that the difference of their numbers of characters makes probable.

    A logistic regression on this number alone: where the shorter text tends to be the simpler one, it says so.
    """
    return _labels_by_difference(len, train, rows)


def labels_by_word_frequency(train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    """Return for each pair of texts the `label` that the difference of their mean word frequencies makes probable.

    A logistic regression on this number alone. The frequency of a word is the logarithm of its count in the texts of
    training, plus one; words are runs of letters and digits, in lower case. A text without words has the frequency 0.
    """
    train = list(train)
    counts = Counter(word for row in train for word in _words(_both_texts(row)))

    def mean_frequency(text: str) -> float:
        words = _words(text)
        return sum(math.log(counts[word] + 1) for word in words) / max(len(words), 1)

    return _labels_by_difference(mean_frequency, train, rows)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _labels_by_difference(measure: Callable[[str], float], train: Iterable[Row], rows: Iterable[Row]) -> list[str]:
    train = list(train)
    learned, asked = (
        [[measure(row["text"]) - measure(row["text_pair"] or "")] for row in part] for part in (train, rows)
    )
    labels = [row["label"] for row in train]
    if len(set(labels)) == 1:  # a regression refuses it
        return labels[:1] * len(asked)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    return classifier.fit(learned, labels).predict(asked).tolist() if asked else []


def _both_texts(row: Row) -> str:
    return f" {row['text']} {row['text_pair'] or ''} "


class ClassificationTask(Task):
    """Labels of texts, or of pairs of texts. Its option is `text_pairs`, whether the model has seen pairs."""

    kind = "text-classification"
    columns = ("text", "text_pair")

    @property
    def row_format(self) -> RowFormat:
        """The format of labelled texts."""
        return self._with_known(LABELLED_TEXTS, "label")

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return accuracy and macro F1."""
        gold = [row["label"] for row in rows]
        return scores(["accuracy", "macro_f1"], predictions=answers, references=gold)

    def baselines(self, train: Sequence[Row] | None = None) -> Baselines:
        """Return those that count labels and n-grams of characters, and in pairs lengths and words too."""
        if train is None:
            return {}
        answers = {"most frequent label": majority_label, "n-grams of characters": ngram_labels}
        if self.options.get("text_pairs"):
            answers |= {"length": labels_by_length, "word frequency": labels_by_word_frequency}
        return {name: partial(answer, train) for name, answer in answers.items()}
