"""From tokens back to the original text, combining marks and all."""

from collections.abc import Sequence

from transformers import CharSpan

from .alphabet import NORMALIZER


def character_span(
    text: str, offset_mapping: Sequence[tuple[int, int]], first_token: int, last_token: int
) -> CharSpan:
    """The stretch of the original text that a run of tokens was made from.

    The tokenizer's offsets cover only the base of a combining sequence: of `e` + U+0301, which NFC makes one `é`, the
    `e`. Here the span grows on both sides to where the text can be cut without changing what NFC makes of it. So it
    takes in the marks that were folded away, and leaves a mark that does not compose to its own token. Characters that
    NFC makes of one original character, or of marks that it puts in another order, have one span in common.

    Args:
        text: the text as it was given to the tokenizer; of a pair, the one that the tokens come from.
        offset_mapping: one (start, end) for each token, as `return_offsets_mapping=True` gives them for one sequence,
            truncated or overflowing ones included.
        first_token: index of the first token in `offset_mapping`.
        last_token: index of the last token, itself included.

    Returns:
        Start and end in characters of `text`, end excluded.

    Raises:
        IndexError: the indexes are not in order, or not within `offset_mapping`.
        ValueError: one of the two is a special token, which covers no text, or the span is not within `text`.
    """
    if not 0 <= first_token <= last_token < len(offset_mapping):
        raise IndexError(
            f"Tokens {first_token} to {last_token} of {len(offset_mapping)}: "
            f"expected 0 <= first_token <= last_token < {len(offset_mapping)}."
        )
    for token in (first_token, last_token):
        if offset_mapping[token][0] == offset_mapping[token][1]:
            raise ValueError(f"Token {token} is a special token and covers no text: leave it out of the run.")
    start, end = int(offset_mapping[first_token][0]), int(offset_mapping[last_token][1])
    if not start < end <= len(text):
        raise ValueError(
            f"Tokens {first_token} to {last_token} cover {start} to {end} of a text of {len(text)} characters: "
            "expected the text that they were made from, both tokens from the same text of a pair."
        )
    while not _can_cut(text, start):
        start -= 1
    while not _can_cut(text, end):
        end += 1
    return CharSpan(start, end)


def _can_cut(text: str, place: int) -> bool:
    """Whether NFC makes the same of the text when the parts before and after `place` are normalized by themselves."""
    if place in (0, len(text)):
        return True
    # No ASCII character composes with what stands before it: the nearest ones bound what has to be looked at.
    left = next((index for index in range(place - 1, 0, -1) if text[index].isascii()), 0)
    right = next((index for index in range(place, len(text)) if text[index].isascii()), len(text))
    nfc = NORMALIZER.normalize_str
    return nfc(text[left:place]) + nfc(text[place:right]) == nfc(text[left:right])
