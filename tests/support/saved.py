"""Tiny models saved with the tokenizer of their family, as by a recipe."""

from pathlib import Path

from transformers import PreTrainedModel

from atenta import AtentaTokenizer
from support.models import tiny_model


def save_with_tokenizer(model_class: type[PreTrainedModel], folder: Path, **options) -> PreTrainedModel:
    """Save a tiny model for the default alphabet with its tokenizer, and return the model."""
    family = model_class.config_class.model_type.removeprefix("atenta_").replace("_", "-")
    tokenizer = AtentaTokenizer.from_alphabet(family="decoder" if family == "pair-votes" else family)
    model = tiny_model(model_class, vocab_size=len(tokenizer), **options)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model
