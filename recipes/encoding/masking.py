"""Pairs of texts with masked characters, for an encoder that learns both characters and what follows what.

Devlin et al. (2019), section 3.1.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase

from atenta.recipes.encoding.segments import cut

FOLLOWS, ELSEWHERE = 0, 1  # next-sentence labels, as BERT has them
SPECIAL_TOKENS_OF_A_PAIR = 3  # <bos> A <eos> B <eos>


def make_sentence_pairs(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int
) -> dict[str, list]:
    """Pair each segment of the documents with the one that follows it, or, in half of the pairs, with another.

    A segment is as many lines as fit into half of `max_length`. The other one is at least a quarter of the batch's
    segments away, in the same document or not. The last segment of a document begins no pair.

    Args:
        batch: column `text`, one document each.
        tokenizer: an encoder's.
        max_length: most tokens of a pair.
        seed: decides, together with the documents, which pairs follow.

    Returns:
        `input_ids` and `token_type_ids`, `<bos> A <eos> B <eos>`; `next_sentence_label`, 0 where B follows A.

    Raises:
        ValueError: no document has two segments, there are fewer than three in all, or `max_length` is below 11.
    """
    longest = (max_length - SPECIAL_TOKENS_OF_A_PAIR) // 2
    documents = [cut(document, tokenizer, longest) for document in batch["text"]]
    segments = [segment for document in documents for segment in document]
    ends = np.cumsum([len(document) for document in documents]) - 1
    first = np.setdiff1d(np.arange(len(segments)), ends)
    if len(first) == 0 or len(segments) < 3:
        raise ValueError(
            f"found {len(segments)} segments of at most {longest} tokens in {len(documents)} documents; expected a "
            "document of two or more, and three in all: give longer documents, or lower --max_length."
        )
    generator = np.random.default_rng(zlib.crc32("\n".join(segments).encode(), seed))
    labels = generator.permutation(len(first)) % 2
    # Counted from the one that follows, round the end of the batch: from it to itself there are len(segments) steps.
    nearest = max(1, len(segments) // 4)
    steps = generator.integers(nearest, len(segments) - nearest, size=len(first))
    second = (first + 1 + np.where(labels == FOLLOWS, 0, steps)) % len(segments)
    encoded = tokenizer(
        [segments[index] for index in first],
        [segments[index] for index in second],
        split_special_tokens=True,
        return_attention_mask=False,
    )
    return {**encoded, "next_sentence_label": labels.tolist()}


@dataclass(kw_only=True)
class MaskingCollator:
    """Pads rows and masks characters of them.

    Each character but special tokens is picked with `mlm_probability`: as one with the other characters of its word,
    or by itself. Of the picked, 80 % become `<mask>`, 10 % a random character of the alphabet, 10 % stay.

    transformers' `DataCollatorForLanguageModeling` finds whole words by gaps between tokens, which characters do not
    have, and draws random tokens from the whole vocabulary, which is mostly bytes that no text holds.

    Args:
        tokenizer: the encoder's.
        seed: decides, together with the ids of the rows, what is masked. The same rows together are masked alike.
        mlm_probability: share of the characters that are picked.
        whole_word_probability: share of the words that are picked as one. A white-space character is a word.
    """

    tokenizer: PreTrainedTokenizerBase
    seed: int
    mlm_probability: float = 0.15
    whole_word_probability: float = 0.5

    def __post_init__(self) -> None:
        characters = {token: index for token, index in self.tokenizer.get_vocab().items() if len(token) == 1}
        self._alphabet = torch.tensor(sorted(characters.values()))
        self._spaces = torch.tensor([index for token, index in characters.items() if token.isspace()])
        self._special = torch.tensor(self.tokenizer.all_special_ids)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Make rows a batch.

        Returns:
            What the rows hold, `attention_mask`, and `labels`: the ids that were picked, -100 elsewhere.
        """
        batch = DataCollatorWithPadding(self.tokenizer)(rows)
        ids = batch["input_ids"]
        generator = torch.Generator().manual_seed(zlib.crc32(ids.numpy(), self.seed))
        picked = self._pick(ids, generator)
        batch["labels"] = ids.where(picked, -100)
        fate = torch.rand(ids.shape, generator=generator)
        others = self._alphabet[torch.randint(len(self._alphabet), ids.shape, generator=generator)]
        replaced = torch.where(fate < 0.8, self.tokenizer.mask_token_id, torch.where(fate < 0.9, others, ids))
        batch["input_ids"] = replaced.where(picked, ids)
        return batch

    def _pick(self, ids: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        special = torch.isin(ids, self._special)
        apart = (special | torch.isin(ids, self._spaces)).flatten()
        starts = apart | apart.roll(1)  # of words: what stands apart, and what follows it
        words = starts.cumsum(0).view_as(ids)
        of_words = torch.rand(2, len(ids.flatten()) + 1, generator=generator)
        as_one = of_words[0, words] < self.whole_word_probability
        draws = torch.where(as_one, of_words[1, words], torch.rand(ids.shape, generator=generator))
        draws[special] = 1.0
        # One at least: a batch without any would have no loss.
        return draws <= max(self.mlm_probability, draws.min())
