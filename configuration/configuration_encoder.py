"""Configuration of the encoder family."""

import math

from huggingface_hub.dataclasses import strict

from .configuration_transformer import AtentaTransformerConfig


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
        num_words (`int`, defaults to 0): number of words that pre-training predicts as a whole, besides characters.
        character_variants (`dict[str, str]`, *optional*): for a tagger of characters, the characters that each
            character with a choice may become, such as `{"a": "aàáâã", "e": "eéê"}`; all others never change.
        spellings_file (`str`, *optional*): file beside the weights with the spellings of words that a tagger of
            characters reads.
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
    num_words: int = 0
    character_variants: dict[str, str] | None = None
    spellings_file: str | None = None
    window_length: int | None = None
    confidence_temperature: float | int = 1.0

    def validate_architecture(self) -> None:
        """Check the values, as in [`AtentaTransformerConfig`].

        Raises:
            ValueError: If `type_vocab_size` is negative, `character_variants` are not characters or have no
                `window_length`, n-grams or convolution have impossible sizes, or as in [`AtentaTransformerConfig`].
        """
        super().validate_architecture()
        self._validate_variants()
        self._validate_local_context()
        if self.type_vocab_size < 0:
            raise ValueError(f"type_vocab_size={self.type_vocab_size}; expected 0 (no segments) or more.")

    def _validate_local_context(self) -> None:
        for name in ("ngram_sizes", "shared_ngram_sizes"):
            sizes = getattr(self, name)
            if sizes is not None and (len(set(sizes)) < len(sizes) or not sizes or min(sizes) < 1):
                raise ValueError(f"{name}={sizes}; expected different numbers of tokens from 1, such as [2, 3, 4].")
        if self.shared_ngram_sizes and self.type_vocab_size < 2:
            raise ValueError(
                f"shared_ngram_sizes compare two segments, and type_vocab_size={self.type_vocab_size}; expected 2."
            )
        if self.ngram_buckets < 1:
            raise ValueError(f"ngram_buckets={self.ngram_buckets}; expected at least 1 vector.")
        kernel = self.conv_kernel_size
        if kernel is not None and (kernel < 1 or kernel % 2 == 0):
            raise ValueError(f"conv_kernel_size={kernel}; expected an odd number of tokens, such as 7.")
        if self.num_words < 0:
            raise ValueError(f"num_words={self.num_words}; expected 0 (no words) or more.")

    def _validate_variants(self) -> None:
        if self.window_length is not None and self.window_length < 1:
            raise ValueError(f"window_length={self.window_length}; expected at least 1 character.")
        if not 0 < self.confidence_temperature < math.inf:
            raise ValueError(
                f"confidence_temperature={self.confidence_temperature}; expected a finite number above 0."
            )
        if self.character_variants is None:
            return
        if self.window_length is None:
            raise ValueError("character_variants need a window_length, the number of characters read at a time.")
        labels = set(self.id2label.values())
        for character, variants in self.character_variants.items():
            if len(character) != 1 or not variants or not set(variants) <= labels:
                raise ValueError(
                    f"character_variants has {character!r}: {variants!r}; expected one character, and one or more "
                    f"that are labels: {''.join(sorted(labels))!r:.200}."
                )
