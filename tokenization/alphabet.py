"""The vocabulary and its order: special tokens, characters, bytes, mask, feature tags, units of targets."""

import re
import string
from collections import Counter
from collections.abc import Iterable

from tokenizers import Regex, normalizers, pre_tokenizers

from .text_checks import check_texts

PAD_TOKEN, BOS_TOKEN, EOS_TOKEN = SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
MASK_TOKEN = "<mask>"

# Its Unicode tables are older than Python's: combining marks added to Unicode since then are not reordered.
NORMALIZER = normalizers.NFC()
# Runs of letters, digits and marks, and runs of signs, each with the white space before it, as in tokenizers of word
# pieces. They change no id, because no token crosses them.
WORDS = pre_tokenizers.Split(Regex(r"\s*(?:\w+|[^\w\s]+)|\s+"), "isolated")

_PORTUGUESE = "áàâãéêíóôõúüç"
_OLD_SPELLING = "èìòùï"  # cafèzinho, sòmente, vaïdade: used until the spelling reform of 1971
_FOREIGN_WORDS = "äëîñû"  # the other letters in Machado de Assis's works, in French, German and Spanish words
_LETTERS = _PORTUGUESE + _OLD_SPELLING + _FOREIGN_WORDS
_SIGNS = "ªº«»“”‘’–—…§°€"

DEFAULT_ALPHABET: str = string.printable + _LETTERS + _LETTERS.upper() + _SIGNS
"""`string.printable` (document 3), then the letters and signs of Portuguese. Other characters become bytes."""


def count_alphabet(texts: Iterable[str], min_count: int = 1) -> str:
    """Return the characters of a corpus after NFC, in code point order. The corpus is read in one pass.

    Args:
        texts: the corpus; it may be a generator, because no text is kept.
        min_count: lowest count of a character in the alphabet; rarer characters are left out and encoded as bytes.

    Raises:
        TypeError: If `texts` is a single str, or one of its items is not a str.
        ValueError: If a text has a lone surrogate, `min_count` is below 1, or no character occurs `min_count` times.
    """
    if isinstance(texts, str):
        raise TypeError("`texts` is one str, expected an iterable of texts. Give [text] for one text.")
    if min_count < 1:
        raise ValueError(f"`min_count` is {min_count}, expected 1 or more.")
    counts: Counter[str] = Counter()
    for index, text in enumerate(texts):
        check_texts(text, f"texts[{index}]")
        counts.update(NORMALIZER.normalize_str(text))
    alphabet = "".join(sorted(character for character, count in counts.items() if count >= min_count))
    if not alphabet:
        raise ValueError(f"No character occurs {min_count} times or more in `texts`. Give more text or a lower count.")
    return alphabet


def find_units(texts: Iterable[str], separator: str) -> list[str]:
    """Return the distinct units of texts after NFC, in code point order, each as it is in a text.

    A unit begins with the separator before it, except the first: `t ʃ aː` has `"t"`, `" ʃ"` and `" aː"`. The units
    of a text joined are therefore the text.

    Args:
        texts: texts whose units are separated, such as the phones of words.
        separator: the text between two units, such as a space.

    Raises:
        TypeError: If the texts are one `str`.
        ValueError: If a text has a lone surrogate, or the separator is empty.
    """
    if isinstance(texts, str):
        raise TypeError("The texts of units are one str, expected an iterable of texts. Give [text] for one text.")
    if not separator:
        raise ValueError("The separator of units is '', expected at least one character, such as ' '.")
    found: set[str] = set()
    for index, text in enumerate(texts):
        check_texts(text, f"texts[{index}]")
        first, *others = NORMALIZER.normalize_str(text).split(separator)
        found.update([first, *(separator + unit for unit in others)])
    return sorted(found - {""})


def build_vocabulary(alphabet: Iterable[str], tags: Iterable[str] = (), units: Iterable[str] = ()) -> dict[str, int]:
    """Return the id of each token.

    `<pad>` is 0, `<bos>` 1, `<eos>` 2, and the characters follow from 3 in the given order (document 3); then come the
    256 bytes, `<mask>`, the tags and the units.

    Args:
        alphabet: characters, each a single Unicode character that NFC does not change.
        tags: feature tags such as `<V>`.
        units: texts of two or more characters that are one token, as `find_units` returns them.

    Raises:
        TypeError: If a character, a tag or a unit is not a str.
        ValueError: If one has the wrong form or appears twice, or a tag or a unit is already a token.
    """
    alphabet, tags, units = list(alphabet), list(tags), list(units)
    check_texts(alphabet, "alphabet")
    check_texts(tags, "tags")
    check_texts(units, "units")
    for character in alphabet:
        if len(character) != 1 or NORMALIZER.normalize_str(character) != character:
            raise ValueError(f"The alphabet has {character!r}, expected single characters in NFC.")
    for tag in tags:
        if not re.fullmatch(r"<[^<>\s]+>", tag):
            raise ValueError(
                f"The feature tag is {tag!r}, expected a name in angle brackets without spaces, such as '<V>'."
            )
    for unit in units:
        if len(unit) < 2 or NORMALIZER.normalize_str(unit) != unit:
            raise ValueError(f"The units have {unit!r}, expected two or more characters in NFC.")
    tokens = [*SPECIAL_TOKENS, *alphabet, *BYTE_TOKENS, MASK_TOKEN, *tags, *units]
    if repeated := [token for token, count in Counter(tokens).items() if count > 1]:
        raise ValueError(
            f"The vocabulary would have {', '.join(map(repr, repeated))} more than once. "
            "Give each character, feature tag and unit once; none may have the name of a special token or a byte."
        )
    return {token: index for index, token in enumerate(tokens)}
