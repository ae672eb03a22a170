"""The models that compete: ours and transformers', of the same sizes and a vocabulary of 128."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from atenta import (
    AtentaDecoderConfig,
    AtentaDecoderForCausalLM,
    AtentaEncoderConfig,
    AtentaEncoderDecoderConfig,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
)
from benchmarks import plain_torch
from benchmarks.results import OURS
from benchmarks.sizes import VOCABULARY, Size

SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Contestant:
    """A model that can be made of any size.

    Attributes:
        name: in the tables.
        build: makes it of a size, a number of positions and options.
        without_dropout: options that take every dropout out; empty where there is none.
        same_dropout: options that leave dropout 0.1 where ours has it, on embeddings and on what a sub-layer puts
            out; empty where that is the default, or where there is none.
    """

    name: str
    build: Callable[..., nn.Module]
    without_dropout: Mapping[str, Any] = field(default_factory=dict)
    same_dropout: Mapping[str, Any] = field(default_factory=dict)


def _atenta(model_class: type, config_class: type, *depths: str) -> Callable[..., nn.Module]:
    def build(size: Size, positions: int = 512, **options: Any) -> nn.Module:
        config = config_class(
            vocab_size=VOCABULARY,
            hidden_size=size.width,
            num_attention_heads=size.heads,
            intermediate_size=size.inner,
            **dict.fromkeys(depths, size.layers),
            **options,
        )
        return model_class(config)

    return build


def _gpt2(size: Size, positions: int = 512, **options: Any) -> nn.Module:
    sizes = {"n_embd": size.width, "n_layer": size.layers, "n_head": size.heads, "n_inner": size.inner}
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=positions, **sizes, **SPECIAL, **options))


def _llama(size: Size, positions: int = 512, **options: Any) -> nn.Module:
    # Its feed-forward network has three matrices: two thirds of the width make it as large (Touvron et al., 2023).
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner * 2 // 3,
        max_position_embeddings=positions,
        **SPECIAL,
        **options,
    )
    return LlamaForCausalLM(config)


def _bert(size: Size, positions: int = 512, **options: Any) -> nn.Module:
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner,
        max_position_embeddings=positions,
        **SPECIAL,
        **options,
    )
    return BertForMaskedLM(config)


def _bart(size: Size, positions: int = 512, **options: Any) -> nn.Module:
    stacks = {
        f"{stack}_{name}": value
        for stack in ("encoder", "decoder")
        for name, value in (("layers", size.layers), ("attention_heads", size.heads), ("ffn_dim", size.inner))
    }
    config = BartConfig(
        vocab_size=VOCABULARY,
        d_model=size.width,
        max_position_embeddings=positions,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        **stacks,
        **SPECIAL,
        **options,
    )
    return BartForConditionalGeneration(config)


NONE = {"dropout": 0.0}

DECODERS = (
    Contestant(OURS, _atenta(AtentaDecoderForCausalLM, AtentaDecoderConfig, "num_hidden_layers"), NONE),
    Contestant(
        "GPT-2", _gpt2, {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}, same_dropout={"attn_pdrop": 0.0}
    ),
    Contestant("Llama", _llama),
)
ENCODERS = (
    Contestant(OURS, _atenta(AtentaEncoderForMaskedLM, AtentaEncoderConfig, "num_hidden_layers"), NONE),
    Contestant(
        "BERT",
        _bert,
        {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        same_dropout={"attention_probs_dropout_prob": 0.0},
    ),
)
ENCODER_DECODERS = (
    Contestant(
        OURS,
        _atenta(
            AtentaEncoderDecoderForConditionalGeneration,
            AtentaEncoderDecoderConfig,
            "encoder_layers",
            "decoder_layers",
        ),
        NONE,
    ),
    Contestant("BART", _bart, NONE),  # its default dropout is where ours is
)

# torch's own stacks decode without a cache, and so only train.
TRAINED = {
    "decoder": (*DECODERS, Contestant("torch.nn", plain_torch.CausalModel, NONE)),
    "encoder": (*ENCODERS, Contestant("torch.nn", plain_torch.MaskedModel, NONE)),
    "encoder-decoder": (*ENCODER_DECODERS, Contestant("torch.nn", plain_torch.TranslationModel, NONE)),
}
