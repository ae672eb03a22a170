"""Texts with masked spans, for an encoder-decoder that learns to restore them.

This is the text infilling of BART (Lewis et al., 2020, section 2.2): each span becomes one `<mask>`. The spans are
drawn as in T5 (Raffel et al., 2020, section 3.1.4): the length of the text determines the number of spans and the
number of masked characters, so each text loses the same share; only the positions and the lengths of the spans are
random.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase

from atenta.recipes.tasks.documents import cut_to_length


def encode_texts(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, list[list[int]]]:
    """Cut documents into texts of at most `max_length` tokens, as in `cut_to_length`, and encode the texts.

    Args:
        batch: Column `text`, one document per row.
        tokenizer: An encoder-decoder's tokenizer.
        max_length: The maximum tokens of a text, its `<eos>` included.

    Returns:
        `labels`, text `<eos>`.

    Raises:
        ValueError: If `max_length` is below 5.
    """
    texts = [text for document in batch["text"] for text in cut_to_length(document, tokenizer, max_length - 1)]
    return {"labels": tokenizer(text_target=texts, split_special_tokens=True).input_ids if texts else []}


def mask_once(
    batch: Mapping[str, list],
    tokenizer: PreTrainedTokenizerBase,
    seed: int,
    noise_density: float,
    mean_span_length: float,
) -> dict[str, list[list[int]]]:
    """Mask each text in the same way every time, for comparable scores; `DataCollatorForSeq2Seq` pads the rows.

    Args:
        batch: Column `labels`, the output of `encode_texts`.
        tokenizer: An encoder-decoder's tokenizer.
        seed: The seed that decides, together with the labels of a row, what is masked in that row.
        noise_density: As in `DenoisingCollator`.
        mean_span_length: As in `DenoisingCollator`.

    Returns:
        `input_ids`, the masked texts; `labels`, unchanged.
    """
    options = tokenizer.mask_token_id, noise_density, mean_span_length
    texts = [np.array(labels) for labels in batch["labels"]]
    sources = [_mask_spans(ids, *options, np.random.default_rng(zlib.crc32(ids, seed))) for ids in texts]
    return {"input_ids": sources, "labels": batch["labels"]}


def decode_masked(row: Mapping[str, list[int]], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return a row of `mask_once` as a pair of texts: `source`, with its masks, `target`, and no `tags`."""
    source = tokenizer.decode(row["input_ids"]).removesuffix(tokenizer.eos_token)
    return {"source": source, "target": tokenizer.decode(row["labels"], skip_special_tokens=True), "tags": []}


@dataclass(kw_only=True)
class DenoisingCollator(DataCollatorForSeq2Seq):
    """A `DataCollatorForSeq2Seq` that makes the `input_ids` of a row by masking spans of its `labels`.

    It needs `model` to make `decoder_input_ids`. Rows that already have `input_ids`, from `mask_once`, keep them.

    Args:
        seed: The seed that decides, together with the labels of the batch, what is masked. The same batch is always
            masked in the same way.
        noise_density: The share of the characters of a text that is masked, at least one character.
        mean_span_length: The mean length of a span in characters.
    """

    seed: int
    noise_density: float = 0.3
    mean_span_length: float = 6.0

    def __call__(self, features: list[dict[str, Any]], return_tensors: str | None = None) -> dict[str, torch.Tensor]:
        """Return the batch of the rows.

        Returns:
            `input_ids`, `attention_mask` (rows, longest source), `labels`, `decoder_input_ids` (rows, longest text).
        """
        texts = [np.array(row["labels"]) for row in features]
        generator = np.random.default_rng(zlib.crc32(np.concatenate(texts), self.seed))
        options = self.tokenizer.mask_token_id, self.noise_density, self.mean_span_length, generator
        rows = [
            row if "input_ids" in row else {"input_ids": _mask_spans(ids, *options), "labels": ids.tolist()}
            for row, ids in zip(features, texts)
        ]
        return super().__call__(rows, return_tensors)


def _mask_spans(
    ids: np.ndarray, mask_token_id: int, noise_density: float, mean_span_length: float, generator: np.random.Generator
) -> list[int]:
    """Return the ids of a text, (length,), with random spans replaced by one `<mask>` each.

    The `<eos>` at the end is never masked. There are fewer, longer spans if they would touch.
    """
    length = len(ids) - 1
    masked = max(1, round(length * noise_density))
    kept = length - masked
    # Spans are in different gaps between the characters that are kept, so no two spans touch.
    spans = min(max(1, round(masked / mean_span_length)), kept + 1)
    gaps = np.sort(generator.choice(kept + 1, spans, replace=False))
    borders = np.sort(generator.choice(masked - 1, spans - 1, replace=False)) + 1
    lengths = np.diff([0, *borders, masked])
    starts = gaps + np.cumsum(lengths) - lengths
    removed = np.zeros(len(ids), dtype=bool)
    for start, span in zip(starts, lengths):
        removed[start + 1 : start + span] = True
    source = ids.copy()
    source[starts] = mask_token_id
    return source[~removed].tolist()
