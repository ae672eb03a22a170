"""Tags of words as labels of characters: each word's tag stands at its first character, and nowhere else."""

from collections.abc import Mapping

import numpy as np
from transformers import PreTrainedTokenizerBase


def align_tags(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, label2id: Mapping[str, int]
) -> dict[str, list]:
    """Encode each row's words, joined by spaces, and label the first token of each.

    Args:
        batch: columns `words` and `tags`, one tag a word.
        tokenizer: an encoder's.
        label2id: the number of each tag.

    Returns:
        What the tokenizer gives, and `labels`: -100 but at the first token of each word.

    Raises:
        ValueError: a tag that `label2id` does not have, or an empty word.
    """
    if unknown := {tag for tags in batch["tags"] for tag in tags} - label2id.keys():
        raise ValueError(
            f"found the tag {', '.join(sorted(unknown))}; expected one of {', '.join(label2id)}: "
            "take the tags of every split, or train a new model."
        )
    # Normalized before they are joined, so that a character of the text is what the tokenizer counts as one.
    normalize = tokenizer.backend_tokenizer.normalizer.normalize_str
    rows = [[normalize(word) for word in words] for words in batch["words"]]
    encoded = tokenizer([" ".join(words) for words in rows], split_special_tokens=True)
    labels = []
    for row, (words, tags) in enumerate(zip(rows, batch["tags"])):
        if not all(words):
            raise ValueError(f"found an empty word in {words!r}; expected at least one character in each.")
        lengths = np.array([len(word) + 1 for word in words])
        firsts = [encoded.char_to_token(row, int(start)) for start in np.cumsum(lengths) - lengths]
        of_row = np.full(len(encoded.input_ids[row]), -100)
        of_row[firsts] = [label2id[tag] for tag in tags]
        labels.append(of_row.tolist())
    return {**encoded, "labels": labels}


def read_tags(predictions: np.ndarray, labels: np.ndarray, id2label: Mapping[int, str]) -> list[list[str]]:
    """Read the tags of words from the first character of each, gold ones where `predictions` are the labels.

    Args:
        predictions: (rows, length), the number of a tag for each token.
        labels: (rows, length), as `align_tags` makes them, padded with -100.
        id2label: the tag of each number.

    Returns:
        One tag a word for each row.
    """
    return [[id2label[int(number)] for number in row[firsts]] for row, firsts in zip(predictions, labels != -100)]
