"""Texts with spans masked out, for an encoder-decoder that learns to write them whole again.

The text infilling of BART (Lewis et al., 2020, section 2.2): each span becomes one `<mask>`. Which spans, as T5 draws
them (Raffel et al., 2020, section 3.1.4): their number and their characters are fixed by the length of the text, so
each text loses the same share, and only where they stand and how they share the characters out is random.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase

from atenta.recipes.encoding.segments import cut


def encode_texts(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> dict[str, list[list[int]]]:
    """Cut documents into texts of at most `max_length` tokens, at ends of lines or else of sentences or words.

    Args:
        batch: column `text`, one document each.
        tokenizer: an encoder-decoder's.
        max_length: most tokens of a text, its `<eos>` included.

    Returns:
        `labels`, text `<eos>`.

    Raises:
        ValueError: `max_length` is below 5.
    """
    texts = [text for document in batch["text"] for text in cut(document, tokenizer, max_length - 1)]
    return {"labels": tokenizer(text_target=texts).input_ids if texts else []}


def mask_spans(
    ids: np.ndarray,
    mask_token_id: int,
    noise_density: float,
    mean_span_length: float,
    generator: np.random.Generator,
) -> list[int]:
    """Replace random spans of a text by one `<mask>` each.

    Args:
        ids: (length,), the text, not empty, and its `<eos>`, which stays.
        mask_token_id: the id of `<mask>`.
        noise_density: share of the characters that is masked out, at least one of them.
        mean_span_length: mean characters of a span; there are fewer spans where they would touch.
        generator: decides where the spans stand and how long each one is.
    """
    length = len(ids) - 1
    masked = max(1, round(length * noise_density))
    kept = length - masked
    # Spans stand in different gaps between the characters that are kept: no two touch.
    spans = min(max(1, round(masked / mean_span_length)), kept + 1)
    gaps = np.sort(generator.choice(kept + 1, spans, replace=False))
    borders = np.sort(generator.choice(masked - 1, spans - 1, replace=False)) + 1
    lengths = np.diff([0, *borders, masked])
    starts = gaps + np.cumsum(lengths) - lengths
    gone = np.zeros(len(ids), dtype=bool)
    for start, span in zip(starts, lengths):
        gone[start + 1 : start + span] = True
    source = ids.copy()
    source[starts] = mask_token_id
    return source[~gone].tolist()


def mask_once(
    batch: Mapping[str, list],
    tokenizer: PreTrainedTokenizerBase,
    seed: int,
    noise_density: float,
    mean_span_length: float,
) -> dict[str, list[list[int]]]:
    """Mask texts once for all, for scores that can be compared; `DataCollatorForSeq2Seq` pads the rows.

    Args:
        batch: column `labels`, as `encode_texts` makes it.
        tokenizer: an encoder-decoder's.
        seed: decides, together with the labels of a row, what is masked in it.
        noise_density: see `mask_spans`.
        mean_span_length: see `mask_spans`.

    Returns:
        `input_ids`, the masked texts; `labels`, as they were.
    """
    texts = [np.array(labels) for labels in batch["labels"]]
    generators = [np.random.default_rng(zlib.crc32(ids, seed)) for ids in texts]
    return {
        "input_ids": [
            mask_spans(ids, tokenizer.mask_token_id, noise_density, mean_span_length, generator)
            for ids, generator in zip(texts, generators)
        ],
        "labels": batch["labels"],
    }


@dataclass(kw_only=True)
class DenoisingCollator(DataCollatorForSeq2Seq):
    """Makes `input_ids` of rows of `labels` by masking spans out, then pads as `DataCollatorForSeq2Seq` does.

    Give it `model` for the `decoder_input_ids`. Rows that have `input_ids`, as `mask_once` makes them, keep them.

    Args:
        seed: decides, together with the labels of the rows, what is masked. The same rows together are masked alike.
        noise_density: share of a text's characters that is masked out, at least one character.
        mean_span_length: mean characters of a span.

    Raises:
        ValueError: `noise_density` is not between 0 and 1, or `mean_span_length` is below 1.
    """

    seed: int
    noise_density: float = 0.3
    mean_span_length: float = 6.0

    def __post_init__(self) -> None:
        if not 0 < self.noise_density < 1:
            raise ValueError(f"--noise_density is {self.noise_density}; expected a share between 0 and 1.")
        if self.mean_span_length < 1:
            raise ValueError(f"--mean_span_length is {self.mean_span_length}; expected 1 character or more.")

    def __call__(self, features: list[dict[str, Any]], return_tensors: str | None = None) -> dict[str, torch.Tensor]:
        """Make rows a batch.

        Returns:
            `input_ids`, `attention_mask` (rows, longest source), `labels`, `decoder_input_ids` (rows, longest text).
        """
        texts = [np.array(row["labels"]) for row in features]
        generator = np.random.default_rng(zlib.crc32(np.concatenate(texts), self.seed))
        options = self.tokenizer.mask_token_id, self.noise_density, self.mean_span_length, generator
        rows = [
            row if "input_ids" in row else {"input_ids": mask_spans(ids, *options), "labels": ids.tolist()}
            for row, ids in zip(features, texts)
        ]
        return super().__call__(rows, return_tensors)
