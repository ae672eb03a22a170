"""Configuration of the encoder-decoder family."""

import math
from typing import Any

from huggingface_hub.dataclasses import strict

from .configuration_transformer import MOST_LAYERS, STACK_PLAN, AtentaTransformerConfig


@strict
class AtentaEncoderDecoderConfig(AtentaTransformerConfig):
    r"""Hyper-parameters of an encoder-decoder (documents 3 and 4; Vaswani et al., 2017).

    For the other options, see [`AtentaTransformerConfig`]. Source and target share one vocabulary.
    `num_hidden_layers` is another name for `encoder_layers`, as in BART.

    Args:
        encoder_layers (`int`, defaults to 6): number of encoder blocks.
        decoder_layers (`int`, defaults to 6): number of decoder blocks.
        rotary_cross_attention (`bool`, *optional*): rotate the queries of cross-attention by their position in the
            target and its keys by their position in the source, so that the decoder can find its place in a source of
            any length. Defaults to whether positions are rotary. A configuration that was saved without this option
            means `False`.
        transducer (`bool`, defaults to `False`): read the source from left to right and write each token of the target
            at one place of it, as words and their phones allow, which have the same order.
        conv_kernel_size (`int`, *optional*): number of neighbouring source tokens, odd, that a convolution before the
            first block of the encoder reads.
        tag_token_ids (`list[int]`, *optional*): ids of feature tags. Tags have position 0 in the source, and its other
            tokens count from 1 (Wu et al., 2021, "Applying the Transformer to character-level transduction").
            By default tags count like any other token.
        window_length (`int`, *optional*): highest number of source tokens, `<eos>` included, of the windows in which
            a text is decoded by pipelines and engines: a length that training knew well. By default texts are never
            cut.
        length_ratios (`list[float]`, *optional*): lowest and highest ratio of target tokens to source tokens, `<eos>`
            included, of the training pairs. Outputs outside it are implausible.
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
    keys_to_ignore_at_inference = ["past_key_values", "cache"]  # two names of one output
    attribute_map = {"num_hidden_layers": "encoder_layers"}
    base_model_tp_plan = {
        name: style
        for layer, style in STACK_PLAN.items()
        for name in (f"encoder.{layer}", f"decoder.{layer}", f"decoder.{layer.replace('self_attn', 'cross_attn')}")
    }

    encoder_layers: int = 6
    decoder_layers: int = 6
    rotary_cross_attention: bool | None = None
    transducer: bool = False
    conv_kernel_size: int | None = None
    tag_token_ids: list[int] | None = None
    window_length: int | None = None
    length_ratios: list[float] | None = None
    use_cache: bool = True
    decoder_start_token_id: int | None = 1
    is_encoder_decoder: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.rotary_cross_attention is None:
            self.rotary_cross_attention = self.position_embedding_type == "rotary"

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Create a configuration from a saved one, as in transformers. Older ones had no rotary cross-attention."""
        return super().from_dict({"rotary_cross_attention": False, **config_dict}, **kwargs)

    def validate_architecture(self) -> None:
        """Check the values, as in [`AtentaTransformerConfig`].

        Raises:
            ValueError: If cross-attention is rotary and positions are not, a tag is outside the vocabulary, a
                transducer has not one `eos_token_id`, `window_length` is below 1, `length_ratios` are not a range, or
                as in [`AtentaTransformerConfig`].
        """
        super().validate_architecture()
        if self.rotary_cross_attention and self.position_embedding_type != "rotary":
            raise ValueError(
                f"rotary_cross_attention=True with position_embedding_type={self.position_embedding_type!r}; expected "
                "'rotary'. Choose rotary positions, or leave rotary_cross_attention out."
            )
        if self.transducer and type(self.eos_token_id) is not int:
            raise ValueError(
                f"transducer=True with eos_token_id={self.eos_token_id!r:.60}; expected one id, which leads on to the "
                "next place of the source."
            )
        self._validate_count("window_length", 1, hint=" token")
        ratios = self.length_ratios
        if ratios is not None and not (len(ratios) == 2 and 0 <= ratios[0] <= ratios[1] < math.inf):
            raise ValueError(
                f"length_ratios={ratios!r:.200}; expected two finite numbers, the lowest ratio of target tokens to "
                "source tokens and the highest."
            )

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "decoder_layers": MOST_LAYERS}
