"""The models that are compared: ours, transformers' and torch's, with the same sizes and a vocabulary of 128."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
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
    AtentaEncoderForTokenClassification,
)
from benchmarks.measuring import FIRST_CHARACTER, OURS, POSITIONS, VOCABULARY, Settings, Size
from benchmarks.plain_torch import TorchModel

SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Contestant:
    """A model that can be built in any size.

    Attributes:
        name: Name in the tables.
        build: Builds the model from a size and options.
        without_dropout: Options that remove all dropout; empty if the model has none.
        same_dropout: Options that leave dropout 0.1 only where ours has it, on the embeddings and on the output of
            each sub-layer; empty if that is the default, or if the model has no dropout.
    """

    name: str
    build: Callable[..., nn.Module]
    without_dropout: Mapping[str, Any] = field(default_factory=dict)
    same_dropout: Mapping[str, Any] = field(default_factory=dict)


def _one_stack(size: Size) -> dict[str, int]:
    return {"num_hidden_layers": size.layers, "num_attention_heads": size.heads, "intermediate_size": size.inner}


def _two_stacks(size: Size) -> dict[str, int]:
    sizes = {"layers": size.layers, "attention_heads": size.heads, "ffn_dim": size.inner}
    return {f"{stack}_{name}": value for stack in ("encoder", "decoder") for name, value in sizes.items()}


def _builder(
    model_class: type, config_class: type, sizes_of: Callable[[Size], dict[str, int]] = _one_stack, **fixed: Any
) -> Callable[..., nn.Module]:
    def build(size: Size, **options: Any) -> nn.Module:
        sizes = {"hidden_size": size.width, "max_position_embeddings": POSITIONS, **sizes_of(size)}
        return model_class(config_class(vocab_size=VOCABULARY, **sizes, **SPECIAL, **fixed, **options))

    return build


NO_DROPOUT = {"dropout": 0.0}
_BERT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

DECODERS = (
    Contestant(OURS, _builder(AtentaDecoderForCausalLM, AtentaDecoderConfig), NO_DROPOUT),
    Contestant(
        "GPT-2",
        _builder(GPT2LMHeadModel, GPT2Config, lambda size: _one_stack(size) | {"n_inner": size.inner}),
        {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0},
        same_dropout={"attn_pdrop": 0.0},
    ),
    # Its feed-forward network has three matrices: two thirds of the width give the same size (Touvron et al., 2023).
    Contestant(
        "Llama",
        _builder(
            LlamaForCausalLM, LlamaConfig, lambda size: _one_stack(size) | {"intermediate_size": size.inner * 2 // 3}
        ),
    ),
)
ENCODERS = (
    Contestant(OURS, _builder(AtentaEncoderForMaskedLM, AtentaEncoderConfig), NO_DROPOUT),
    Contestant(
        "BERT",
        _builder(BertForMaskedLM, BertConfig),
        _BERT_DROPOUT,
        same_dropout={"attention_probs_dropout_prob": 0.0},
    ),
)
TAGGERS = (
    Contestant(OURS, _builder(AtentaEncoderForTokenClassification, AtentaEncoderConfig)),
    Contestant("BERT", _builder(BertForTokenClassification, BertConfig)),
)
ENCODER_DECODERS = (
    Contestant(
        OURS,
        _builder(
            AtentaEncoderDecoderForConditionalGeneration,
            AtentaEncoderDecoderConfig,
            lambda size: _one_stack(size) | {"decoder_layers": size.layers},
        ),
        NO_DROPOUT,
    ),
    Contestant(  # dropout is where ours is by default
        "BART",
        _builder(
            BartForConditionalGeneration, BartConfig, _two_stacks, decoder_start_token_id=1, forced_eos_token_id=None
        ),
        NO_DROPOUT,
    ),
)

DECODING_CONTESTANTS = {"decoder": DECODERS, "encoder-decoder": ENCODER_DECODERS}
# torch's own stacks decode without a cache, so they only compete in training.
TRAINING_CONTESTANTS = {
    family: (*contestants, Contestant("torch.nn", partial(TorchModel, family), NO_DROPOUT))
    for family, contestants in {"decoder": DECODERS, "encoder": ENCODERS, "encoder-decoder": ENCODER_DECODERS}.items()
}


def ready_to_generate(contestant: Contestant, size: Size, settings: Settings) -> nn.Module:
    """Return a model in evaluation mode on the device, whose texts are not ended by `<eos>`."""
    model = contestant.build(size).to(settings.device, settings.dtype).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def draw_ids(settings: Settings, sequences: int, length: int) -> torch.Tensor:
    """Return random ids of characters, (sequences, length), the same at each call."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(FIRST_CHARACTER, VOCABULARY, (sequences, length), generator=generator).to(settings.device)
