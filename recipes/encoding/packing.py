"""Documents of any length as rows of one length, for a decoder that learns the next character.

A row holds pieces of documents. Each piece starts at position 0, and a decoder that gets neither an attention mask nor
a cache reads there that pieces do not see one another; the `Trainer` switches the cache off unless told otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase


def pack(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, block_size: int
) -> dict[str, list[np.ndarray]]:
    """Cut documents into pieces and put them into rows in order, each row full before the next begins.

    A document is `<bos> characters <eos>`. Where a row ends within it, the next row begins with the last token again,
    now as context only: so every character and the `<eos>` are learned exactly once, from what their piece holds.

    Args:
        batch: column `text`, one document each.
        tokenizer: a decoder's.
        block_size: tokens in a row; only the last row may have fewer.

    Returns:
        `input_ids`; `position_ids`, from 0 in each piece; `labels`, the ids with -100 at the start of each piece. The
        model shifts labels itself.

    Raises:
        ValueError: `block_size` is below 2.
    """
    if block_size < 2:
        raise ValueError(f"--block_size is {block_size}; expected 2 or more: a token to learn, and one before it.")
    rows: list[list[np.ndarray]] = []
    room = 0
    for ids in tokenizer(batch["text"]).input_ids:
        document = np.array([*ids, tokenizer.eos_token_id], dtype=np.int32)  # half of what would fill the cache
        start = 0
        while start < len(document) - 1:
            if room == 0:
                rows.append([])
                room = block_size
            piece = document[start : start + room]
            rows[-1].append(piece)
            room -= len(piece)
            start += len(piece) - 1
    input_ids = [np.concatenate(row) for row in rows]
    position_ids = [np.concatenate([np.arange(len(piece), dtype=np.int32) for piece in row]) for row in rows]
    labels = [np.where(positions == 0, -100, ids) for ids, positions in zip(input_ids, position_ids)]
    return {"input_ids": input_ids, "position_ids": position_ids, "labels": labels}


def collate_packed(rows: Iterable[Mapping[str, Sequence[int]]], pad_token_id: int) -> dict[str, torch.Tensor]:
    """Make packed rows a batch. Padding is one more piece of a row, which no other sees and which is not learned.

    Returns:
        `input_ids`, `position_ids` and `labels`, (rows, longest row). There is no attention mask: it would join the
        pieces.
    """
    rows = list(rows)
    longest = max(len(row["input_ids"]) for row in rows)

    def padded(name: str, padding: Sequence[int]) -> torch.Tensor:
        return torch.tensor([[*row[name], *padding[: longest - len(row[name])]] for row in rows], dtype=torch.long)

    return {
        "input_ids": padded("input_ids", [pad_token_id] * longest),
        "position_ids": padded("position_ids", range(longest)),
        "labels": padded("labels", [-100] * longest),
    }
