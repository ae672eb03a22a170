"""Texts cut into documents, and these as ids from their beginning to their end."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase

from atenta.recipes.reading.documents import cut_documents


def encode_documents(batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, sample_by: str) -> dict[str, list]:
    """Cut texts into documents and encode each as `<bos> tokens <eos>`.

    Args:
        batch: column `text`.
        tokenizer: a decoder's, which puts `<bos>` in front.
        sample_by: what is a document: see `read_documents`.

    Returns:
        `text` and `input_ids`, a row each document.
    """
    texts = cut_documents(batch, sample_by)["text"]
    ids = tokenizer(texts, split_special_tokens=True, verbose=False).input_ids
    return {"text": texts, "input_ids": [[*of_text, tokenizer.eos_token_id] for of_text in ids]}
