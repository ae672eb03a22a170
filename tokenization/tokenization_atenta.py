"""The character tokenizer (document 3): one token a Unicode character after NFC, and nothing is ever lost."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteFallback, Fuse
from tokenizers.decoders import Sequence as DecoderSequence
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.processors import TemplateProcessing
from transformers import BatchEncoding, PreTrainedTokenizerFast

from .alphabet import BOS, DEFAULT_ALPHABET, EOS, MASK, PAD, alphabet_of, vocabulary
from .text_checks import check_texts


class Family(NamedTuple):
    """What a family of models expects of its tokenizer.

    Args:
        single: template of a text.
        pair: template of two texts, with their segments.
        padding_side: where padding stands; on the left of a prompt that a decoder goes on from.
        split_special_tokens: whether `<eos>` written in a text is five characters rather than the token.
        model_input_names: what the model takes.
    """

    single: str
    pair: str
    padding_side: str
    split_special_tokens: bool
    model_input_names: list[str]


FAMILIES = {
    # fill-mask needs `<mask>` in the text to be the token
    "encoder": Family(
        f"{BOS} $A {EOS}",
        f"{BOS} $A {EOS} $B:1 {EOS}:1",
        padding_side="right",
        split_special_tokens=False,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ),
    # no <eos>: generation goes on from the prompt. Two texts are joined as they are
    "decoder": Family(f"{BOS} $A", f"{BOS} $A $B", "left", True, ["input_ids", "attention_mask"]),
    # no <bos>: it is what the decoder starts from. Each of two texts has its end
    "encoder-decoder": Family(f"$A {EOS}", f"$A {EOS} $B {EOS}", "right", True, ["input_ids", "attention_mask"]),
}


class AtentaTokenizer(PreTrainedTokenizerFast):
    """A fast tokenizer of characters: `decode(encode(text))` is the text in NFC, whatever the text.

    A character outside the alphabet becomes its UTF-8 bytes, a token each, and comes back whole. What
    `save_pretrained` writes is a plain `tokenizer.json`: `AutoTokenizer` loads it with neither this package nor trust.
    Loaded by this class, or made by it, the tokenizer also refuses what is no text with a clear error.

    There is no `__init__`: with one, transformers would make the tokenizer anew at loading, without normalizer, decoder
    and bytes. Tokenizers are made by [`from_alphabet`] and [`from_texts`].
    """

    @classmethod
    def from_alphabet(
        cls,
        alphabet: Sequence[str] = DEFAULT_ALPHABET,
        *,
        family: str,
        tags: Sequence[str] = (),
        **kwargs: Any,
    ) -> "AtentaTokenizer":
        """Make a tokenizer whose characters have the ids 3, 4, … in the order given.

        Args:
            alphabet: characters, each in NFC.
            family: `"encoder"`, `"decoder"` or `"encoder-decoder"`: what frames a text, and where padding stands.
            tags: feature tags such as `<V>`, each a token of its own, to be inserted by id.
            kwargs: as of any tokenizer, such as `model_max_length`.

        Raises:
            ValueError: an unknown family, or an alphabet or tags as described in [`vocabulary`].
        """
        if family not in FAMILIES:
            raise ValueError(f"family={family!r} is unknown. Allowed: {', '.join(map(repr, FAMILIES))}.")
        ids = vocabulary(alphabet, tags)
        special = [PAD, BOS, EOS, MASK, *tags]
        # without merges, BPE takes each character for a token; a cache would only cost time
        backend = Tokenizer(BPE(vocab=ids, merges=[], byte_fallback=True, cache_capacity=0))
        backend.normalizer = NFC()
        backend.decoder = DecoderSequence([ByteFallback(), Fuse()])
        backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        frame = FAMILIES[family]
        backend.post_processor = TemplateProcessing(
            single=frame.single, pair=frame.pair, special_tokens=[(BOS, ids[BOS]), (EOS, ids[EOS])]
        )
        return cls(
            tokenizer_object=backend,
            pad_token=PAD,
            bos_token=BOS,
            eos_token=EOS,
            mask_token=MASK,
            extra_special_tokens=list(tags),
            padding_side=frame.padding_side,
            split_special_tokens=frame.split_special_tokens,
            model_input_names=frame.model_input_names,
            clean_up_tokenization_spaces=False,
            **kwargs,
        )

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        family: str,
        min_count: int = 1,
        tags: Sequence[str] = (),
        **kwargs: Any,
    ) -> "AtentaTokenizer":
        """Make a tokenizer whose alphabet is the characters of a corpus, by code point.

        Args:
            texts: the corpus, read once and not kept, so that it may be a stream.
            family, tags, kwargs: as in [`from_alphabet`].
            min_count: characters that occur less often are left to the bytes.

        Raises:
            TypeError, ValueError: a text that is no string or holds a lone surrogate, or as in [`from_alphabet`].
        """
        return cls.from_alphabet(alphabet_of(texts, min_count), family=family, tags=tags, **kwargs)

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> BatchEncoding:
        check_texts(text)
        if text_pair is not None:
            check_texts(text_pair, "text_pair")
        return super()._encode_plus(text, text_pair, **kwargs)

    def _save_pretrained(self, save_directory: Any, file_names: tuple[str, ...], **kwargs: Any) -> tuple[str, ...]:
        # a class of this package would not load without it
        config_file = file_names[0]
        with open(config_file, encoding="utf-8") as file:
            config = json.load(file)
        config["tokenizer_class"] = PreTrainedTokenizerFast.__name__
        with open(config_file, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=2, sort_keys=True, ensure_ascii=False)
        return super()._save_pretrained(save_directory, file_names, **kwargs)
