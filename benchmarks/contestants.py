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
from benchmarks.measuring import FIRST_CHARACTER, OURS, VOCABULARY, Settings, Size
from benchmarks.plain_torch import TorchCausalModel, TorchMaskedModel, TorchTranslationModel

SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Contestant:
    """A model that can be built in any size.

    Attributes:
        name: Name in the tables.
        build: Builds the model from a size, a number of positions and options.
        without_dropout: Options that remove all dropout; empty if the model has none.
        same_dropout: Options that leave dropout 0.1 only where ours has it, on the embeddings and on the output of
            each sub-layer; empty if that is the default, or if the model has no dropout.
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


def _single_stack(
    model_class: type,
    config_class: type,
    size: Size,
    positions: int = 512,
    share_of_inner: tuple[int, int] = (1, 1),
    **options: Any,
) -> nn.Module:
    above, below = share_of_inner
    config = config_class(
        vocab_size=VOCABULARY,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner * above // below,
        max_position_embeddings=positions,
        **SPECIAL,
        **options,
    )
    return model_class(config)


# Its feed-forward network has three matrices: two thirds of the width give the same size (Touvron et al., 2023).
_llama = partial(_single_stack, LlamaForCausalLM, LlamaConfig, share_of_inner=(2, 3))


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


NO_DROPOUT = {"dropout": 0.0}

DECODERS = (
    Contestant(OURS, _atenta(AtentaDecoderForCausalLM, AtentaDecoderConfig, "num_hidden_layers"), NO_DROPOUT),
    Contestant(
        "GPT-2", _gpt2, {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}, same_dropout={"attn_pdrop": 0.0}
    ),
    Contestant("Llama", _llama),
)
ENCODERS = (
    Contestant(OURS, _atenta(AtentaEncoderForMaskedLM, AtentaEncoderConfig, "num_hidden_layers"), NO_DROPOUT),
    Contestant(
        "BERT",
        partial(_single_stack, BertForMaskedLM, BertConfig),
        {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        same_dropout={"attention_probs_dropout_prob": 0.0},
    ),
)
TAGGERS = (
    Contestant(OURS, _atenta(AtentaEncoderForTokenClassification, AtentaEncoderConfig, "num_hidden_layers")),
    Contestant("BERT", partial(_single_stack, BertForTokenClassification, BertConfig)),
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
        NO_DROPOUT,
    ),
    Contestant("BART", _bart, NO_DROPOUT),  # dropout is where ours is by default
)

DECODING_CONTESTANTS = {"decoder": DECODERS, "encoder-decoder": ENCODER_DECODERS}
# torch's own stacks decode without a cache, so they only compete in training.
TRAINING_CONTESTANTS = {
    "decoder": (*DECODERS, Contestant("torch.nn", TorchCausalModel, NO_DROPOUT)),
    "encoder": (*ENCODERS, Contestant("torch.nn", TorchMaskedModel, NO_DROPOUT)),
    "encoder-decoder": (*ENCODER_DECODERS, Contestant("torch.nn", TorchTranslationModel, NO_DROPOUT)),
}


def ready_to_generate(contestant: Contestant, size: Size, settings: Settings, positions: int = 512) -> nn.Module:
    """Return a model in evaluation mode on the device, whose texts are not ended by `<eos>`."""
    model = contestant.build(size, positions).to(settings.device, settings.dtype).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def bind_generate(model: nn.Module, **options: object) -> Callable[..., torch.Tensor]:
    """Return `model.generate` without sampling, called with ids and a mask as a tokenizer returns them."""

    def generate(ids: torch.Tensor, max_new_tokens: int, **more: object) -> torch.Tensor:
        return model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=max_new_tokens,
            do_sample=False,
            **options,
            **more,
        )

    return generate


def draw_ids(settings: Settings, sequences: int, length: int) -> torch.Tensor:
    """Return random ids of characters, (sequences, length), the same at each call."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(FIRST_CHARACTER, VOCABULARY, (sequences, length), generator=generator).to(settings.device)
