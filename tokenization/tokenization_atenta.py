"""The character tokenizer: one token a character of Unicode after NFC, nothing lost (document 3)."""

import copy
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.processors import TemplateProcessing
from transformers import BatchEncoding, PreTrainedTokenizerFast

from .alphabet import (
    BOS_TOKEN,
    DEFAULT_ALPHABET,
    EOS_TOKEN,
    MASK_TOKEN,
    NORMALIZER,
    PAD_TOKEN,
    build_vocabulary,
    count_alphabet,
)
from .text_checks import check_texts

Family = Literal["encoder", "decoder", "encoder-decoder"]


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """What the inputs of a family look like.

    Attributes:
        single: template of one text; `:0` and `:1` are token type ids.
        pair: template of two texts.
        padding_side: where `<pad>` goes.
        split_special_tokens: whether `<eos>` in a text is five characters. If not, it is the special token.
        model_input_names: what the tokenizer returns.
    """

    single: str
    pair: str
    padding_side: Literal["left", "right"]
    split_special_tokens: bool
    model_input_names: tuple[str, ...]


INPUT_FORMATS: dict[Family, InputFormat] = {
    # Documents 4 and 5; Devlin et al. (2019). `<mask>` is written into the text.
    "encoder": InputFormat(
        single="<bos>:0 $A:0 <eos>:0",
        pair="<bos>:0 $A:0 <eos>:0 $B:1 <eos>:1",
        padding_side="right",
        split_special_tokens=False,
        model_input_names=("input_ids", "token_type_ids", "attention_mask"),
    ),
    # The text goes on where the prompt stops, so no `<eos>` follows it; in a pair each text starts with `<bos>`.
    "decoder": InputFormat(
        single="<bos>:0 $A:0",
        pair="<bos>:0 $A:0 <bos>:1 $B:1",
        padding_side="left",
        split_special_tokens=True,
        model_input_names=("input_ids", "attention_mask"),
    ),
    # The model puts `<bos>` before the labels when it shifts them; in a pair each text ends with `<eos>`, as in T5.
    "encoder-decoder": InputFormat(
        single="$A:0 <eos>:0",
        pair="$A:0 <eos>:0 $B:1 <eos>:1",
        padding_side="right",
        split_special_tokens=True,
        model_input_names=("input_ids", "attention_mask"),
    ),
}


class AtentaTokenizer(PreTrainedTokenizerFast):
    """A character tokenizer, made by `from_alphabet` or `from_texts` and loaded by `from_pretrained`.

    Each character of the alphabet is a token. Any other becomes the tokens of its UTF-8 bytes and comes back whole:
    `decode(ids, skip_special_tokens=True)` is NFC of the text, where special tokens in texts are split.

    Feature tags are special tokens: put them before a text by id (`convert_tokens_to_ids(["<V>"])`). Where special
    tokens are split, no text can hold one. An encoder's tokenizer reads them, and `<mask>`, in texts; there,
    `split_special_tokens=True` in a call reads them as characters.

    What it saves is plain `tokenizers` data that `AutoTokenizer` loads without this package. Only the errors about
    what is no text are then the library's (see `check_texts`).

    Raises:
        TypeError: at every call, for what is neither a str nor a list or tuple of str.
        ValueError: at every call, for a text with a lone surrogate.
    """

    # No __init__: transformers rebuilds a class that has one from its vocabulary alone, without normalizer and bytes.

    @classmethod
    def from_alphabet(
        cls,
        alphabet: Iterable[str] = DEFAULT_ALPHABET,
        *,
        family: Family,
        tags: Iterable[str] = (),
        model_max_length: int | None = None,
    ) -> "AtentaTokenizer":
        """Make a tokenizer of given characters.

        Args:
            alphabet: the characters in the order of their ids, from 3 on.
            family: what the inputs look like (`INPUT_FORMATS`).
            tags: feature tags, each a token of its own, such as `<V>`.
            model_max_length: most tokens a sequence may have when `truncation=True`; no limit unless given.

        Raises:
            TypeError: a character or a tag is not a str.
            ValueError: an unknown family; a character or a tag that does not have its form, or stands twice.
        """
        if family not in INPUT_FORMATS:
            raise ValueError(f"`family` is {family!r}, expected one of {', '.join(map(repr, INPUT_FORMATS))}.")
        tags = list(tags)
        vocabulary = build_vocabulary(alphabet, tags)
        input_format = INPUT_FORMATS[family]

        backend = Tokenizer(BPE(vocab=vocabulary, merges=[], byte_fallback=True, cache_capacity=0))
        backend.normalizer = NORMALIZER
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
        model_max_length: int | None = None,
    ) -> "AtentaTokenizer":
        """Make a tokenizer of the characters of a corpus, which is read once and not kept.

        Args:
            texts: the corpus. Its characters after NFC are the alphabet, in the order of their code points.
            family: as in `from_alphabet`.
            min_count: rarer characters are left out, and are encoded as bytes.
            tags: as in `from_alphabet`.
            model_max_length: as in `from_alphabet`.

        Raises:
            TypeError: `texts` is one text, or something in it is not a text.
            ValueError: a text has a lone surrogate, or no character occurs `min_count` times; as in `from_alphabet`.
        """
        alphabet = count_alphabet(texts, min_count)
        return cls.from_alphabet(alphabet, family=family, tags=tags, model_max_length=model_max_length)

    def save_pretrained(self, save_directory: str | os.PathLike, *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save under the name of transformers' own class, which loads with no code of ours.

        Args:
            save_directory: the folder; made if missing.
            args: as in transformers.
            kwargs: as in transformers.

        Returns:
            The paths of the files.
        """
        # The padding and truncation of the last call would be saved as the tokenizer's own.
        self.backend_tokenizer.no_padding()
        self.backend_tokenizer.no_truncation()
        generic = copy.copy(self)
        generic.__class__ = PreTrainedTokenizerFast
        return generic.save_pretrained(save_directory, *args, **kwargs)

    def __call__(
        self,
        text: str | Sequence | None = None,
        text_pair: str | Sequence | None = None,
        text_target: str | Sequence | None = None,
        text_pair_target: str | Sequence | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Ids, masks and what else is asked for of texts or pairs, as in transformers, once they are checked."""
        _check(text=text, text_pair=text_pair, text_target=text_target, text_pair_target=text_pair_target)
        return super().__call__(text, text_pair, text_target, text_pair_target, *args, **kwargs)

    def encode(
        self, text: str | Sequence, text_pair: str | Sequence | None = None, *args: Any, **kwargs: Any
    ) -> list[int]:
        """Ids of a text or pair, as in transformers, once it is checked."""
        _check(text=text, text_pair=text_pair)
        return super().encode(text, text_pair, *args, **kwargs)

    def tokenize(self, text: str, pair: str | None = None, *args: Any, **kwargs: Any) -> list[str]:
        """Tokens of a text or pair, as in transformers, once it is checked."""
        _check(text=text, pair=pair)
        return super().tokenize(text, pair, *args, **kwargs)


def _check(**given: str | Sequence | None) -> None:
    for name, texts in given.items():
        if texts is not None:
            check_texts(texts, name)
