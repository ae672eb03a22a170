"""Tiny models, random texts and trainers for them, created as in the recipes."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, PreTrainedTokenizerBase

from atenta import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.recipes.training.options import RecipeArguments, Seq2SeqRecipeArguments
from atenta.recipes.training.trainer import RecipeTrainer, Seq2SeqRecipeTrainer
from support.models import tiny_model

ALPHABET = "abcdefghijklmnop"
DEPTHS = {
    AtentaDecoderForCausalLM: {"num_hidden_layers": 1},
    AtentaEncoderDecoderForConditionalGeneration: {"encoder_layers": 1, "decoder_layers": 1},
}


def tiny_tokenizer(family: str = "encoder-decoder") -> PreTrainedTokenizerBase:
    """Return a tokenizer for sixteen letters."""
    return AtentaTokenizer.from_texts([ALPHABET], family=family)


def random_pairs(lengths: Iterable[tuple[int, int]], seed: int = 0) -> Dataset:
    """Return rows of random letters: `input_ids` and `labels` of the given (source, target) lengths with `<eos>`."""
    tokenizer, generator = tiny_tokenizer(), torch.Generator().manual_seed(seed)
    letters = torch.tensor(tokenizer.convert_tokens_to_ids(list(ALPHABET)))

    def text(length):
        drawn = torch.randint(len(letters), (length - 1,), generator=generator)
        return [*letters[drawn].tolist(), tokenizer.eos_token_id]

    return Dataset.from_list([{"input_ids": text(source), "labels": text(target)} for source, target in lengths])


def random_texts(lengths: Iterable[int], seed: int = 0) -> Dataset:
    """Return rows for a decoder, which predicts all of its `input_ids` except the first."""
    rows = random_pairs([(length, 1) for length in lengths], seed)
    return Dataset.from_list([{**row, "labels": [-100, *row["input_ids"][1:]]} for row in rows])


def tiny(model_class: type[PreTrainedModel], **options: Any) -> PreTrainedModel:
    """Return a model with one block in each stack and the same weights at every call. It generates eight tokens."""
    sizes = {"vocab_size": len(tiny_tokenizer()), "hidden_size": 16, "intermediate_size": 24, **DEPTHS[model_class]}
    model = tiny_model(model_class, **(sizes | options))
    model.generation_config.max_length = 8
    return model


def in_float64(model: PreTrainedModel) -> PreTrainedModel:
    """Convert a language model to float64. transformers would compute the loss in float32."""

    def loss_function(logits, labels, vocab_size, num_items_in_batch=None, **_):
        if not model.config.is_encoder_decoder:
            logits, labels = logits[:, :-1], labels[:, 1:]
        loss = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
        return loss / ((labels != -100).sum() if num_items_in_batch is None else num_items_in_batch)

    model.loss_function = loss_function
    return model.double()


def trainer_of(
    folder: Path,
    rows: Mapping[str, Any],
    model: PreTrainedModel | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    **training: Any,
) -> RecipeTrainer:
    """Return a trainer that writes no checkpoints by default.

    Args:
        folder: Its output folder.
        rows: `train` and, if it evaluates, `validation`.
        model: The model to train; the default is an encoder-decoder.
        options: Further options of the trainer.
        training: Further options of `RecipeArguments`.
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
