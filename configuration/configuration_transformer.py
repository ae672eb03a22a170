"""Configuration shared by the three Transformer families: names, defaults and checks of the hyper-parameters."""

from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from .configuration_base import LARGEST_SIZE, AtentaConfig

MOST_LAYERS = 1000  # in a stack; the deepest published Transformers have as many (Wang et al., 2024, "DeepNet")
MOST_NEIGHBOURS = 1000  # tokens of an n-gram or a convolution
LARGEST_POSITION = 100_000_000
# The ranges in which float32 neither overflows nor underflows.
_FINITE = (("layer_norm_eps", 1e-30, 1.0), ("position_embedding_theta", 1e-3, 1e12), ("initializer_range", 1e-30, 1e6))

# How tensor parallelism splits a stack of blocks. Each process holds some heads, some columns of the feed-forward
# network and the embeddings of some tokens. The output layer, which may be tied to the embeddings, is split by tokens
# too; its plan is in the models that have one.
STACK_PLAN = {
    "embeddings.embed_tokens": "embedding_rowwise",
    "layers.*.self_attn.q_proj": "colwise",
    "layers.*.self_attn.k_proj": "colwise",
    "layers.*.self_attn.v_proj": "colwise",
    "layers.*.self_attn.o_proj": "rowwise",
    "layers.*.feed_forward.up_proj": "colwise",
    "layers.*.feed_forward.down_proj": "rowwise",
}


@strict
class AtentaTransformerConfig(AtentaConfig):
    r"""Hyper-parameters shared by the encoder, the decoder and the encoder-decoder.

    The defaults are the base model of document 4 (Vaswani et al., 2017, table 3): 6 layers, width 512, 8 heads,
    feed-forward width 2048, dropout 0.1, ReLU, LayerNorm after the residual, sinusoidal positions. For the
    vocabulary's options, see [`AtentaConfig`]. Widths and numbers of heads are at most 1,000,000, layers 1,000 and
    learned positions 100,000,000, so that a damaged configuration is refused before memory is taken.

    Args:
        hidden_size (`int`, defaults to 512): width of the vectors between blocks; d_model in the documents.
        num_attention_heads (`int`, defaults to 8): number of heads in each attention layer.
        head_dim (`int`, *optional*): width of a head; defaults to `hidden_size / num_attention_heads`.
        intermediate_size (`int`, defaults to 2048): inner width of the feed-forward network; d_ff in the documents.
        hidden_act (`str`, defaults to `"relu"`): any name in transformers' `ACT2FN`; document 1 names `"relu"`,
            `"gelu"` (exact) and `"gelu_pytorch_tanh"` (the tanh approximation).
        dropout (`float`, defaults to 0.1): dropout probability on the output of each sub-layer and on the embeddings.
        attention_dropout (`float`, defaults to 0.0): dropout probability on the attention weights.
        layer_norm_eps (`float`, defaults to 1e-5): constant added to the variance in LayerNorm.
        norm_first (`bool`, defaults to `False`): apply LayerNorm before each sub-layer, with a final LayerNorm after
            the last block, instead of after each residual sum (the name and meaning of
            `torch.nn.TransformerEncoderLayer`).
        position_embedding_type (`"sinusoidal"`, `"learned"` or `"rotary"`, defaults to `"sinusoidal"`): sinusoidal
            (document 3) and learned positions are added to the embeddings; rotary positions (Su et al., 2021) rotate
            the queries and keys of self-attention.
        position_embedding_theta (`float`, defaults to 10000.0): base of the sinusoidal and rotary wavelengths.
        max_position_embeddings (`int`, defaults to 1024): number of learned positions. Sinusoidal and rotary
            positions have no limit.
        scale_embedding (`bool`, defaults to `True`): multiply token embeddings by the square root of `hidden_size`.
        attention_bias (`bool`, defaults to `False`): biases in the query, key, value and output projections.
        initializer_range (`float`, defaults to 0.02): standard deviation of the initial weights.
        tie_word_embeddings (`bool`, defaults to `False`): share one matrix between the output layer and the
            embeddings.

    Raises:
        StrictDataclassError, ValueError: If a value has the wrong type or is out of range, the number of heads does
            not divide the width, the width is odd with sinusoidal or rotary positions, a special id is outside the
            vocabulary, the activation is unknown, or an option is misspelt. The message gives the value and what is
            allowed.
    """

    base_model_tp_plan = STACK_PLAN

    hidden_size: int = 512
    num_attention_heads: int = 8
    head_dim: int | None = None
    intermediate_size: int = 2048
    hidden_act: str = "relu"
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    layer_norm_eps: float = 1e-5
    norm_first: bool = False
    position_embedding_type: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    position_embedding_theta: float | int = 10000.0
    max_position_embeddings: int = 1024
    scale_embedding: bool = True
    attention_bias: bool = False
    initializer_range: float = 0.02
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.head_dim is None:
            if self.num_attention_heads < 1 or self.hidden_size % self.num_attention_heads:
                raise ValueError(
                    f"num_attention_heads={self.num_attention_heads} does not divide hidden_size={self.hidden_size}; "
                    "expected a divisor. Choose one, or give head_dim."
                )
            self.head_dim = self.hidden_size // self.num_attention_heads

    def validate_architecture(self) -> None:
        """Check the values, with the errors of the class docstring."""
        super().validate_architecture()
        for name in ("dropout", "attention_dropout", "classifier_dropout"):
            probability = getattr(self, name, None)
            if probability is not None and not 0 <= probability < 1:
                raise ValueError(f"{name}={probability}; expected a probability from 0 up to, but not including, 1.")
        for name, least, largest in _FINITE:
            if not least <= getattr(self, name) <= largest:
                value = getattr(self, name)
                raise ValueError(f"{name}={value}; expected a finite number above 0, from {least} to {largest}.")
        if self.position_embedding_type == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(
                f"hidden_size={self.hidden_size} is odd; expected an even number for sinusoidal positions, which pair "
                "sines with cosines."
            )
        if self.position_embedding_type == "rotary" and (self.head_dim or 0) % 2:
            raise ValueError(
                f"head_dim={self.head_dim} is odd; expected an even number for rotary positions, which rotate "
                "pairs of numbers."
            )
        kernel = getattr(self, "conv_kernel_size", None)
        if kernel is not None:  # of an encoder, alone or before a decoder
            if kernel < 1 or kernel % 2 == 0:
                raise ValueError(f"conv_kernel_size={kernel}; expected an odd number of tokens, such as 7.")
            self._validate_count("conv_kernel_size", 1, MOST_NEIGHBOURS)
        # Imported here because it imports torch, which configurations do not need.
        from transformers.activations import ACT2FN

        if self.hidden_act not in ACT2FN:
            raise ValueError(
                f"hidden_act={self.hidden_act!r} is unknown; expected one of {', '.join(sorted(ACT2FN))}."
            )

    def _sizes(self) -> dict[str, int]:
        widths = ("hidden_size", "num_attention_heads", "head_dim", "intermediate_size")
        return {
            **super()._sizes(),
            **dict.fromkeys(widths, LARGEST_SIZE),
            "num_hidden_layers": MOST_LAYERS,
            "max_position_embeddings": LARGEST_POSITION,
        }
