"""Documents of any length as rows of one length, for a decoder that learns the next character.

A row holds pieces of documents. Each piece starts at position 0, and a decoder that gets neither an attention mask nor
a cache reads there that pieces do not see one another; the `Trainer` switches the cache off unless told otherwise.

Rows are stored as ids alone: text is never read as `<eos>`, so that the next piece starts behind each one.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from atenta import CharacterTable

_table_of = lru_cache(maxsize=1)(CharacterTable)  # made once in each process, not for each batch


def pack(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, block_size: int
) -> dict[str, list[np.ndarray]]:
    """Cut documents into pieces and put them into rows in order, each row full before the next begins.

    A document is `<bos> characters <eos>`. Where a row ends within it, the next row begins with the last token again,
    now as context only: so every character and the `<eos>` are learned exactly once, from what their piece holds.

    Args:
        batch: column `text`, one document each, at least one.
        tokenizer: a decoder's.
        block_size: tokens in a row; only the last row may have fewer, and then ends with `<eos>`.

    Returns:
        `input_ids`, of the smallest type that holds them.

    Raises:
        ValueError: `block_size` is below 2, or `tokenizer` is no character tokenizer.
    """
    if block_size < 2:
        raise ValueError(f"--block_size is {block_size}; expected 2 or more: a token to learn, and one before it.")
    table = _table_of(tokenizer)
    bos, eos = np.array([[tokenizer.bos_token_id], [tokenizer.eos_token_id]], table.dtype)
    ids = np.concatenate([part for text in table.encode_batch(batch["text"]) for part in (bos, text, eos)])
    rows, start = [], 0
    while start < len(ids):
        row = ids[start : start + block_size]
        rows.append(row)
        start += len(row) if row[-1] == eos else len(row) - 1
    return {"input_ids": rows}


def collate_packed(
    rows: Iterable[Mapping[str, Sequence[int]]], *, pad_token_id: int, eos_token_id: int
) -> dict[str, torch.Tensor]:
    """Make packed rows a batch. Padding is one more piece of a row, which no other sees and which is not learned.

    Args:
        rows: `input_ids`, as `pack` makes them; NumPy arrays are read fastest.
        pad_token_id: fills up a short row.
        eos_token_id: ends each piece but those that a row's end cuts.

    Returns:
        `input_ids`; `position_ids`, from 0 in each piece; `labels`, the ids with -100 at the start of each piece: the
        model shifts labels itself. All are (rows, longest row). There is no attention mask: it would join the pieces.
    """
    rows = [np.asarray(row["input_ids"]) for row in rows]
    lengths = np.array([[len(row)] for row in rows])
    places = np.arange(lengths.max())
    padding = places >= lengths
    input_ids = np.full(padding.shape, pad_token_id)
    input_ids[~padding] = np.concatenate(rows)
    starts = np.roll(input_ids == eos_token_id, 1, axis=1)
    starts[:, 0] = True
    position_ids = places - np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    labels = np.where(starts | padding, -100, input_ids)
    batch = {"input_ids": input_ids, "position_ids": position_ids, "labels": labels}
    return {name: torch.from_numpy(values) for name, values in batch.items()}
