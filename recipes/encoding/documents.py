"""Whole documents as ids, from their beginning to their end."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase


def encode_documents(batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase) -> dict[str, list]:
    """Encode each document as `<bos> tokens <eos>`.

    Args:
        batch: column `text`.
        tokenizer: a decoder's, which puts `<bos>` in front.

    Returns:
        `text`, as it was, and `input_ids`.
    """
    ids = tokenizer(batch["text"], split_special_tokens=True, verbose=False).input_ids
    return {"text": batch["text"], "input_ids": [[*of_text, tokenizer.eos_token_id] for of_text in ids]}
