"""Configuration of the encoder-decoder family."""

from huggingface_hub.dataclasses import strict

from .configuration_transformer import AtentaTransformerConfig


@strict
class AtentaEncoderDecoderConfig(AtentaTransformerConfig):
    r"""Hyper-parameters of an encoder-decoder (documents 3 and 4; Vaswani et al., 2017).

    For the other options, see [`AtentaTransformerConfig`]. Source and target share one vocabulary.
    `num_hidden_layers` is another name for `encoder_layers`, as in BART.

    Args:
        encoder_layers (`int`, defaults to 6): number of encoder blocks.
        decoder_layers (`int`, defaults to 6): number of decoder blocks.
        use_cache (`bool`, defaults to `True`): return the keys and values of past positions for generation.
        decoder_start_token_id (`int`, defaults to 1): first token that the decoder reads; `<bos>` in document 3.

    Example:

    ```python
    >>> from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration

    >>> config = AtentaEncoderDecoderConfig(hidden_size=128, num_attention_heads=4, encoder_layers=4, decoder_layers=2)
    >>> model = AtentaEncoderDecoderForConditionalGeneration(config)
    ```
    """

    model_type = "atenta_encoder_decoder"
    keys_to_ignore_at_inference = ["past_key_values"]
    attribute_map = {"num_hidden_layers": "encoder_layers"}

    encoder_layers: int = 6
    decoder_layers: int = 6
    use_cache: bool = True
    decoder_start_token_id: int | None = 1
    is_encoder_decoder: bool = True

    def _sizes(self) -> tuple[str, ...]:
        return (*super()._sizes(), "decoder_layers")
