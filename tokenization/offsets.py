"""From tokens back to the text as it was given."""

import unicodedata
from collections.abc import Sequence


def character_span(
    text: str, offset_mapping: Sequence[tuple[int, int]], first_token: int, last_token: int
) -> tuple[int, int]:
    """Where in the text stands what the tokens first to last say?

    The tokenizer reads texts in NFC, and its offsets point at base characters: of `a` + U+0301, read as `á`, they
    cover the `a`. The span takes in the marks (and Hangul jamo) that were folded into its last character.

    Args:
        text: the text as it was given to the tokenizer.
        offset_mapping: (start, end) of each token, from `return_offsets_mapping=True`.
        first_token: index of the span's first token.
        last_token: index of its last token, included.

    Returns:
        Start and end such that `text[start:end]` is the span.

    Raises:
        ValueError: the tokens are out of order, or one of them is a special token, which stands for no text.
    """
    (start, first_end), (last_start, end) = offset_mapping[first_token], offset_mapping[last_token]
    if first_token > last_token or start == first_end or last_start == end:
        raise ValueError(
            f"Tokens {first_token} to {last_token} with offsets {tuple(offset_mapping[first_token])} and "
            f"{tuple(offset_mapping[last_token])} span no text. Give ordinary tokens in order."
        )
    return start, _end_of_character(text, last_start, end)


def _end_of_character(text: str, start: int, end: int) -> int:
    """End of the character at `start` together with what NFC folds into it."""
    character = unicodedata.normalize("NFC", text[start:end])[0]
    for index in range(end, len(text)):
        longer = unicodedata.normalize("NFC", text[start : index + 1])[0]
        if longer != character:
            character, end = longer, index + 1
        elif not unicodedata.combining(text[index]):  # marks may stand between a character and one folded into it
            break
    return end
