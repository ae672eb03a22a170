"""The character tokenizer of every family, and what recipes need around it."""

from .alphabet import DEFAULT_ALPHABET
from .character_table import CharacterTable
from .offsets import character_span
from .text_checks import check_texts
from .tokenization_atenta import INPUT_FORMATS, AtentaTokenizer, Family, InputFormat

__all__ = [
    "DEFAULT_ALPHABET",
    "INPUT_FORMATS",
    "AtentaTokenizer",
    "CharacterTable",
    "Family",
    "InputFormat",
    "character_span",
    "check_texts",
]
