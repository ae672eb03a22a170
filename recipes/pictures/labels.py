"""Tokens as people can read them in a picture."""

import re
import unicodedata
from collections.abc import Sequence

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
