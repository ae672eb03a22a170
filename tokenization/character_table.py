"""A corpus as ids by one look-up a character: just what the tokenizer gives, many times as fast."""

import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from .text_checks import check_texts

BLOCK = 1 << 16  # characters looked up at a time: their code points stay in the processor's cache
_CHARACTER_MODEL = {
    **{"type": "BPE", "merges": [], "ignore_merges": False, "dropout": None, "byte_fallback": True},
    **{"continuing_subword_prefix": None, "end_of_word_suffix": None},
}


class CharacterTable:
    """The ids of texts by a table over code points, made from a character tokenizer.

    The table has the characters of the alphabet that are a token wherever they stand. The others, such as combining
    marks and what becomes bytes, go through the tokenizer itself, together with the character before them.

    Later changes of the tokenizer do not reach the table.

    Attributes:
        dtype: of the ids, the smallest of uint16 and int32 that holds them.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        """Make the table.

        Args:
            tokenizer: an `AtentaTokenizer`, or what `AutoTokenizer` loaded of one.

        Raises:
            ValueError: another kind of tokenizer. The message says what it has instead.
        """
        self._backend = _character_backend(tokenizer)
        vocabulary = json.loads(self._backend.to_str())["model"]["vocab"]  # without tokens added to it later
        ids = {ord(token): index for token, index in vocabulary.items() if len(token) == 1 and _stands_alone(token)}
        self._absent = max(vocabulary.values()) + 1
        self.dtype = np.dtype(np.uint16 if self._absent <= np.iinfo(np.uint16).max else np.int32)
        self._table = np.full(max(ids, default=0) + 2, self._absent, self.dtype)  # the last entry is for all beyond it
        self._table[list(ids)] = list(ids.values())

    def encode(self, text: str) -> np.ndarray:
        """Encode a text as `tokenizer(text, add_special_tokens=False, split_special_tokens=True)` does.

        Returns:
            (tokens,) the ids, of `dtype`.

        Raises:
            TypeError: `text` is not a str.
            ValueError: it has a lone surrogate.
        """
        if not isinstance(text, str):
            raise TypeError(
                f"`text` is {text!r:.80} ({type(text).__name__}), expected a str. `encode_batch` takes a list of them."
            )
        return self._encode([text], ["text"])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Encode texts, each by itself as `encode` does, in one look-up: many short ones take far less time so.

        Raises:
            TypeError: `texts` is one str, or something in it is not a str.
            ValueError: a text has a lone surrogate.
        """
        if not isinstance(texts, (list, tuple)):
            raise TypeError(
                f"`texts` is {texts!r:.80} ({type(texts).__name__}), expected a list or tuple of str. "
                "Give [text] for one text, or list(texts)."
            )
        names = [f"texts[{index}]" for index in range(len(texts))]
        for name, text in zip(names, texts):
            if not isinstance(text, str):
                raise TypeError(f"`{name}` is {text!r:.80} ({type(text).__name__}), expected a str.")
        return self._encode(texts, names)

    def _encode(self, texts: Sequence[str], names: Sequence[str]) -> list[np.ndarray]:
        ids = self._look_up("".join(texts))
        ends = np.cumsum([len(text) for text in texts])
        encoded = [ids[start:end] for start, end in pairwise([0, *ends.tolist()])]
        absent = np.flatnonzero(ids == self._absent)
        for index in np.unique(np.searchsorted(ends, absent, side="right")).tolist():
            check_texts(texts[index], names[index])
            encoded[index] = np.concatenate(list(self._splice(texts[index], encoded[index])))
        return encoded

    def _look_up(self, text: str) -> np.ndarray:
        ids = np.empty(len(text), self.dtype)
        for start in range(0, len(text), BLOCK):
            # Surrogates pass here: they are absent from the table, and texts that have absent characters are checked.
            block = text[start : start + BLOCK].encode("utf-32-le", "surrogatepass")
            self._table.take(np.frombuffer(block, "<u4"), mode="clip", out=ids[start : start + BLOCK])
        return ids

    def _splice(self, text: str, ids: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the ids of a text, the stretches with absent characters encoded by the tokenizer.

        A stretch begins with the character before, which a mark may change. That one and the one after the stretch are
        in the table: starters that compose with nothing before them. Before such a character a text can be cut and its
        parts be put in NFC by themselves (UAX #15, section 9), and byte fallback looks at one character at a time.
        """
        absent = np.flatnonzero(ids == self._absent)
        apart = np.flatnonzero(np.diff(absent) > 1)
        starts = np.maximum(absent[[0, *(apart + 1)]] - 1, 0).tolist()
        ends = (absent[[*apart, -1]] + 1).tolist()
        stretches = [text[start:end] for start, end in zip(starts, ends)]
        distinct = list(dict.fromkeys(stretches))
        encoded = self._backend.encode_batch_fast(distinct, add_special_tokens=False)
        ids_of = {stretch: np.array(of_one.ids, self.dtype) for stretch, of_one in zip(distinct, encoded)}
        for stretch, before, start in zip(stretches, [0, *ends], starts):
            yield ids[before:start]
            yield ids_of[stretch]
        yield ids[ends[-1] :]


def _character_backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """Copy what encodes the texts, set to encode them whole and as they stand.

    Raises:
        ValueError: not every character is by itself a token or the bytes of one.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(
            f"`tokenizer` is {tokenizer!r:.80} ({type(tokenizer).__name__}), which has no backend of `tokenizers`: "
            "expected a character tokenizer, an AtentaTokenizer or what AutoTokenizer loaded of one."
        )
    description = backend.to_str()
    parts = json.loads(description)
    kind = {
        **{name: parts["model"].get(name) for name in _CHARACTER_MODEL},
        "normalizer": parts["normalizer"],
        "pre_tokenizer": parts["pre_tokenizer"],
        "added_tokens": [token["content"] for token in parts["added_tokens"] if not token["special"]],
    }
    expected = {**_CHARACTER_MODEL, "normalizer": {"type": "NFC"}, "pre_tokenizer": None, "added_tokens": []}
    if found := [f"{name} {value!r:.60}" for name, value in kind.items() if value != expected[name]]:
        raise ValueError(
            f"Not a character tokenizer, by its {', '.join(found)}. "
            "Expected one that AtentaTokenizer made: BPE without merges and with byte fallback, on NFC."
        )
    copied = Tokenizer.from_str(description)
    copied.encode_special_tokens = True
    copied.no_padding()
    copied.no_truncation()
    return copied


def _stands_alone(character: str) -> bool:
    """Whether NFC leaves it as it is, and makes nothing of it and what stands before it.

    Python's tables are asked, the tokenizer's are older: by Unicode's stability policy, what is assigned in both has
    the same properties in both, and what is only in the newer ones is a starter by itself in the older.
    """
    return (
        unicodedata.category(character) not in ("Cn", "Cs")  # not assigned: the tokenizer's tables may know more
        and unicodedata.combining(character) == 0
        and unicodedata.is_normalized("NFC", character)
        and character not in _second_halves()
    )


@cache
def _second_halves() -> frozenset[str]:
    """All characters that compose, or might, with one before them: found in a tenth of a second."""
    decompositions = (unicodedata.decomposition(chr(code)) for code in range(sys.maxunicode + 1))
    canonical = (parts.split()[1:] for parts in decompositions if parts and not parts.startswith("<"))
    # Hangul syllables are composed by arithmetic: vowels, and consonants that close a syllable (UAX #15).
    jamo = map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))
    return frozenset(jamo).union(chr(int(part, 16)) for parts in canonical for part in parts)
