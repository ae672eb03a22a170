"""Prompts and their answers, that a decoder learns to give."""

from collections.abc import Mapping
from typing import Any

from datasets import Features, Value

from atenta.recipes.reading.texts import expect_text

FEATURES = Features({"prompt": Value("string"), "answer": Value("string")})


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a prompt and its answer, as they stand.

    Args:
        fields: `prompt` and `answer`.

    Raises:
        ValueError: one of them is missing, blank or no text.
    """
    return {name: expect_text(fields.get(name), name) for name in FEATURES}
