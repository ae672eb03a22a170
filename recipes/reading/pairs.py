"""Pairs of texts, source and target, that sequence-to-sequence tasks learn from."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Features, List, Value

from atenta.recipes.reading.texts import expect_text

FEATURES = Features({"source": Value("string"), "target": Value("string"), "tags": List(Value("string"))})

# `<`, `>` and `;` delimit tags; a tag that is named like a special or a byte token would become that token.
_TAG = re.compile(r"(?!(?:pad|bos|eos|mask|0x[0-9A-F]{2})\Z)[!-:=?-~]+")


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair, its texts as they stand and its tags as tokens.

    Args:
        fields: `source`, `target` and, where the task has them, `tags`, a text such as `V;3;PL`. It becomes
            `["<V>", "<3>", "<PL>"]`, in the order given; without it, or with None, the list is empty.

    Raises:
        ValueError: a source or target that is missing, blank or no text; a tag that is not well formed.
    """
    tags = fields.get("tags")
    return {
        "source": expect_text(fields.get("source"), "source"),
        "target": expect_text(fields.get("target"), "target"),
        "tags": [] if tags is None else [_tag_token(tag) for tag in _split(tags)],
    }


def tag_tokens(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return every tag token of the rows once, sorted by code point: an order that no shuffling of rows changes."""
    return sorted({tag for row in rows for tag in row["tags"]})


def _split(tags: Any) -> list[str]:
    if not isinstance(tags, str):
        raise ValueError(f"found {tags!r:.80} ({type(tags).__name__}) as the tags; expected a text such as 'V;3;PL'")
    return tags.split(";")


def _tag_token(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(
            f"found the tag {tag!r}; expected tags parted by ';' as in 'V;3;PL', each of visible ASCII characters "
            "without '<' and '>', and none named like a special or byte token (pad, bos, eos, mask, 0x00 to 0xFF)"
        )
    return f"<{tag}>"
