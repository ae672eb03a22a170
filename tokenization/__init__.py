"""The character tokenizer: from texts to ids and back."""

from .alphabet import DEFAULT_ALPHABET
from .offsets import character_span
from .text_checks import check_texts
from .tokenization_atenta import AtentaTokenizer

__all__ = ["DEFAULT_ALPHABET", "AtentaTokenizer", "character_span", "check_texts"]
