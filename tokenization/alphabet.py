"""The order of the vocabulary: special tokens, characters, bytes, mask, feature tags (document 3)."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from .text_checks import check_texts

PAD, BOS, EOS, MASK = "<pad>", "<bos>", "<eos>", "<mask>"
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))

_LETTERS = "áàâãéèêíìïóòôõúùüç"  # with those of before the reforms of 1971 and 2009: sòmente, saïda, pingüim
_SIGNS = "ªº§°«»“”‘’–—…€"
DEFAULT_ALPHABET = string.printable + _LETTERS + _LETTERS.upper() + _SIGNS
"""`string.printable`, then the letters and signs of Portuguese. Document 3 takes the first alone, and fails on its own
examples `pássaro` and `cão`. The order is fixed: a set's would change from one process to the next, and the ids too."""

_TAG = re.compile(r"<[^<>\s]+>")


def vocabulary(alphabet: Sequence[str], tags: Sequence[str] = ()) -> dict[str, int]:
    """Number the tokens: `<pad>` 0, `<bos>` 1, `<eos>` 2, the alphabet from 3 on, 256 bytes, `<mask>`, tags.

    Args:
        alphabet: characters in the order of their ids, each a single character in NFC.
        tags: feature tags such as `<V>`.

    Returns:
        The id of each token.

    Raises:
        ValueError: an entry of the alphabet that is not one NFC character or a lone surrogate, a tag that is not
            written `<...>`, or an entry that stands twice.
    """
    for character in alphabet:
        if len(character) != 1 or unicodedata.normalize("NFC", character) != character:
            raise ValueError(f"The alphabet's entry {character!r} is not a single character in NFC.")
        if "\ud800" <= character <= "\udfff":
            raise ValueError(f"The alphabet's entry {character!r} is half of a surrogate pair, not a character.")
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise ValueError(f"The tag {tag!r} is not written '<...>', without spaces or further angle brackets.")
    tokens = [PAD, BOS, EOS, *alphabet, *BYTES, MASK, *tags]
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        twice = sorted({token for token in tokens if tokens.count(token) > 1})
        raise ValueError(f"Tokens that stand twice: {', '.join(map(repr, twice))}. Give each once.")
    return ids


def alphabet_of(texts: Iterable[str], min_count: int = 1) -> list[str]:
    """Collect the characters of texts, after NFC, that occur at least `min_count` times, by code point.

    Reads each text once and keeps only counts, so the texts may be a stream. Rarer characters are not lost: the
    tokenizer writes them as bytes.

    Raises:
        TypeError, ValueError: a text that is no string or holds a lone surrogate.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        check_texts(text)
        counts.update(unicodedata.normalize("NFC", text))
    return sorted(character for character, count in counts.items() if count >= min_count)
