"""Tiny models saved with the tokenizer of their family, as by a recipe, and changes in what is saved."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from atenta import AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from support.models import double_model, tiny_model


def edit_json(path: Path, **changes: Any) -> dict[str, Any]:
    """Change values of a JSON file, and return what they were, `None` if there were none."""
    saved = json.loads(path.read_bytes())
    path.write_text(json.dumps(saved | changes), encoding="utf-8")
    return {key: saved.get(key) for key in changes}


def tokenizer_of(
    model_class: type[PreTrainedModel], texts: Sequence[str] | None = None, tags: Sequence[str] = ()
) -> AtentaTokenizer:
    """Return a tokenizer of a model's family, for the characters of the texts or for the default alphabet."""
    family = model_class.config_class.model_type.removeprefix("atenta_").replace("_", "-")
    family = "decoder" if family == "pair-votes" else family
    if texts is None:
        return AtentaTokenizer.from_alphabet(family=family)
    return AtentaTokenizer.from_texts(texts, family=family, tags=list(tags))


def save(model: PreTrainedModel, tokenizer: AtentaTokenizer, folder: Path) -> PreTrainedModel:
    """Save a model with its tokenizer, and return the model."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def save_with_tokenizer(model_class: type[PreTrainedModel], folder: Path, **options) -> PreTrainedModel:
    """Save a tiny model for the default alphabet with its tokenizer, and return the model."""
    tokenizer = tokenizer_of(model_class)
    return save(tiny_model(model_class, vocab_size=len(tokenizer), **options), tokenizer, folder)


def save_pairs(
    folder: Path, seed: int = 1, alphabet: str = 'abcdefimrsuv "\n', tags: Sequence[str] = ("<PL>",), **options
) -> Path:
    """Save a tiny encoder-decoder in float64 with its tokenizer, as a recipe does, and return the folder."""
    tokenizer = tokenizer_of(AtentaEncoderDecoderForConditionalGeneration, [alphabet], tags)
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "encoder_layers": 1, "decoder_layers": 1}
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, seed, **(sizes | options))
    with torch.no_grad():  # bytes that are not valid text would be replaced in the output
        model.lm_head.bias[[i for token, i in tokenizer.get_vocab().items() if token.startswith("<")]] = -100
        model.lm_head.bias[tokenizer.eos_token_id] = 0.5
    model.generation_config.max_length = 8
    save(model, tokenizer, folder)
    return folder
