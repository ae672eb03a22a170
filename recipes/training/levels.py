"""What is a token, a character or a word, and what can be said honestly of a model of them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase, TrainingArguments

from atenta import AtentaTokenizer
from atenta.recipes.baselines import uniform_characters, unigram_characters
from atenta.recipes.encoding.word_level import make_word_tokenizer
from atenta.recipes.reading import Rows, inspect
from atenta.recipes.training.evaluation import bits
from atenta.recipes.training.scoring import nats_by_decoder


class Level(ABC):
    """One kind of tokens. Rows have the columns `text` and `input_ids`, a document each."""

    @abstractmethod
    def make_tokenizer(self, texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerBase:
        """Return the tokenizer of training texts, with at most so many tokens where not all are taken."""

    @abstractmethod
    def describe(
        self, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase, training: TrainingArguments
    ) -> None:
        """Print what a person should know of the rows of each split."""

    @abstractmethod
    def figures(self, nats: float, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return the scores of a model that rows, their ends included, surprise by so many nats."""

    @abstractmethod
    def baselines(self, train: Rows, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return the nats of rows by what needs no model, by its name."""

    @abstractmethod
    def decoders(self, folder: str, rows: Rows) -> dict[str, float]:
        """Return the nats of rows by a decoder, under its name; nothing, and a line says why, where it has none."""


class Characters(Level):
    """Every character of the training texts, and bytes for all others: each text has its probability."""

    def make_tokenizer(self, texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerBase:
        """Return a character tokenizer; of characters all are taken."""
        return AtentaTokenizer.from_texts(texts, family="decoder")

    def describe(
        self, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase, training: TrainingArguments
    ) -> None:
        """Print the report on the rows."""
        inspect(rows, training, ["text"], tokenizer)

    def figures(self, nats: float, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return bits per character and perplexities; each document's end is a character, as in pretrain_causal."""
        return bits([nats], [_whole(rows)])

    def baselines(self, train: Rows, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return the nats by characters that are equally likely, and as likely as they are frequent."""
        return {
            "uniform characters": uniform_characters(train["text"], [_whole(rows)])[0],
            "unigram characters": unigram_characters(train["text"], [_whole(rows)])[0],
        }

    def decoders(self, folder: str, rows: Rows) -> dict[str, float]:
        """Return the nats by the decoder in a folder, read in rows as long as those it has learned."""
        if not Path(folder, "config.json").is_file():
            print(f"--compare_with {folder}: no decoder is there; `python recipes/pretrain_causal.py` trains one.")
            return {}
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        return {"decoder": nats_by_decoder(model, AutoTokenizer.from_pretrained(folder), list(rows["text"]))}


class Words(Level):
    """The most frequent words of the training texts, and one token for all others."""

    def make_tokenizer(self, texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerBase:
        """Return a word tokenizer: see `make_word_tokenizer`."""
        return make_word_tokenizer(texts, vocab_size)

    def describe(
        self, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase, training: TrainingArguments
    ) -> None:
        """Print for each split its documents, its words and those that are unknown."""
        for name, of_split in rows.items():
            documents, words, unknown = _count_words(of_split, tokenizer)
            print(f"{name}: {documents:,} documents, {words:,} words, {unknown / words:.1%} of them unknown")
        print(f"{len(tokenizer):,} tokens\n", flush=True)

    def figures(self, nats: float, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return bits and perplexity per word, punctuation marks being words, and the share of unknown words.

        Which unknown word it is costs nothing, nor does white space: so there are no bits per character, and figures
        compare only where vocabulary and texts are the same.
        """
        _, words, unknown = _count_words(rows, tokenizer)
        per_word = nats / words
        return {
            "bits_per_word": per_word / math.log(2),
            "word_perplexity": math.exp(per_word),
            "unknown_words": unknown / words,
        }

    def baselines(self, train: Rows, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return the nats by tokens that are equally likely, and as likely as they are frequent, plus one."""
        seen, foreseen = (
            sum(np.bincount(ids[1:], minlength=len(tokenizer)) for ids in of_split["input_ids"])
            for of_split in (train, rows)
        )
        shares = (seen + 1) / (seen + 1).sum()
        return {
            "uniform words": float(foreseen.sum() * math.log(len(tokenizer))),
            "unigram words": float(-(foreseen * np.log(shares)).sum()),
        }

    def decoders(self, folder: str, rows: Rows) -> dict[str, float]:
        """Return nothing."""
        print("A decoder of characters foresees every word and space, this model neither: they are not compared.")
        return {}


LEVELS: dict[str, Level] = {"characters": Characters(), "words": Words()}


def _whole(rows: Rows) -> str:
    """The documents of a split; each one's end, foreseen too, is a character."""
    return "\n".join(rows["text"])


def _count_words(rows: Rows, tokenizer: PreTrainedTokenizerBase) -> tuple[int, int, int]:
    """Documents, words, and unknown words."""
    documents = words = unknown = 0
    for ids in rows["input_ids"]:
        documents += 1
        words += len(ids) - 2  # <bos> and <eos>
        unknown += int((np.asarray(ids) == tokenizer.unk_token_id).sum())
    return documents, words, unknown
