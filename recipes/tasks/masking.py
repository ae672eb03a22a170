"""Sentence pairs with masked characters, for the pre-training of encoders (Devlin et al., 2019, section 3.1)."""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
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
    batch's segments away, in the same document or in another. A document of one segment starts a pair with another:
    if more than half of the pairs are of such documents, fewer than half have the next segment. The last segment of a
    longer document starts no pair, and is read only as a second one. A batch of one segment pairs it with itself.

    Args:
        batch: Column `text`, one document per row.
        tokenizer: An encoder's tokenizer.
        max_length: The maximum tokens of a pair.
        seed: The seed that decides, together with the documents, in which pairs the second segment follows.

    Returns:
        `input_ids` and `token_type_ids`, `<bos> A <eos> B <eos>`; `next_sentence_label`, 0 if B follows A; `unread`,
        the number of the batch's segments that are in no pair, at its first pair, and 0 at the others.

    Raises:
        ValueError: If `max_length` is below 11.
    """
    longest = (max_length - _SPECIAL_TOKENS_OF_A_PAIR) // 2
    documents = [cut_to_length(document, tokenizer, longest) for document in batch["text"]]
    segments = [segment for document in documents for segment in document]
    lengths = np.array([len(document) for document in documents])
    ends = np.cumsum(lengths) - 1
    first = np.setdiff1d(np.arange(len(segments)), ends[lengths > 1])
    is_alone = np.isin(first, ends[lengths == 1])  # in its document
    generator = np.random.default_rng(zlib.crc32("\n".join(segments).encode(), seed))
    order = generator.permutation(np.sum(~is_alone))
    labels = np.ones(len(first), dtype=int)
    labels[~is_alone] = order % 2 * (order >= is_alone.sum())  # fewer of 1 by half of those that are alone
    # Steps are counted from the next segment, cyclically: len(segments) steps lead back to it.
    nearest = max(1, len(segments) // 4)
    steps = generator.integers(nearest, len(segments) - nearest, size=len(first)) if len(segments) > 2 else 0
    second = (first + 1 + np.where(labels == _FOLLOWS, 0, steps)) % len(segments)
    unread = np.zeros(len(first), dtype=int)
    unread[:1] = len(segments) - len(np.union1d(first, second))
    encoded = tokenizer(
        [segments[index] for index in first],
        [segments[index] for index in second],
        split_special_tokens=True,
        return_attention_mask=False,
    )
    return {**encoded, "next_sentence_label": labels.tolist(), "unread": unread.tolist()}


@dataclass(kw_only=True)
class MaskingCollator:
    """A collator that pads rows and masks some of their characters, words and runs of words.

    Each character, special tokens excluded, is selected with `mlm_probability`, either together with all characters
    of its run of words or on its own. Of the selected characters 80 % become `<mask>`, 10 % become a random character
    of the alphabet, and 10 % are unchanged. A word that is selected as a whole shares its fate among its characters.

    `DataCollatorForLanguageModeling` of transformers is not used: it finds whole words by gaps between tokens, which
    characters do not have, and it draws random tokens from the whole vocabulary, including bytes that texts hardly
    contain.

    Args:
        tokenizer: The encoder's tokenizer.
        seed: The seed that decides, together with the ids of the batch, what is masked. The same batch is always
            masked in the same way.
        mlm_probability: The share of the characters that are selected.
        whole_word_probability: The share of the words that are selected as a whole. White space and signs are words of
            one character each.
        mean_span_words: The mean number of consecutive words, white space included, that are selected together.
        words: Words that the model predicts as a whole where they are masked (`word_labels`), in the order of labels.
    """

    tokenizer: PreTrainedTokenizerBase
    seed: int
    mlm_probability: float = 0.15
    whole_word_probability: float = 0.5
    mean_span_words: float = 1.0
    words: Sequence[str] = ()

    def __post_init__(self) -> None:
        characters = {token: index for token, index in self.tokenizer.get_vocab().items() if len(token) == 1}
        self._alphabet = torch.tensor(sorted(characters.values()))
        self._spaces = torch.tensor([index for token, index in characters.items() if not token.isalnum()])
        self._special = torch.tensor(self.tokenizer.all_special_ids)
        encoded = self.tokenizer(list(self.words), add_special_tokens=False).input_ids if self.words else []
        self._words = {tuple(ids): label for label, ids in enumerate(encoded)}

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Return the batch of the rows.

        Returns:
            The columns of the rows, `attention_mask`, and `labels`: the original ids of the selected characters, -100
            for all other tokens. With `words`, also `word_labels`: at the first character of a word that is selected
            as a whole its label, and -100 for all other tokens.
        """
        batch = DataCollatorWithPadding(self.tokenizer)(rows)
        ids = batch["input_ids"]
        generator = torch.Generator().manual_seed(zlib.crc32(ids.numpy(), self.seed))
        words = self._number_words(ids)
        selected, whole = self._select(ids, words, generator)
        batch["labels"] = ids.where(selected, -100)
        fate = torch.rand(2, ids.numel() + 1, generator=generator)
        fate = torch.where(whole, fate[0, words], fate[1, :-1].view_as(ids))
        others = self._alphabet[torch.randint(len(self._alphabet), ids.shape, generator=generator)]
        replaced = torch.where(fate < 0.8, self.tokenizer.mask_token_id, torch.where(fate < 0.9, others, ids))
        batch["input_ids"] = replaced.where(selected, ids)
        if self._words:
            batch["word_labels"] = self._label_words(ids, words, whole)
        return batch

    def _number_words(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the number of the word of each token, (rows, length); each token without letters is a word."""
        separators = torch.isin(ids, torch.cat([self._special, self._spaces])).flatten()
        starts = separators | separators.roll(1)  # the token after a separator starts a word
        return starts.cumsum(0).view_as(ids)

    def _select(
        self, ids: torch.Tensor, words: torch.Tensor, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return which characters are selected, and which of them as a whole word, (rows, length) each."""
        count = len(ids.flatten()) + 1  # there are no more words than this
        special = torch.isin(ids, self._special)
        as_one, starts, lengths = torch.rand(3, count, generator=generator)
        # A span that begins at a word takes in the words after it: their number is geometric.
        spans = 1 + (lengths.log() / math.log1p(-1 / self.mean_span_words)).long() if self.mean_span_words > 1 else 1
        begun = starts < 1 - (1 - self.mlm_probability) ** (1 / self.mean_span_words)
        ends = (torch.arange(count) + spans).where(begun, 0)
        covered = ends.cummax(0).values > torch.arange(count)
        of_words = covered[words] & (as_one[words] < self.whole_word_probability)
        draws = torch.rand(ids.shape, generator=generator)
        alone = (as_one[words] >= self.whole_word_probability) & (draws < self.mlm_probability)
        selected = (of_words | alone) & ~special
        if not selected.any():  # a batch without any would have no loss
            selected = (draws == draws[~special].min()) & ~special
        return selected, of_words & selected

    def _label_words(self, ids: torch.Tensor, words: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        """Return the label of each word in `whole` at its first character, and -100 for all other tokens.

        Taggers read a word at its first character too.
        """
        labels = torch.full_like(ids, -100).flatten()
        places = whole.flatten().nonzero().flatten().tolist()
        flat_ids, flat_words = ids.flatten().tolist(), words.flatten().tolist()
        for _, of_word in groupby(places, flat_words.__getitem__):
            first, *others = of_word
            labels[first] = self._words.get(tuple(flat_ids[place] for place in (first, *others)), -100)
        return labels.view_as(ids)
