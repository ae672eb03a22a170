"""Spans of tokens in the original text, including combining marks."""

from collections.abc import Sequence
from typing import NamedTuple

from .alphabet import NORMALIZER


class CharSpan(NamedTuple):
    """A span of a text, like `transformers.CharSpan`: start and end in characters; the end is excluded."""

    start: int
    end: int


def character_span(
    text: str, offset_mapping: Sequence[tuple[int, int]], first_token: int, last_token: int
) -> CharSpan:
    """Return the span of the original text that a run of tokens was made from.

    The tokenizer's offsets cover only the base of a combining sequence: for `e` + U+0301, which NFC composes to `é`,
    only the `e`. This function extends the span on both sides until the text can be cut there without changing its
    NFC. The span then includes marks that were composed with their base, but not a mark that is a token by itself.
    Characters that NFC makes from one original character, or from marks that it reorders, share one span.

    Args:
        text: the text as given to the tokenizer; for a pair, the text that the tokens come from.
        offset_mapping: (start, end) of each token, as returned by `return_offsets_mapping=True` for one sequence,
            which may be truncated or overflowing.
        first_token: index of the first token in `offset_mapping`.
        last_token: index of the last token, which is included.

    Returns:
        Start and end in characters of `text`; the end is excluded.

    Raises:
        IndexError: If the indices are not in order or not within `offset_mapping`.
        ValueError: If one of the two is a special token, which covers no text, or the span is not within `text`.
    """
    if not 0 <= first_token <= last_token < len(offset_mapping):
        raise IndexError(
            f"Tokens {first_token} to {last_token} of {len(offset_mapping)}: "
            f"expected 0 <= first_token <= last_token < {len(offset_mapping)}."
        )
    for token in (first_token, last_token):
        if offset_mapping[token][0] == offset_mapping[token][1]:
            raise ValueError(f"Token {token} is a special token, which covers no text. Leave it out of the run.")
    start, end = int(offset_mapping[first_token][0]), int(offset_mapping[last_token][1])
    if not start < end <= len(text):
        raise ValueError(
            f"Tokens {first_token} to {last_token} cover {start} to {end} of a text of {len(text)} characters: "
            "expected the text that they were made from, and both tokens from the same text of a pair."
        )
    while not _can_cut(text, start):
        start -= 1
    while not _can_cut(text, end):
        end += 1
    return CharSpan(start, end)


def _can_cut(text: str, index: int) -> bool:
    """Return whether normalizing the parts before and after `index` separately gives the NFC of the whole text."""
    if index in (0, len(text)):
        return True
    # No ASCII character composes with the character before it, so only the text between the nearest two matters.
    left = next((place for place in range(index - 1, 0, -1) if text[place].isascii()), 0)
    right = next((place for place in range(index, len(text)) if text[place].isascii()), len(text))
    nfc = NORMALIZER.normalize_str
    return nfc(text[left:index]) + nfc(text[index:right]) == nfc(text[left:right])
