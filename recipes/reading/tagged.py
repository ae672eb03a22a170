"""Sentences as words, each with a tag, that token classification learns from."""

from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Features, List, Value

from atenta.recipes.reading.texts import expect_text

FEATURES = Features({"words": List(Value("string")), "tags": List(Value("string"))})


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a tagged sentence.

    Args:
        fields: `words` and `tags`, lists of texts, one tag a word.

    Raises:
        ValueError: no word, another number of tags, or a word or tag that is blank or has white space around it.
    """
    words, tags = _expect_words(fields.get("words"), "word"), _expect_words(fields.get("tags"), "tag")
    if len(words) != len(tags):
        raise ValueError(f"found {len(words)} word(s) and {len(tags)} tag(s); expected one tag a word")
    return {"words": words, "tags": tags}


def tag_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return every tag of the rows once, sorted by code point: an order that no shuffling of rows changes."""
    return sorted({tag for row in rows for tag in row["tags"]})


def _expect_words(values: Any, name: str) -> list[str]:
    if not isinstance(values, list) or not values:
        raise ValueError(f"found {values!r:.80} as the {name}s; expected a list of at least one text")
    for number, value in enumerate(values, start=1):
        text = expect_text(value, f"{name} {number}")
        if text != text.strip():
            raise ValueError(f"found white space around the {name} {number}, {text!r}; expected none")
    return values
