"""Letters without their diacritics: of a text, and of the tokens that may stand for each other under a letter lock.

It needs no library, so that `modeling/letter_lock.py` (torch) and `engines/token_search.py` (numpy) share it.
"""

import unicodedata
from collections.abc import Iterable


def strip_accents(text: str) -> str:
    """Return the text in NFC without its diacritics: `ação` becomes `acao`, `pingüim` becomes `pinguim`.

    Characters that Unicode does not compose from a letter and a combining mark are unchanged: `º`, `ª`, `°`, `ø`, `ß`.
    A text in NFC keeps its number of characters unless one of its marks has no composed form.
    """
    letters = (character for character in unicodedata.normalize("NFD", text) if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", "".join(letters))


def number_base_letters(tokens: Iterable[str]) -> list[int]:
    """Return a number for each token, the same for tokens with the same base letter.

    The base letter of a character is the character without its diacritics. Upper and lower case differ. A combining
    mark and a token that is not one character, such as `<eos>` or a byte, have only themselves.

    Args:
        tokens: a vocabulary, in the order of its ids.
    """
    numbers: dict[str, int] = {}
    return [numbers.setdefault((len(token) == 1 and strip_accents(token)) or token, len(numbers)) for token in tokens]
