"""The character tokenizer of all families, fast encoding of corpora, spans in the text, and checks of texts."""

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
