"""Text as token ids and back, from a saved `tokenizer.json`, with the library `tokenizers` alone."""

import json
import os
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Encoding, Tokenizer

from ..tokenization.text_checks import Texts, list_of_texts
from .feedback import loading_errors
from .saved_model import AS_SAVED, read_saved

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_CHARACTER_DECODER = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}


class TextIds:
    """The tokenizer of a saved model, with the ids of `AutoTokenizer`, but without transformers.

    It keeps no options of a call, so any number of threads may use it at once.

    Args:
        folder: folder with `tokenizer.json` and `tokenizer_config.json`, as `AtentaTokenizer.save_pretrained` writes
            them.

    Raises:
        FileNotFoundError: If one of the files is missing.
        ValueError: If one of them is damaged, or is of another kind of tokenizer.

    Attributes:
        tokens: the vocabulary in the order of ids.
        special_ids: ids of the special tokens, feature tags included.
        tags: ids of the feature tags by their names, such as `PL` for `<PL>`.
        model_input_names: names of the model's inputs, such as `input_ids`.
        padding_side: side on which `pad` adds `<pad>`.
        pad_token_id, bos_token_id, eos_token_id, mask_token_id: ids of special tokens.
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self._folder = Path(folder)
        path, config_path = (self._folder / name for name in ("tokenizer.json", "tokenizer_config.json"))
        parts, config = read_saved(path), read_saved(config_path)
        for key, (is_right, expected) in _CHECKS.items():
            if not is_right(config.get(key)):
                raise ValueError(f"{config_path} is damaged: {key} is {config.get(key)!r:.60}; expected {expected}.")
        with loading_errors(path.parent, path.name):
            self._backend = Tokenizer.from_str(json.dumps(parts))
            vocabulary = self.get_vocab()
        # The library takes `["a"]` for a normalizer that puts an a before each text.
        is_listed = any(
            isinstance(parts.get(name), list) for name in ("normalizer", "pre_tokenizer", "post_processor")
        )
        is_of_characters = parts.get("decoder") == _CHARACTER_DECODER and not is_listed
        if not is_of_characters or {*vocabulary.values()} != {*range(len(vocabulary))}:
            raise ValueError(f"{path} is of another kind of tokenizer; expected one that AtentaTokenizer has saved.")
        self._backend.no_padding()
        self._backend.no_truncation()
        self._backend.encode_special_tokens = bool(config.get("split_special_tokens", False))
        self.model_input_names: list[str] = config.get("model_input_names") or ["input_ids", "attention_mask"]
        self.padding_side: Literal["left", "right"] = config.get("padding_side") or "right"
        self.tokens: list[str] = sorted(vocabulary, key=vocabulary.__getitem__)
        special = {name: _content(config.get(f"{name}_token")) for name in ("pad", "bos", "eos", "mask")}
        for name, token in special.items():
            if token not in vocabulary:
                raise ValueError(f"{config_path} is damaged ({name}_token is {token!r:.40}); {AS_SAVED}")
        named = [vocabulary[token] for token in special.values()]
        self.pad_token_id, self.bos_token_id, self.eos_token_id, self.mask_token_id = named
        added = self._backend.get_added_tokens_decoder()
        self.special_ids = {index for index, token in added.items() if token.special}
        matches = enumerate(map(_BYTE.fullmatch, self.tokens))
        self.tags = {self.tokens[index][1:-1]: index for index in sorted(self.special_ids.difference(named))}
        self._bytes = {index: bytes.fromhex(match[1]) for index, match in matches if match}

    def check_model(self, config: Mapping[str, Any]) -> None:
        """Check that a model can read what the tokenizer makes of texts.

        Raises:
            ValueError: If it lacks an input of the model, or makes ids that the model does not have.
        """
        segments = config.get("type_vocab_size") or 0
        needed = ["input_ids", "attention_mask", *(["token_type_ids"] if segments else [])]
        if missing := [name for name in needed if name not in self.model_input_names]:
            raise ValueError(f"{self._folder}/tokenizer_config.json: model_input_names lacks {missing[0]}; {AS_SAVED}")
        with loading_errors(self._folder, "tokenizer.json"):
            ids = self.encode([""])
        if not all(ids):
            raise ValueError(f"{self._folder}/tokenizer.json: post_processor adds no special tokens; {AS_SAVED}")
        inputs = self.inputs([""], [""] if segments > 1 else None)
        for name, size in (("input_ids", config.get("vocab_size")), ("token_type_ids", segments)):
            if size and inputs[name].max() >= size:
                raise ValueError(
                    f"{self._folder}/tokenizer.json is damaged: it gives {name} up to {inputs[name].max()}; expected "
                    f"less than the {size} that the model has."
                )

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return self._backend.get_vocab()

    def encode(self, texts: Texts, text_pairs: Texts | None = None) -> list[list[int]]:
        """Return the ids of each text or pair, with the special tokens of the family's input format.

        Args:
            texts: texts, or the first text of each pair.
            text_pairs: the second text of each pair.

        Raises:
            TypeError: If `texts` or `text_pairs` is not a sequence of str.
            ValueError: If a text has a lone surrogate, or there is another number of `text_pairs`.
        """
        return [encoding.ids for encoding in self._encode(texts, text_pairs)]

    def inputs(self, texts: Texts, text_pairs: Texts | None = None) -> dict[str, np.ndarray]:
        """Return the model's inputs, (texts, length) int64 each, padded on the side of the family.

        The arguments are those of `encode`.

        Raises:
            TypeError: As in `encode`.
            ValueError: As in `encode`, or if no texts are given.
        """
        encoded = self._encode(texts, text_pairs)
        input_ids, attention_mask = self.pad([encoding.ids for encoding in encoded])
        arrays = {"input_ids": input_ids, "attention_mask": attention_mask}
        if "token_type_ids" in self.model_input_names:
            arrays["token_type_ids"] = np.zeros_like(input_ids)
            arrays["token_type_ids"][attention_mask == 1] = np.concatenate([encoding.type_ids for encoding in encoded])
        return {name: arrays[name] for name in self.model_input_names}

    def pad(
        self, ids: Sequence[Sequence[int]], side: Literal["left", "right"] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ids of unlike lengths as `input_ids` and `attention_mask`, (texts, length) int64 each.

        Args:
            ids: ids of each text.
            side: where `<pad>` is added; defaults to the side of the family.

        Raises:
            ValueError: If no ids are given, or there is no such side.
        """
        side = side or self.padding_side
        if side not in ("left", "right"):
            raise ValueError(f"side={side!r}; expected 'left' or 'right'.")
        if not len(ids):
            raise ValueError("No texts were given, so there is nothing to make arrays of. Give at least one text.")
        lengths = np.array([[len(each)] for each in ids])
        places = np.arange(lengths.max())
        mask = places < lengths if side == "right" else places >= lengths.max() - lengths
        input_ids = np.full(mask.shape, self.pad_token_id, np.int64)
        input_ids[mask] = [index for each in ids for index in each]
        return input_ids, mask.astype(np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, without special tokens. Bytes that are not UTF-8 become `\ufffd`."""
        return self._backend.decode(np.asarray(ids).tolist() if isinstance(ids, np.ndarray) else list(ids))

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of ids as they come, without special tokens: each character when its last byte is there.

        What is yielded is together what `decode` returns, if the bytes among the ids are UTF-8. A byte that is not
        becomes `\ufffd`; `decode` replaces the good bytes around it as well.

        Args:
            ids: ids of tokens, which may still be generated.
        """
        decoder = getincrementaldecoder("utf-8")("replace")
        for index in map(int, ids):
            if index in self._bytes:
                piece = decoder.decode(self._bytes[index])
            elif index in self.special_ids or not 0 <= index < len(self.tokens):
                continue
            else:
                piece = decoder.decode(b"", final=True) + self.tokens[index]
            if piece:
                yield piece
        if rest := decoder.decode(b"", final=True):
            yield rest

    def _encode(self, texts: Texts, text_pairs: Texts | None) -> list[Encoding]:
        texts = list_of_texts(texts)
        if text_pairs is None:
            return self._backend.encode_batch_fast(texts)
        text_pairs = list_of_texts(text_pairs, "text_pairs")
        if len(texts) != len(text_pairs):
            raise ValueError(f"Found {len(texts)} texts and {len(text_pairs)} text_pairs; expected one for each text.")
        return self._backend.encode_batch_fast(list(zip(texts, text_pairs)))


def _content(token: Any) -> str:
    """Return the text of a special token, which older versions of transformers saved with its options."""
    return str(token.get("content") if isinstance(token, dict) else token)


_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
# What is read of `tokenizer_config.json`, besides the special tokens.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "split_special_tokens": (lambda value: value is None or isinstance(value, bool), "true or false"),
    "padding_side": (lambda value: value in (None, "left", "right"), '"left" or "right"'),
    "model_input_names": (
        lambda value: value is None or (isinstance(value, list) and {*map(str, value)} <= _INPUTS),
        f"some of {', '.join(sorted(_INPUTS))}",
    ),
}
