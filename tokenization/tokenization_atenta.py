"""The character tokenizer: one token per Unicode character after NFC, without loss (document 3)."""

import json
import os
import re
import threading
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.processors import TemplateProcessing
from transformers import BatchEncoding, PreTrainedTokenizerFast
from transformers.tokenization_utils_base import TruncationStrategy

from .alphabet import (
    BOS_TOKEN,
    DEFAULT_ALPHABET,
    EOS_TOKEN,
    MASK_TOKEN,
    NORMALIZER,
    PAD_TOKEN,
    WORDS,
    build_vocabulary,
    count_alphabet,
    find_units,
)
from .text_checks import check_texts, flat_texts

# The backend holds the options of the current call, such as padding: a call in another thread would get them. Before a
# fork the lock is taken, so that the child does not find it held by a thread that it does not have.
_ONE_CALL = threading.RLock()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_ONE_CALL.acquire, after_in_parent=_ONE_CALL.release, after_in_child=_ONE_CALL.release)

Family = Literal["encoder", "decoder", "encoder-decoder"]


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """The format of a family's inputs.

    Attributes:
        single: template of a single text; `:0` and `:1` are token type ids.
        pair: template of a pair of texts.
        padding_side: side on which `<pad>` is added.
        split_special_tokens: whether `<eos>` in a text is read as five characters instead of the special token.
        model_input_names: names of the tensors that the tokenizer returns.
    """

    single: str
    pair: str
    padding_side: Literal["left", "right"]
    split_special_tokens: bool
    model_input_names: tuple[str, ...]


INPUT_FORMATS: dict[Family, InputFormat] = {
    # Documents 4 and 5; Devlin et al. (2019). Special tokens are not split, so that texts can contain `<mask>`.
    "encoder": InputFormat(
        single="<bos>:0 $A:0 <eos>:0",
        pair="<bos>:0 $A:0 <eos>:0 $B:1 <eos>:1",
        padding_side="right",
        split_special_tokens=False,
        model_input_names=("input_ids", "token_type_ids", "attention_mask"),
    ),
    # The model continues the prompt, so no `<eos>` follows it. In a pair, each text starts with `<bos>`.
    "decoder": InputFormat(
        single="<bos>:0 $A:0",
        pair="<bos>:0 $A:0 <bos>:1 $B:1",
        padding_side="left",
        split_special_tokens=True,
        model_input_names=("input_ids", "attention_mask"),
    ),
    # The model adds `<bos>` when it shifts the labels. In a pair, each text ends with `<eos>`, as in T5.
    "encoder-decoder": InputFormat(
        single="$A:0 <eos>:0",
        pair="$A:0 <eos>:0 $B:1 <eos>:1",
        padding_side="right",
        split_special_tokens=True,
        model_input_names=("input_ids", "attention_mask"),
    ),
}


class AtentaTokenizer(PreTrainedTokenizerFast):
    """A character tokenizer, built by `from_alphabet` or `from_texts` and loaded by `from_pretrained`.

    Each character of the alphabet is a token. Other characters become the tokens of their UTF-8 bytes, so nothing is
    lost: if special tokens in texts are split, `decode(ids, skip_special_tokens=True)` is the NFC of the text.

    With a `target_separator`, the known units that it parts are one token each, together with the separator before
    them: the phones `" tʃ"` and `" aː"` of `ˈ tʃ aː`. An unknown unit, or one that begins a text with `<`, is encoded
    by characters.

    Feature tags are special tokens. Add them before a text by id (`convert_tokens_to_ids(["<V>"])`); if special tokens
    are split, a text cannot contain them. An encoder's tokenizer does not split them: it reads tags and `<mask>` in
    texts, unless a call sets `split_special_tokens=True`. The recipes save it with this setting, except for models
    that fill in masks.

    `word_ids()` of what an encoder's tokenizer returns numbers the words of the text: runs of letters and digits, and
    of signs, each with the white space before it. Words given with `is_split_into_words=True` are joined as they are,
    without spaces.

    Libraries that write `<eos>` into texts, as trl and chat templates do, need a tokenizer that reads it, loaded with
    `from_pretrained(folder, split_special_tokens=False)`. It reads `<eos>` in every text, whoever wrote it; in a chat,
    `apply_chat_template(messages, sanitize_control_tokens=True)` (transformers 5.20 or later) still splits what the
    messages contain. Such a tokenizer is saved with this setting; to continue texts of others with the trained model,
    load it with `split_special_tokens=True`.

    Saved tokenizers are plain `tokenizers` data, which `AutoTokenizer` loads without this package. A tokenizer loaded
    in this way raises the library's own errors for inputs that are not texts (see `check_texts`), does not warn, and
    must not be called in two threads at once with unlike options: one call may get the other's.

    Raises:
        TypeError: At every call, if an input is neither a str nor a list or tuple of str.
        ValueError: At every call, if a text has a lone surrogate, or tensors are requested of no texts.

    Warns:
        UserWarning: If a special token in a text is split because of the tokenizer's setting, and the call does not
            say so by `split_special_tokens=True`, or if words are given without spaces between them.
    """

    # No __init__: transformers rebuilds tokenizers that define one from the vocabulary, without normalizer and bytes.

    @classmethod
    def from_alphabet(
        cls,
        alphabet: Iterable[str] = DEFAULT_ALPHABET,
        *,
        family: Family,
        tags: Iterable[str] = (),
        units: Iterable[str] = (),
        target_separator: str | None = None,
        model_max_length: int | None = None,
    ) -> "AtentaTokenizer":
        """Build a tokenizer from an alphabet.

        Args:
            alphabet: the characters, in the order of their ids, which start at 3.
            family: model family, which selects the input format (`INPUT_FORMATS`).
            tags: feature tags such as `<V>`; each is one token.
            units: units of two or more characters, with the separator before them, as `" aː"`; each is one token.
            target_separator: the text that separates units; needed with `units`.
            model_max_length: largest number of tokens in a sequence with `truncation=True`; defaults to no limit.

        Raises:
            TypeError: If a character, a tag or a unit is not a str.
            ValueError: If the family is unknown, a character, a tag or a unit has the wrong form or appears twice, or
                there are units without a separator.
        """
        if family not in INPUT_FORMATS:
            raise ValueError(f"`family` is {family!r}, expected one of {', '.join(map(repr, INPUT_FORMATS))}.")
        tags, units = list(tags), list(units)
        if units and (not target_separator or target_separator.startswith("<")):
            raise ValueError(
                f"`target_separator` is {target_separator!r}; expected a text that separates the `units`, not `<`."
            )
        vocabulary = build_vocabulary(alphabet, tags, units)
        input_format = INPUT_FORMATS[family]

        # `ignore_merges`: a piece that is in the vocabulary is one token; of the others, each character is one.
        backend = Tokenizer(
            BPE(vocab=vocabulary, merges=[], byte_fallback=True, cache_capacity=0, ignore_merges=bool(units))
        )
        backend.normalizer = NORMALIZER
        if target_separator is not None and units:
            # The second split keeps a text that reads `<pad>` from being that token.
            backend.pre_tokenizer = pre_tokenizers.Sequence(
                [
                    pre_tokenizers.Split(target_separator, "merged_with_next"),
                    pre_tokenizers.Split(Regex("^<"), "isolated"),
                ]
            )
        elif family == "encoder":
            backend.pre_tokenizer = WORDS
        backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        backend.post_processor = TemplateProcessing(
            single=input_format.single,
            pair=input_format.pair,
            special_tokens=[(token, vocabulary[token]) for token in (BOS_TOKEN, EOS_TOKEN)],
        )
        return cls(
            tokenizer_object=backend,
            pad_token=PAD_TOKEN,
            bos_token=BOS_TOKEN,
            eos_token=EOS_TOKEN,
            mask_token=MASK_TOKEN,
            extra_special_tokens=tags,
            model_max_length=model_max_length,
            padding_side=input_format.padding_side,
            truncation_side="right",  # named, so that another one is saved
            split_special_tokens=input_format.split_special_tokens,
            model_input_names=list(input_format.model_input_names),
        )

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        family: Family,
        min_count: int = 1,
        tags: Iterable[str] = (),
        targets: Iterable[str] = (),
        target_separator: str | None = None,
        model_max_length: int | None = None,
    ) -> "AtentaTokenizer":
        """Build a tokenizer from the characters of a corpus, which is read once and not kept.

        Args:
            texts: the corpus. Its characters after NFC are the alphabet, in code point order.
            family: as in `from_alphabet`.
            min_count: lowest count of a character in the alphabet; rarer characters are encoded as bytes.
            tags: as in `from_alphabet`.
            targets: texts whose units are tokens, if there is a `target_separator`.
            target_separator: the text that separates the units of targets, such as the space between phones.
            model_max_length: as in `from_alphabet`.

        Raises:
            TypeError: If `texts` is a single str, or one of its items is not a str.
            ValueError: If a text has a lone surrogate, or no character occurs `min_count` times; or as in
                `from_alphabet`.
        """
        alphabet = count_alphabet(texts, min_count)
        units = find_units(targets, target_separator) if target_separator else []
        single = [unit for unit in units if len(unit) == 1 and unit not in alphabet]
        return cls.from_alphabet(
            [*alphabet, *single],
            family=family,
            tags=tags,
            units=[unit for unit in units if len(unit) > 1 and not unit.startswith("<")],
            target_separator=target_separator,
            model_max_length=model_max_length,
        )

    def train_new_from_iterator(self, text_iterator: Any, vocab_size: int, *args: Any, **kwargs: Any) -> Any:
        """Return a tokenizer that merges characters, as in transformers, and warn that it loses what texts lack."""
        warnings.warn(
            "The new tokenizer merges characters, and has no bytes: characters that the texts lack are lost. "
            "AtentaTokenizer.from_texts(texts, family=...) makes one of characters that loses none.",
            stacklevel=2,
        )
        return super().train_new_from_iterator(text_iterator, vocab_size, *args, **kwargs)

    def save_pretrained(self, save_directory: str | os.PathLike, *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save the tokenizer as transformers' own class, which loads without this package, and return its files."""
        with _ONE_CALL:  # of other threads, which may pad
            # Otherwise the padding and truncation of the last call would be saved as the tokenizer's defaults.
            self.backend_tokenizer.no_padding()
            self.backend_tokenizer.no_truncation()
            return super().save_pretrained(save_directory, *args, **kwargs)

    def _save_pretrained(
        self, save_directory: str | os.PathLike, file_names: tuple[str, ...], *args: Any, **kwargs: Any
    ) -> tuple[str, ...]:
        # transformers calls this when it has written tokenizer_config.json, and before it pushes the files.
        path = Path(file_names[0])
        config = for_version_4(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        return super()._save_pretrained(save_directory, file_names, *args, **kwargs)

    def __call__(
        self,
        text: str | Sequence | None = None,
        text_pair: str | Sequence | None = None,
        text_target: str | Sequence | None = None,
        text_pair_target: str | Sequence | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Check texts or pairs, and return ids, masks and other requested outputs, as in transformers."""
        self._check(kwargs, text=text, text_pair=text_pair, text_target=text_target, text_pair_target=text_pair_target)
        return super().__call__(text, text_pair, text_target, text_pair_target, *args, **kwargs)

    def encode(
        self, text: str | Sequence, text_pair: str | Sequence | None = None, *args: Any, **kwargs: Any
    ) -> list[int]:
        """Check a text or pair, and return its ids, as in transformers."""
        self._check(kwargs, text=text, text_pair=text_pair)
        return super().encode(text, text_pair, *args, **kwargs)

    def tokenize(self, text: str, pair: str | None = None, *args: Any, **kwargs: Any) -> list[str]:
        """Check a text or pair, and return its tokens, as in transformers."""
        self._check(kwargs, text=text, pair=pair)
        if not isinstance(text, str) and not kwargs.get("is_split_into_words"):
            raise TypeError(
                f"`text` is {text!r:.80} ({type(text).__name__}), expected one str. Tokenize each text by itself."
            )
        return super().tokenize(text, pair, *args, **kwargs)

    def batch_decode(self, sequences: Any, *args: Any, **kwargs: Any) -> list[str]:
        """Return the text of each sequence of ids, as in transformers; of no sequences, no texts."""
        return super().batch_decode(sequences, *args, **kwargs) if len(sequences) else []

    def pad(self, encoded_inputs: Any, *args: Any, **kwargs: Any) -> BatchEncoding:
        """Check that there is something to pad, and pad it, as in transformers."""
        no_ids = "input_ids" in encoded_inputs and not len(encoded_inputs["input_ids"])
        if not len(encoded_inputs) or (no_ids and kwargs.get("return_tensors")):
            raise ValueError(
                f"`encoded_inputs` is {encoded_inputs!r:.80}: there is nothing to pad. Give at least one encoded text."
            )
        return super().pad(encoded_inputs, *args, **kwargs)

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **options: Any) -> BatchEncoding:
        """Encode in one thread at a time, and return empty lists for no texts, where transformers raises an error."""
        longest, special = options.get("max_length"), options.get("add_special_tokens", True)
        truncated = options.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE)
        if truncated is not TruncationStrategy.DO_NOT_TRUNCATE and longest is not None:
            least = self.num_special_tokens_to_add(text_pair is not None) if special else 1
            if longest < least:  # with which the library tokenizers does not truncate at all
                raise ValueError(f"max_length={longest}; expected at least {least}, for the special tokens.")
        no_texts = not (text or isinstance(text, str) or text_pair or options.get("is_split_into_words"))
        if no_texts and options.get("return_tensors"):
            raise ValueError(
                f"No texts were given ({text!r}), so there is nothing to make tensors of. "
                "Give at least one text, or leave out `return_tensors`."
            )
        with _ONE_CALL:
            if not no_texts:
                return super()._encode_plus(text, text_pair, *args, **options)
            names = super()._encode_plus([""], text_pair if text_pair is None else [""], *args, **options)
        return BatchEncoding({name: [] for name in names}, encoding=[])

    def _check(self, options: dict[str, Any], **inputs: str | Sequence | None) -> None:
        """Refuse inputs, by name, that are not texts, and warn of special tokens that are split by the default."""
        for name, texts in inputs.items():
            if texts is not None:
                check_texts(texts, name)
                if options.get("is_split_into_words") and (glued := _glued_words(texts)):
                    warnings.warn(
                        f"Nothing is put between the words {glued[0]!r:.40} and {glued[1]!r:.40} of `{name}`. Give "
                        'the spaces with the words, as [words[0], *(f" {word}" for word in words[1:])].',
                        stacklevel=3,
                    )
        if not self.split_special_tokens or "split_special_tokens" in options:
            return
        special_token = re.compile("|".join(map(re.escape, self.all_special_tokens)))
        if found := next(filter(None, map(special_token.search, flat_texts(list(inputs.values())))), None):
            warnings.warn(
                f"A text has {found[0]!r}, which is read as {len(found[0])} characters, not as the special token. "
                "If a library wrote it there, as trl and chat templates do, load the tokenizer with "
                "split_special_tokens=False. If it is the text's own, give split_special_tokens=True in the call.",
                stacklevel=3,
            )


def for_version_4(config: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer_config.json of transformers 5 with the names that versions 4 and 5 know."""
    config = {**config, "tokenizer_class": "PreTrainedTokenizerFast"}
    if tags := config.pop("extra_special_tokens", None):
        config["additional_special_tokens"] = tags  # version 4 reads no list by the other name
    return config


def _glued_words(words: str | Sequence) -> tuple[str, str] | None:
    """Return the first two words of a text, or of several texts, that have no white space between them."""
    if isinstance(words, str):
        return None
    pairs = ((first, second) for first, second in pairwise(words) if isinstance(first, str))
    found = next((pair for pair in pairs if not (pair[0][-1:].isspace() or pair[1][:1].isspace())), None)
    return found or next(filter(None, map(_glued_words, words)), None)
