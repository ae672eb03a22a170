"""Tokens and texts as people can read them in a picture or a table."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from transformers import PreTrainedTokenizerBase

VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def readable_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Return what to write for each token.

    A space is ␣, a line end ↵, `<bos>` ⟨bos⟩, a byte of a character outside the alphabet 0xF0 (where it is the whole
    character, this one); an accent without its letter stands on ◌; what has no shape is named by its code point.

    Args:
        tokenizer: of characters or of words.
        ids: token ids.
    """
    special = set(tokenizer.all_special_tokens)
    return [
        f"⟨{token.strip('<>[]')}⟩" if token in special else _readable(token)
        for token in tokenizer.convert_ids_to_tokens(list(ids))
    ]


def readable_text(tokenizer: PreTrainedTokenizerBase, token_ids: Sequence[int]) -> str:
    """Return the text of tokens, special ones as ⟨bos⟩, a space as ␣, a line end as ↵."""
    special = set(tokenizer.all_special_ids)
    return "".join(
        "".join(readable_tokens(tokenizer, list(run)))
        if are_special
        else tokenizer.decode(list(run)).translate(str.maketrans(VISIBLE))
        for are_special, run in groupby(token_ids, key=special.__contains__)
    )


def start_of(text: str, length: int) -> str:
    """Return a text of at most this many characters, where … stands for the rest."""
    return text if len(text) <= length else text[: length - 1] + "…"


def end_of(text: str, length: int) -> str:
    """Return a text of at most this many characters, where … stands for what was before."""
    return text if len(text) <= length else "…" + text[1 - length :]


def _readable(token: str) -> str:
    if byte := BYTE.fullmatch(token):
        if int(byte[1], 16) >= 0x80:  # a part of a character
            return f"0x{byte[1]}"
        token = chr(int(byte[1], 16))
    shown = "".join(
        VISIBLE.get(character) or (character if character.isprintable() else f"U+{ord(character):04X}")
        for character in token
    )
    return f"◌{shown}" if unicodedata.combining(shown[0]) else shown
