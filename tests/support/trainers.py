"""Trainers of tiny models over random texts, made as the recipes make them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, PreTrainedTokenizerBase

from atenta import AtentaTokenizer
from atenta.modeling import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.training import RecipeArguments, RecipeTrainer, Seq2SeqRecipeArguments, Seq2SeqRecipeTrainer
from support.models import tiny_model

ALPHABET = "abcdefghijklmnop"
DEPTHS = {
    AtentaDecoderForCausalLM: {"num_hidden_layers": 1},
    AtentaEncoderDecoderForConditionalGeneration: {"encoder_layers": 1, "decoder_layers": 1},
}


def tiny_tokenizer(family: str = "encoder-decoder") -> PreTrainedTokenizerBase:
    """A tokenizer of sixteen letters."""
    return AtentaTokenizer.from_texts([ALPHABET], family=family)


def random_pairs(lengths: Iterable[tuple[int, int]], seed: int = 0) -> Dataset:
    """Rows of `input_ids` and `labels` of random letters, (source, target) tokens long, each with its `<eos>`."""
    tokenizer, generator = tiny_tokenizer(), torch.Generator().manual_seed(seed)
    letters = torch.tensor(tokenizer.convert_tokens_to_ids(list(ALPHABET)))

    def text(length):
        drawn = torch.randint(len(letters), (length - 1,), generator=generator)
        return [*letters[drawn].tolist(), tokenizer.eos_token_id]

    return Dataset.from_list([{"input_ids": text(source), "labels": text(target)} for source, target in lengths])


def random_texts(lengths: Iterable[int], seed: int = 0) -> Dataset:
    """Rows for a decoder, which predicts all but the first of its `input_ids`."""
    rows = random_pairs([(length, 1) for length in lengths], seed)
    return Dataset.from_list([{**row, "labels": [-100, *row["input_ids"][1:]]} for row in rows])


def tiny(model_class: type[PreTrainedModel], **options: Any) -> PreTrainedModel:
    """A model of one block in each stack, with the same weights at every call; its outputs end after eight tokens."""
    sizes = {"vocab_size": len(tiny_tokenizer()), "hidden_size": 16, "intermediate_size": 24, **DEPTHS[model_class]}
    model = tiny_model(model_class, **(sizes | options))
    model.generation_config.max_length = 8
    return model


def trainer_of(
    folder: Path,
    rows: Mapping[str, Any],
    model: PreTrainedModel | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    **training: Any,
) -> RecipeTrainer:
    """A trainer of an encoder-decoder, or of the model given, that writes no checkpoints unless told.

    Args:
        folder: its output folder.
        rows: `train` and, where it evaluates, `validation`.
        model: what is trained.
        options: of the trainer, besides.
        training: of `RecipeArguments`, besides.
    """
    model = tiny(AtentaEncoderDecoderForConditionalGeneration) if model is None else model
    defaults = {"learning_rate": 0.01, "lr_scheduler_type": "constant", "warmup_steps": 0, "logging_steps": 1}
    defaults |= {"save_strategy": "no", "use_cpu": True, "report_to": "none", "disable_tqdm": True}
    rows = {"train": rows["train"], "validation": rows.get("validation")}
    if model.config.is_encoder_decoder:
        arguments = Seq2SeqRecipeArguments(output_dir=str(folder), **(defaults | training))
        tokenizer = tiny_tokenizer()
        parts = {"data_collator": DataCollatorForSeq2Seq(tokenizer, model), "length_columns": ("input_ids", "labels")}
        return Seq2SeqRecipeTrainer(model, arguments, tokenizer, rows, **(parts | dict(options or {})))
    tokenizer = tiny_tokenizer("decoder")
    arguments = RecipeArguments(output_dir=str(folder), **(defaults | training))
    parts = {"data_collator": DataCollatorForSeq2Seq(tokenizer)}
    return RecipeTrainer(model, arguments, tokenizer, rows, **(parts | dict(options or {})))
