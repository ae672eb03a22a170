"""Configuration of the encoder family."""

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

    def validate_architecture(self) -> None:
        """Check the values, as in [`AtentaTransformerConfig`].

        Raises:
            ValueError: If `type_vocab_size` is negative, or as in [`AtentaTransformerConfig`].
        """
        super().validate_architecture()
        if self.type_vocab_size < 0:
            raise ValueError(f"type_vocab_size={self.type_vocab_size}; expected 0 (no segments) or more.")
