"""A fast encoder for corpora: one table look-up per character, with the same ids as the tokenizer."""

import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from .alphabet import WORDS
from .text_checks import check_texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BLOCK = 1 << 16  # characters looked up at a time; their code points fit in the processor's cache
_CHARACTER_MODEL: dict[str, Any] = {
    **{"type": "BPE", "merges": [], "ignore_merges": False, "dropout": None, "byte_fallback": True},
    **{"continuing_subword_prefix": None, "end_of_word_suffix": None},
}


class CharacterTable:
    """A table of token ids over code points, built from a character tokenizer.

    The table has the characters of the alphabet that are always a token by themselves. All others, such as combining
    marks and characters that become bytes, are encoded by the tokenizer, together with the character before them.

    The table does not follow later changes of the tokenizer.

    Attributes:
        dtype: type of the ids, uint16 if they fit, otherwise int32.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Build the table.

        Args:
            tokenizer: an `AtentaTokenizer`, or one that was saved and then loaded by `AutoTokenizer`.

        Raises:
            ValueError: If it is another kind of tokenizer. The message gives the settings that differ.
        """
        self._backend = _character_backend(tokenizer)
        vocabulary = json.loads(self._backend.to_str())["model"]["vocab"]  # without tokens added later
        ids = {
            ord(token): index for token, index in vocabulary.items() if len(token) == 1 and _is_always_a_token(token)
        }
        self._absent = max(vocabulary.values()) + 1
        self.dtype = np.dtype(np.uint16 if self._absent <= np.iinfo(np.uint16).max else np.int32)
        # The last entry is for all higher code points.
        self._table = np.full(max(ids, default=0) + 2, self._absent, self.dtype)
        self._table[list(ids)] = list(ids.values())

    def encode(self, text: str) -> np.ndarray:
        """Encode a text as `tokenizer(text, add_special_tokens=False, split_special_tokens=True)` does.

        Returns:
            The ids, (tokens,), of type `dtype`.

        Raises:
            TypeError: If `text` is not a str.
            ValueError: If it has a lone surrogate.
        """
        if not isinstance(text, str):
            raise TypeError(
                f"`text` is {text!r:.80} ({type(text).__name__}), expected a str. `encode_batch` takes a list of them."
            )
        return self._encode([text], "text")[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Encode each text as `encode` does, all in one look-up, which is much faster for many short texts.

        Returns:
            The ids of each text, (tokens,), of type `dtype`.

        Raises:
            TypeError: If `texts` is not a list or tuple, or one of its items is not a str.
            ValueError: If a text has a lone surrogate.
        """
        if not isinstance(texts, (list, tuple)):
            raise TypeError(
                f"`texts` is {texts!r:.80} ({type(texts).__name__}), expected a list or tuple of str. "
                "Give [text] for one text, or list(texts)."
            )
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"`texts[{index}]` is {text!r:.80} ({type(text).__name__}), expected a str.")
        return self._encode(texts, "texts[{}]")

    def _encode(self, texts: Sequence[str], name: str) -> list[np.ndarray]:
        ids = self._look_up("".join(texts))
        ends = np.cumsum([len(text) for text in texts])
        encoded = [ids[start:end] for start, end in pairwise([0, *ends.tolist()])]
        absent = np.flatnonzero(ids == self._absent)
        for index in np.unique(np.searchsorted(ends, absent, side="right")).tolist():
            check_texts(texts[index], name.format(index))
            encoded[index] = np.concatenate(list(self._splice(texts[index], encoded[index])))
        return encoded

    def _look_up(self, text: str) -> np.ndarray:
        ids = np.empty(len(text), self.dtype)
        for start in range(0, len(text), BLOCK):
            # Surrogates may pass here: they are absent from the table, and texts with absent characters are checked.
            block = text[start : start + BLOCK].encode("utf-32-le", "surrogatepass")
            self._table.take(np.frombuffer(block, "<u4"), mode="clip", out=ids[start : start + BLOCK])
        return ids

    def _splice(self, text: str, ids: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the ids of a text, with the stretches of absent characters encoded by the tokenizer.

        A stretch includes the character before it, which a combining mark may change. That character and the one after
        the stretch are in the table, so they are starters that do not compose with a character before them. A text may
        be cut before such a character and its parts normalized to NFC separately (UAX #15, section 9). Byte fallback
        reads one character at a time.
        """
        absent = np.flatnonzero(ids == self._absent)
        gaps = np.flatnonzero(np.diff(absent) > 1)
        starts = np.maximum(absent[[0, *(gaps + 1)]] - 1, 0).tolist()
        ends = (absent[[*gaps, -1]] + 1).tolist()
        stretches = [text[start:end] for start, end in zip(starts, ends)]
        distinct = list(dict.fromkeys(stretches))
        encoded = self._backend.encode_batch_fast(distinct, add_special_tokens=False)
        ids_of = {stretch: np.array(encoding.ids, self.dtype) for stretch, encoding in zip(distinct, encoded)}
        for stretch, before, start in zip(stretches, [0, *ends], starts):
            yield ids[before:start]
            yield ids_of[stretch]
        yield ids[ends[-1] :]


def _character_backend(tokenizer: "PreTrainedTokenizerBase") -> Tokenizer:
    """Return a copy of the tokenizer's backend without padding and truncation, which splits special tokens in texts.

    Raises:
        ValueError: If the tokenizer does not encode each character as one token or as its bytes.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(
            f"`tokenizer` is {tokenizer!r:.80} ({type(tokenizer).__name__}), which has no backend of `tokenizers`: "
            "expected an AtentaTokenizer, or one that was saved and then loaded by AutoTokenizer."
        )
    parts = json.loads(backend.to_str())
    kind = {
        **{name: parts["model"].get(name) for name in _CHARACTER_MODEL},
        "normalizer": parts["normalizer"],
        "pre_tokenizer": parts["pre_tokenizer"],
        "added_tokens": [token["content"] for token in parts["added_tokens"] if not token["special"]],
    }
    if kind["pre_tokenizer"] == json.loads(WORDS.__getstate__()):
        kind["pre_tokenizer"] = None  # it changes no id
    expected = {**_CHARACTER_MODEL, "normalizer": {"type": "NFC"}, "pre_tokenizer": None, "added_tokens": []}
    if found := [f"{name} {value!r:.60}" for name, value in kind.items() if value != expected[name]]:
        raise ValueError(
            f"Not a character tokenizer: found {', '.join(found)}. "
            "Expected a tokenizer made by AtentaTokenizer: BPE without merges, with byte fallback, on NFC."
        )
    copied = Tokenizer.from_str(json.dumps(parts | {"pre_tokenizer": None}))
    copied.encode_special_tokens = True
    copied.no_padding()
    copied.no_truncation()
    return copied


def _is_always_a_token(character: str) -> bool:
    """Return whether NFC neither changes the character nor composes it with the character before it.

    This reads Python's Unicode tables; the tokenizer's are older. By Unicode's stability policy, a character assigned
    in both has the same properties in both, and a character only in the newer tables is a starter in the older ones.
    """
    return (
        unicodedata.category(character) not in ("Cn", "Cs")  # if not in Python's tables, it may be in the tokenizer's
        and unicodedata.combining(character) == 0
        and unicodedata.is_normalized("NFC", character)
        and character not in _second_halves()
    )


@cache
def _second_halves() -> frozenset[str]:
    """Return all characters that may compose with the character before them; this takes a tenth of a second."""
    decompositions = (unicodedata.decomposition(chr(code)) for code in range(sys.maxunicode + 1))
    canonical = (parts.split()[1:] for parts in decompositions if parts and not parts.startswith("<"))
    # Hangul syllables are composed by arithmetic, from vowels and from consonants that close a syllable (UAX #15).
    jamo = map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))
    return frozenset(jamo).union(chr(int(part, 16)) for parts in canonical for part in parts)
