"""Texts or pairs of texts, and the number of their label."""

from collections.abc import Mapping

from transformers import PreTrainedTokenizerBase


def encode_labelled(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, label2id: Mapping[str, int]
) -> dict[str, list]:
    """Encode texts, pairs where a batch has them, and number their labels.

    Args:
        batch: columns `text`, `text_pair` (`None` in rows that are no pairs) and `label`.
        tokenizer: an encoder's.
        label2id: the number of each label.

    Returns:
        What the tokenizer gives, `<bos> text <eos>` or `<bos> text <eos> text_pair <eos>`; `labels`, a number each.

    Raises:
        ValueError: a label that `label2id` does not have, as when a model made without it is trained further.
    """
    if unknown := sorted(set(batch["label"]) - set(label2id)):
        raise ValueError(
            f"found the label {', '.join(map(repr, unknown))}; the model has {', '.join(label2id)}: "
            "train a new one on these labels."
        )
    rows = [tokenizer(text, pair, split_special_tokens=True) for text, pair in zip(batch["text"], batch["text_pair"])]
    encoded = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return {**encoded, "labels": [label2id[label] for label in batch["label"]]}
