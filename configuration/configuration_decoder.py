"""Configuration of the decoder family."""

from huggingface_hub.dataclasses import strict

from .configuration_transformer import AtentaTransformerConfig


@strict
class AtentaDecoderConfig(AtentaTransformerConfig):
    r"""Hyper-parameters of a decoder (document 4; GPT: Radford et al., 2018).

    For the other options, see [`AtentaTransformerConfig`].

    Args:
        num_hidden_layers (`int`, defaults to 6): number of blocks.
        use_cache (`bool`, defaults to `True`): return the keys and values of past positions for generation.
        classifier_dropout (`float`, *optional*): dropout probability before a classification head; defaults to
            `dropout`.

    Example:

    ```python
    >>> from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM

    >>> config = AtentaDecoderConfig(hidden_size=128, num_attention_heads=4, position_embedding_type="rotary")
    >>> model = AtentaDecoderForCausalLM(config)
    ```
    """

    model_type = "atenta_decoder"
    keys_to_ignore_at_inference = ["past_key_values", "cache"]  # two names of one output

    num_hidden_layers: int = 6
    use_cache: bool = True
    classifier_dropout: float | int | None = None
