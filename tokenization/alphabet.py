"""Which tokens there are and in which order: special tokens, characters, bytes, mask, feature tags."""

import re
import string
from collections import Counter
from collections.abc import Iterable

from tokenizers import normalizers

from .text_checks import check_texts

PAD_TOKEN, BOS_TOKEN, EOS_TOKEN = SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
MASK_TOKEN = "<mask>"

# Its tables are older than Python's: combining marks added to Unicode since then keep the order in which they stand.
NORMALIZER = normalizers.NFC()

_PORTUGUESE = "áàâãéêíóôõúüç"
_OLD_SPELLING = "èìòùï"  # cafèzinho, sòmente, vaïdade: until the reform of 1971
_FOREIGN_WORDS = "äëîñû"  # the other letters in Machado de Assis's works: words of French, German and Spanish
_LETTERS = _PORTUGUESE + _OLD_SPELLING + _FOREIGN_WORDS
_SIGNS = "ªº«»“”‘’–—…§°€"

DEFAULT_ALPHABET: str = string.printable + _LETTERS + _LETTERS.upper() + _SIGNS
"""`string.printable` (document 3), then the letters and signs of Portuguese. What is rarer becomes bytes."""


def count_alphabet(texts: Iterable[str], min_count: int = 1) -> str:
    """The characters of a corpus after NFC, in the order of their code points, read in one pass.

    Args:
        texts: may be a generator: no text is kept.
        min_count: characters that occur less often are left out, and are encoded as bytes.

    Raises:
        TypeError: `texts` is one text, or something in it is not a text.
        ValueError: a text has a lone surrogate, `min_count` is below 1, or no character occurs so often.
    """
    if isinstance(texts, str):
        raise TypeError("`texts` is one str, expected an iterable of texts: give [text].")
    if min_count < 1:
        raise ValueError(f"`min_count` is {min_count}, expected 1 or more.")
    counts = Counter()
    for index, text in enumerate(texts):
        check_texts(text, f"texts[{index}]")
        counts.update(NORMALIZER.normalize_str(text))
    alphabet = "".join(sorted(character for character, count in counts.items() if count >= min_count))
    if not alphabet:
        raise ValueError(f"No character occurs {min_count} times or more in `texts`: give more text or a lower count.")
    return alphabet


def build_vocabulary(alphabet: Iterable[str], tags: Iterable[str] = ()) -> dict[str, int]:
    """Give each token its id.

    `<pad>` 0, `<bos>` 1, `<eos>` 2 and the characters from 3 in the given order (document 3), then the 256 bytes,
    `<mask>` and the tags.

    Args:
        alphabet: characters, each one Unicode character that NFC leaves as it is.
        tags: feature tags such as `<V>`.

    Raises:
        TypeError: a character or a tag is not a str.
        ValueError: a character or a tag does not have its form, or stands twice, or a tag is already a token.
    """
    alphabet, tags = list(alphabet), list(tags)
    check_texts(alphabet, "alphabet")
    check_texts(tags, "tags")
    for character in alphabet:
        if len(character) != 1 or NORMALIZER.normalize_str(character) != character:
            raise ValueError(f"{character!r} in the alphabet: expected single characters in NFC.")
    for tag in tags:
        if not re.fullmatch(r"<[^<>\s]+>", tag):
            raise ValueError(f"Feature tag {tag!r}: expected a name in angle brackets without spaces, such as '<V>'.")
    tokens = [*SPECIAL_TOKENS, *alphabet, *BYTE_TOKENS, MASK_TOKEN, *tags]
    if repeated := [token for token, count in Counter(tokens).items() if count > 1]:
        raise ValueError(
            f"{', '.join(map(repr, repeated))}: a token more than once. "
            "Give each character and each feature tag once; no tag may be named like a special token or a byte."
        )
    return {token: index for index, token in enumerate(tokens)}
