"""Texts, or pairs of texts, each with a label, that classification learns from."""

from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Features, Value

from atenta.recipes.reading.texts import expect_name, expect_text

FEATURES = Features({"text": Value("string"), "text_pair": Value("string"), "label": Value("string")})


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a labelled text.

    Args:
        fields: `text`, `label` (a text, or a whole number, which is written out) and, where the task has it,
            `text_pair`, the second text, which is None in the row otherwise.

    Raises:
        ValueError: one of them is blank or neither text nor number, or `text` or `label` is missing.
    """
    text_pair = fields.get("text_pair")
    return {
        "text": expect_text(fields.get("text"), "text"),
        "text_pair": None if text_pair is None else expect_text(text_pair, "text_pair"),
        "label": expect_name(fields.get("label"), "label"),
    }


def label_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return every label of the rows once, sorted by code point: an order that no shuffling of rows changes."""
    return sorted({row["label"] for row in rows})
