"""What the three families have in common: names, defaults and checks of the hyper-parameters."""

from dataclasses import fields
from difflib import get_close_matches
from typing import Literal

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig


@strict
class AtentaConfig(PreTrainedConfig):
    r"""Hyper-parameters shared by the encoder, the decoder and the encoder-decoder.

    The defaults are the base model of document 4 (Vaswani et al., 2017, table 3): 6 layers, width 512, 8 heads,
    feed-forward width 2048, dropout 0.1, ReLU, LayerNorm after the residual, sinusoidal positions.

    Args:
        vocab_size (`int`, defaults to 420): number of tokens; the default is the default tokenizer's.
        hidden_size (`int`, defaults to 512): width of the vectors between blocks, d_model in the documents.
        num_attention_heads (`int`, defaults to 8): heads of each attention layer.
        head_dim (`int`, *optional*): width of a head; `hidden_size / num_attention_heads` unless given.
        intermediate_size (`int`, defaults to 2048): inner width of the feed-forward network, d_ff in the documents.
        hidden_act (`str`, defaults to `"relu"`): any name of transformers' `ACT2FN`; document 1 names `"relu"`,
            `"gelu"` (exact) and `"gelu_pytorch_tanh"` (the tanh approximation).
        dropout (`float`, defaults to 0.1): probability on the output of each sub-layer and on the embeddings.
        attention_dropout (`float`, defaults to 0.0): probability on the attention weights.
        layer_norm_eps (`float`, defaults to 1e-5): added to the variance in LayerNorm.
        norm_first (`bool`, defaults to `False`): LayerNorm before each sub-layer, with a final norm after the last
            block, instead of after each residual sum (the name and meaning of `torch.nn.TransformerEncoderLayer`).
        position_embedding_type (`"sinusoidal"`, `"learned"` or `"rotary"`, defaults to `"sinusoidal"`): sinusoidal
            (document 3) and learned positions are added to the embeddings; rotary ones (Su et al., 2021) turn the
            queries and keys of self-attention.
        position_embedding_theta (`float`, defaults to 10000.0): base of the sinusoidal and rotary wavelengths.
        max_position_embeddings (`int`, defaults to 1024): rows of the table of learned positions. Sinusoidal and
            rotary positions have no such limit.
        scale_embedding (`bool`, defaults to `True`): multiply token embeddings by the square root of `hidden_size`.
        attention_bias (`bool`, defaults to `False`): biases in the query, key, value and output projections.
        initializer_range (`float`, defaults to 0.02): standard deviation of the initial weights.
        tie_word_embeddings (`bool`, defaults to `False`): the output layer shares its matrix with the embeddings.
        pad_token_id, bos_token_id, eos_token_id (`int`, default to 0, 1 and 2): ids of `<pad>`, `<bos>`, `<eos>`.

    Raises:
        StrictDataclassError, ValueError: a value of the wrong type or outside its range, heads that do not divide the
            width, an odd width for sinusoidal or rotary positions, a special id outside the vocabulary, an unknown
            activation, or a misspelt option. The message says what was given and what is allowed.
    """

    vocab_size: int = 420
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
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2

    def __post_init__(self, **kwargs):
        self._reject_misspelt_options(kwargs)
        if self.head_dim is None:
            if self.num_attention_heads < 1 or self.hidden_size % self.num_attention_heads:
                raise ValueError(
                    f"num_attention_heads={self.num_attention_heads} does not divide hidden_size={self.hidden_size}: "
                    "choose a divisor, or give head_dim."
                )
            self.head_dim = self.hidden_size // self.num_attention_heads
        super().__post_init__(**kwargs)

    def _reject_misspelt_options(self, options: dict) -> None:
        # transformers keeps options that it does not know, so that `hiden_size=64` would build the default model.
        known = [field.name for field in fields(self)]
        for name in options.keys() - self.attribute_map.keys():
            if close := get_close_matches(name, known, n=1, cutoff=0.9):
                raise ValueError(f"{type(self).__name__} has no option {name!r}. Did you mean {close[0]!r}?")

    def validate_architecture(self) -> None:
        """Check what involves values rather than types. Called by `@strict` after construction.

        Raises:
            ValueError: as described in the class docstring.
        """
        for name in self._sizes():
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: it must be at least 1.")
        for name in ("dropout", "attention_dropout", "classifier_dropout"):
            probability = getattr(self, name, None)
            if probability is not None and not 0 <= probability < 1:
                raise ValueError(f"{name}={probability}: a probability from 0 up to, not including, 1 is needed.")
        for name in ("layer_norm_eps", "position_embedding_theta", "initializer_range"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)}: it must be above 0.")
        if self.position_embedding_type == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(
                f"hidden_size={self.hidden_size} is odd: sinusoidal positions need sine and cosine pairs."
            )
        if self.position_embedding_type == "rotary" and self.head_dim % 2:
            raise ValueError(f"head_dim={self.head_dim} is odd: rotary positions turn pairs of numbers.")
        self._validate_activation()
        self._validate_special_ids()

    def _sizes(self) -> tuple[str, ...]:
        """Names of the options that count something."""
        return (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "head_dim",
            "intermediate_size",
            "max_position_embeddings",
        )

    def _validate_activation(self) -> None:
        from transformers.activations import ACT2FN  # imports torch, which a configuration alone does not need

        if self.hidden_act not in ACT2FN:
            raise ValueError(f"hidden_act={self.hidden_act!r} is unknown. Allowed: {', '.join(sorted(ACT2FN))}.")

    def _validate_special_ids(self) -> None:
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
            ids = getattr(self, name, None)
            for token_id in ids if isinstance(ids, list) else [ids]:
                if token_id is not None and not 0 <= token_id < self.vocab_size:
                    raise ValueError(
                        f"{name}={token_id} is outside the vocabulary: ids run from 0 to {self.vocab_size - 1}."
                    )
