"""Tiny models of few characters, saved with their tokenizers, as the tests of the engines export them."""

from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from atenta import (
    AtentaDecoderForSequenceClassification,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from support.models import ALL_LAYOUTS, named, tiny_model
from support.saved import save, tokenizer_of

CHARACTERS = "abceo çãáàâéêíóõÃÉ.,\u0303"
TAG = "<PL>"
# All heads; the first five and the models that generate have all layouts and options. The blocks of the tagger are
# larger than the rest of it, and its weights not as large as those of other tiny models, which int8 rounds badly.
HEADS = {
    AtentaEncoderForPreTraining: {**ALL_LAYOUTS[3], "tie_word_embeddings": True},
    AtentaEncoderForSequenceClassification: {
        **{**ALL_LAYOUTS[4], "head_dim": 6, "type_vocab_size": 0, "conv_kernel_size": 3},
    },
    AtentaEncoderForTokenClassification: {
        **{**ALL_LAYOUTS[5], "attention_bias": True, "hidden_act": "gelu"},
        **{"hidden_size": 96, "intermediate_size": 768, "initializer_range": 0.05},
    },
    AtentaEncoderForQuestionAnswering: {
        **{**ALL_LAYOUTS[0], "scale_embedding": False},
        **{"shared_ngram_sizes": [1, 3], "ngram_sizes": [2], "ngram_buckets": 64},
    },
    AtentaDecoderForSequenceClassification: ALL_LAYOUTS[1],
    AtentaEncoderModel: ALL_LAYOUTS[0],
    AtentaEncoderForMaskedLM: ALL_LAYOUTS[2],
    AtentaEncoderForNextSentencePrediction: ALL_LAYOUTS[2],
}


SLOW_HEADS = (AtentaEncoderModel, AtentaEncoderForMaskedLM, AtentaEncoderForNextSentencePrediction)
every_head = pytest.mark.parametrize(
    "model_class",
    [
        *named([each for each in HEADS if each not in SLOW_HEADS]),
        *(pytest.param(each, marks=pytest.mark.slow, id=each.__name__.removeprefix("Atenta")) for each in SLOW_HEADS),
    ],
)


def save_head(model_class: type[PreTrainedModel], folder: Path, **options) -> PreTrainedModel:
    """Save a tiny model that does not generate, with the options of [`HEADS`], and return it."""
    tokenizer = tokenizer_of(model_class, [CHARACTERS])
    options = {"num_hidden_layers": 1, "num_labels": 3} | HEADS[model_class] | options
    return save(tiny_model(model_class, vocab_size=len(tokenizer), **options), tokenizer, folder)


def save_lively(model_class: type[PreTrainedModel], folder: Path, seed: int = 0, **options) -> PreTrainedModel:
    """Save a tiny model that generates, and return it. It writes mostly characters, and sometimes `<eos>`."""
    tags = [TAG] if model_class.config_class.is_encoder_decoder else []
    tokenizer = tokenizer_of(model_class, [CHARACTERS], tags)
    if tags:
        options["tag_token_ids"] = tokenizer.convert_tokens_to_ids(tags)
    model = tiny_model(model_class, seed, vocab_size=len(tokenizer), initializer_range=0.4, **options)
    with torch.no_grad():
        model.lm_head.bias[tokenizer.convert_tokens_to_ids(list(CHARACTERS))] += 8
        model.lm_head.bias[tokenizer.eos_token_id] += 10
    return save(model, tokenizer, folder)
