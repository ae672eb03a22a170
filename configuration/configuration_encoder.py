"""Configuration of the encoder family."""

import re

from huggingface_hub.dataclasses import strict

from .configuration_transformer import LARGEST_POSITION, MOST_LAYERS, MOST_NEIGHBOURS, AtentaTransformerConfig

# The name of a text file in any system: no folder, drive, hidden file, pattern or device, and no file of another kind,
# such as config.json.
_TEXT_FILE = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)\.)[^\W_][\w-]{0,60}\.txt", re.IGNORECASE)
_TEMPERATURES = (1e-6, 1e6)  # between which float32 neither overflows nor underflows


@strict
class AtentaEncoderConfig(AtentaTransformerConfig):
    r"""Hyper-parameters of an encoder (documents 4 and 5; BERT: Devlin et al., 2019).

    For the other options, see [`AtentaTransformerConfig`].

    Args:
        num_hidden_layers (`int`, defaults to 6): number of blocks.
        type_vocab_size (`int`, defaults to 2): number of segments that the model distinguishes (0 for none), for the
            two texts of next-sentence prediction or question answering.
        classifier_dropout (`float`, *optional*): dropout probability before a classification head; defaults to
            `dropout`.
        ngram_sizes (`list[int]`, *optional*): lengths of n-grams of tokens, such as `[2, 3, 4]`, that end at each
            position and add a vector to its embedding.
        ngram_buckets (`int`, defaults to 16384): number of vectors of each length, which n-grams share by their hash.
        shared_ngram_sizes (`list[int]`, *optional*): lengths of n-grams of tokens, such as `[3, 5, 8]`, that add a
            vector to the tokens inside them if they occur in the other segment too, as words of a question do in the
            sentence that answers it.
        conv_kernel_size (`int`, *optional*): number of neighbouring tokens, odd, that a convolution before the first
            block reads.
        downsampling_rate (`int`, *optional*): number of neighbouring tokens, 2 or more, that are pooled into one
            position for blocks of their own, whose output is added to the tokens before the other blocks (CANINE:
            Clark et al., 2022). Without it, all blocks read tokens.
        downsampling_size (`int`, *optional*): width of the vectors between those blocks, whose feed-forward network
            is four times as wide; defaults to `hidden_size`.
        downsampling_heads (`int`, *optional*): number of heads in each of those blocks, a divisor of their width;
            defaults to `num_attention_heads`.
        downsampling_layers (`int`, *optional*): number of those blocks; defaults to 6.
        num_words (`int`, defaults to 0): number of words that pre-training predicts as a whole, besides characters.
        character_variants (`dict[str, str | list[str]]`, *optional*): for a tagger of characters, what each character
            with a choice may become: characters, such as `{"a": "aàáâã", "e": "eéê"}`, or texts of any length, such as
            `{"x": ["ʃ", "ks", ""]}`; all others never change.
        spellings_file (`str`, *optional*): name of the file beside the weights with the spellings of words that a
            tagger of characters reads, such as `"spellings.txt"`: letters, digits, `_` and `-`, and the ending `.txt`.
        window_length (`int`, *optional*): number of characters that a tagger of characters was trained to read at a
            time; longer texts are read in windows.
        confidence_temperature (`float`, defaults to 1.0): divides the logits of a tagger of characters, so that its
            probabilities are the shares of characters that are right (Guo et al., 2017).

    Example:

    ```python
    >>> from atenta import AtentaEncoderConfig, AtentaEncoderModel

    >>> config = AtentaEncoderConfig(hidden_size=128, num_attention_heads=4, intermediate_size=512)
    >>> model = AtentaEncoderModel(config)
    ```
    """

    model_type = "atenta_encoder"

    num_hidden_layers: int = 6
    type_vocab_size: int = 2
    classifier_dropout: float | int | None = None
    ngram_sizes: list[int] | None = None
    ngram_buckets: int = 16384
    shared_ngram_sizes: list[int] | None = None
    conv_kernel_size: int | None = None
    downsampling_rate: int | None = None
    downsampling_size: int | None = None
    downsampling_heads: int | None = None
    downsampling_layers: int | None = None
    num_words: int = 0
    character_variants: dict[str, str | list[str]] | None = None
    spellings_file: str | None = None
    window_length: int | None = None
    confidence_temperature: float | int = 1.0

    def validate_architecture(self) -> None:
        """Check the values, as in [`AtentaTransformerConfig`].

        Raises:
            ValueError: If `type_vocab_size` is negative, `character_variants` are not UTF-8 text or have no
                `window_length`, `spellings_file` is not the name of a text file, n-grams, convolution or pooled
                blocks have impossible sizes, or as in [`AtentaTransformerConfig`].
        """
        super().validate_architecture()
        self._validate_variants()
        self._validate_local_context()
        self._validate_downsampling()
        self._validate_count("type_vocab_size", 0, hint=" (no segments)")

    def _validate_local_context(self) -> None:
        for name in ("ngram_sizes", "shared_ngram_sizes"):
            sizes = getattr(self, name)
            if sizes is None:
                continue
            if len(set(sizes)) < len(sizes) or not sizes or min(sizes) < 1 or max(sizes) > MOST_NEIGHBOURS:
                raise ValueError(
                    f"{name}={sizes!r:.200}; expected different numbers of tokens from 1 to {MOST_NEIGHBOURS}, "
                    "such as [2, 3, 4]."
                )
        if self.shared_ngram_sizes and self.type_vocab_size < 2:
            raise ValueError(
                f"shared_ngram_sizes compare two segments, and type_vocab_size={self.type_vocab_size}; expected 2."
            )
        self._validate_count("ngram_buckets", 1, LARGEST_POSITION)
        self._validate_count("num_words", 0, LARGEST_POSITION, " (no words)")

    def downsampling_sizes(self) -> tuple[int, int, int]:
        """Return width, number of heads and number of the blocks that read pooled tokens, with their defaults."""
        return (
            self.hidden_size if self.downsampling_size is None else self.downsampling_size,
            self.num_attention_heads if self.downsampling_heads is None else self.downsampling_heads,
            6 if self.downsampling_layers is None else self.downsampling_layers,
        )

    def _validate_downsampling(self) -> None:
        self._validate_count("downsampling_rate", 2, MOST_NEIGHBOURS)
        self._validate_count("downsampling_size", 1)
        self._validate_count("downsampling_heads", 1)
        self._validate_count("downsampling_layers", 1, MOST_LAYERS)
        if self.downsampling_rate is None:
            for name in ("downsampling_size", "downsampling_heads", "downsampling_layers"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name}={getattr(self, name)} is for pooled tokens, and downsampling_rate is not set; "
                        "expected a rate, such as 4."
                    )
            return
        size, heads, _ = self.downsampling_sizes()
        if size % heads:
            raise ValueError(
                f"downsampling_heads={heads} does not divide downsampling_size={size}; expected a divisor."
            )
        if self.position_embedding_type == "rotary" and size // heads % 2:
            raise ValueError(
                f"downsampling_size / downsampling_heads = {size // heads} is odd; expected an even number for rotary "
                "positions, which rotate pairs of numbers."
            )

    def _validate_variants(self) -> None:
        self._validate_count("window_length", 1, hint=" character")
        if self.spellings_file is not None and not _TEXT_FILE.fullmatch(self.spellings_file):
            raise ValueError(
                f"spellings_file={self.spellings_file!r:.200}; expected the name of a text file beside the weights, "
                "such as 'spellings.txt'."
            )
        least, largest = _TEMPERATURES
        if not least <= self.confidence_temperature <= largest:
            raise ValueError(
                f"confidence_temperature={self.confidence_temperature!r:.200}; expected a finite number above 0, from "
                f"{least} to {largest}."
            )
        if self.character_variants is None:
            return
        if self.window_length is None:
            raise ValueError("character_variants need a window_length, the number of characters read at a time.")
        if not self.character_variants:
            raise ValueError("character_variants={}; expected a character or more, or null for a tagger of words.")
        labels = set(self.id2label.values())
        for index, label in self.id2label.items():
            if not _is_text(label):
                raise ValueError(f"id2label has {index}: {label!r:.80}; expected a text of UTF-8, as in the variants.")
        for character, variants in self.character_variants.items():
            is_character = len(character) == 1 and _is_text(character)
            if not is_character or not variants or not set(variants) <= labels:
                raise ValueError(
                    f"character_variants has {character!r:.80}: {variants!r:.80}; expected one character, and one or "
                    f"more variants that are labels: {sorted(labels)!r:.200}."
                )


def _is_text(text: str) -> bool:
    """Return whether UTF-8 has all characters of a text: it has no surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
