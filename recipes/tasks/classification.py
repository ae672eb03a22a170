"""Classification of texts, or of pairs of texts: rows, their encoding, and scores."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from datasets import Features, Value
from transformers import PreTrainedTokenizerBase

from atenta.engines.kinds import class_names
from atenta.recipes.metrics import scores
from atenta.recipes.reading import RowFormat
from atenta.recipes.reading.records import expect_name, expect_text
from atenta.recipes.tasks.evaluation import Evaluation, with_known


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


def label_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the distinct labels of the rows, sorted by code point, so that the order of the rows does not matter."""
    return sorted({row["label"] for row in rows})


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
            "train a new model on these labels."
        )
    rows = [tokenizer(text, pair, split_special_tokens=True) for text, pair in zip(batch["text"], batch["text_pair"])]
    encoded = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return {**encoded, "labels": [label2id[label] for label in batch["label"]]}


def score_labels(output: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return accuracy and macro F1 of labels."""
    return scores(["accuracy", "macro_f1"], predictions=output, references=gold)


def evaluate_labels(config: Mapping[str, Any]) -> Evaluation:
    """Return how a saved classifier is scored: on texts with labels that it has."""
    return Evaluation(
        with_known(LABELLED_TEXTS, "label", class_names(config).values()),
        lambda row: {name: row[name] for name in ("text", "text_pair")},
        lambda found, rows: {"model": score_labels(found, [row["label"] for row in rows])},
    )
