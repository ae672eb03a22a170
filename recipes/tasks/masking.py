"""Sentence pairs with masked characters, for the pre-training of encoders (Devlin et al., 2019, section 3.1)."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase

from atenta.recipes.tasks.documents import cut_to_length

_FOLLOWS = 0  # next-sentence label of a pair whose second segment follows the first, as in BERT; 1 for other pairs
_SPECIAL_TOKENS_OF_A_PAIR = 3  # <bos> A <eos> B <eos>


def make_sentence_pairs(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int
) -> dict[str, list]:
    """Pair each segment of the documents with the next segment in half of the pairs, and with another in the others.

    A segment has as many lines as fit into half of `max_length`. The other segment is at least a quarter of the
    batch's segments away, in the same document or in another. The last segment of a document starts no pair.

    Args:
        batch: Column `text`, one document per row.
        tokenizer: An encoder's tokenizer.
        max_length: The maximum tokens of a pair.
        seed: The seed that decides, together with the documents, in which pairs the second segment follows.

    Returns:
        `input_ids` and `token_type_ids`, `<bos> A <eos> B <eos>`; `next_sentence_label`, 0 if B follows A.

    Raises:
        ValueError: If no document has two segments, there are fewer than three in all, or `max_length` is below 11.
    """
    longest = (max_length - _SPECIAL_TOKENS_OF_A_PAIR) // 2
    documents = [cut_to_length(document, tokenizer, longest) for document in batch["text"]]
    segments = [segment for document in documents for segment in document]
    ends = np.cumsum([len(document) for document in documents]) - 1
    first = np.setdiff1d(np.arange(len(segments)), ends)
    if len(first) == 0 or len(segments) < 3:
        raise ValueError(
            f"found {len(segments)} segments of at most {longest} tokens in {len(documents)} documents; expected a "
            "document of two or more, and three in all: use longer documents, or lower --max_length."
        )
    generator = np.random.default_rng(zlib.crc32("\n".join(segments).encode(), seed))
    labels = generator.permutation(len(first)) % 2
    # Steps are counted from the next segment, cyclically: len(segments) steps lead back to it.
    nearest = max(1, len(segments) // 4)
    steps = generator.integers(nearest, len(segments) - nearest, size=len(first))
    second = (first + 1 + np.where(labels == _FOLLOWS, 0, steps)) % len(segments)
    encoded = tokenizer(
        [segments[index] for index in first],
        [segments[index] for index in second],
        split_special_tokens=True,
        return_attention_mask=False,
    )
    return {**encoded, "next_sentence_label": labels.tolist()}


@dataclass(kw_only=True)
class MaskingCollator:
    """A collator that pads rows and masks some of their characters.

    Each character, special tokens excluded, is selected with `mlm_probability`, either together with all characters
    of its word or on its own. Of the selected characters 80 % become `<mask>`, 10 % become a random character of the
    alphabet, and 10 % are unchanged.

    `DataCollatorForLanguageModeling` of transformers is not used: it finds whole words by gaps between tokens, which
    characters do not have, and it draws random tokens from the whole vocabulary, including bytes that texts hardly
    contain.

    Args:
        tokenizer: The encoder's tokenizer.
        seed: The seed that decides, together with the ids of the batch, what is masked. The same batch is always
            masked in the same way.
        mlm_probability: The share of the characters that are selected.
        whole_word_probability: The share of the words that are selected as a whole. A white-space character is a word.
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
        """Return the batch of the rows.

        Returns:
            The columns of the rows, `attention_mask`, and `labels`: the original ids of the selected characters, -100
            for all other tokens.
        """
        batch = DataCollatorWithPadding(self.tokenizer)(rows)
        ids = batch["input_ids"]
        generator = torch.Generator().manual_seed(zlib.crc32(ids.numpy(), self.seed))
        selected = self._select(ids, generator)
        batch["labels"] = ids.where(selected, -100)
        fate = torch.rand(ids.shape, generator=generator)
        others = self._alphabet[torch.randint(len(self._alphabet), ids.shape, generator=generator)]
        replaced = torch.where(fate < 0.8, self.tokenizer.mask_token_id, torch.where(fate < 0.9, others, ids))
        batch["input_ids"] = replaced.where(selected, ids)
        return batch

    def _select(self, ids: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        special = torch.isin(ids, self._special)
        separators = (special | torch.isin(ids, self._spaces)).flatten()
        word_starts = separators | separators.roll(1)  # a separator is a word, and the token after it starts one
        words = word_starts.cumsum(0).view_as(ids)
        of_words = torch.rand(2, len(ids.flatten()) + 1, generator=generator)
        as_one = of_words[0, words] < self.whole_word_probability
        draws = torch.where(as_one, of_words[1, words], torch.rand(ids.shape, generator=generator))
        draws[special] = 1.0
        # At least one character is selected: a batch without any would have no loss.
        return draws <= max(self.mlm_probability, draws.min())
