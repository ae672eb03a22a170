"""Characters or words as tokens, and scores of models over them, for recipes/fit_pair_votes.py."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets.config import DEFAULT_MAX_BATCH_SIZE
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    TrainingArguments,
)

from atenta import AtentaPairVotesForCausalLM, AtentaTokenizer
from atenta.engines.saved_model import load_tokenizer, load_weights
from atenta.recipes.option_annotations import Range
from atenta.recipes.reading.load import report_rows
from atenta.recipes.reading.splits import Rows
from atenta.recipes.tasks.documents import DocumentTask, collate_packed, pack
from atenta.recipes.training.logit_reductions import nats_of_texts

_PAD, _BOS, _EOS, _UNKNOWN = _SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
WITH_A_WORD = Range(  # sizes of a vocabulary
    f"{len(_SPECIAL_TOKENS) + 1} or more: {', '.join(_SPECIAL_TOKENS)} and a word",
    lambda size: size > len(_SPECIAL_TOKENS),
)
POSITIONS_AT_ONCE = 256  # each needs a number per token of the vocabulary, which limits memory


class Characters:
    """Every character of the training texts, and bytes for all others, so that each text has a probability."""

    def make_tokenizer(self, texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerBase:
        """Return a tokenizer of all characters of the texts. `vocab_size` is ignored."""
        return AtentaTokenizer.from_texts(texts, family="decoder")

    def describe(
        self, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase, training: TrainingArguments
    ) -> None:
        """Print the report on the rows."""
        report_rows(rows, training, ["text"], tokenizer)

    def scores(self, nats: float, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return bits per character and perplexities. The boundary between documents counts as a character."""
        return DocumentTask().score([{"text": text} for text in rows["text"]], [nats])

    def baseline_nats(self, train: Rows, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return nats for equally likely characters, and for characters as likely as they are frequent in training."""
        counted = DocumentTask().baselines(train)
        return {name: counted[name](rows)[0] for name in ("uniform characters", "unigram characters")}

    def decoder_nats(self, folder: str, rows: Rows) -> dict[str, float]:
        """Return nats for the decoder in a folder, which reads rows of the length that it was trained on."""
        if not Path(folder, "config.json").is_file():
            print(f"--compare_with {folder}: found no decoder; `python recipes/pretrain_causal.py` trains one")
            return {}
        model, tokenizer = load_weights(AutoModelForCausalLM, Path(folder)), load_tokenizer(Path(folder))
        return {"decoder": nats_by_decoder(model, tokenizer, list(rows["text"]))}


def make_word_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are the most frequent words of texts.

    A word is a run of letters and digits, or a run of other characters without white space, after NFC. Words are case
    sensitive. A text becomes `<bos> words`, as a decoder reads it. Other words become `<unk>`, and white space is
    lost: decoded words are joined by single spaces.

    Args:
        texts: The texts, read once.
        vocab_size: Maximum number of tokens, including the four special ones.

    Raises:
        ValueError: If `vocab_size` is below 5.
    """
    if not WITH_A_WORD.holds(vocab_size):
        raise ValueError(f"--vocab_size {vocab_size}: expected {WITH_A_WORD.words}")
    backend = Tokenizer(models.WordLevel(unk_token=_UNKNOWN))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special_tokens = list(_SPECIAL_TOKENS)
    trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=special_tokens, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=f"{_BOS} $A", special_tokens=[(_BOS, backend.token_to_id(_BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=_PAD,
        bos_token=_BOS,
        eos_token=_EOS,
        unk_token=_UNKNOWN,
        padding_side="left",
        split_special_tokens=True,
        model_input_names=["input_ids", "attention_mask"],
    )


class Words:
    """The most frequent words of the training texts, and one token for all others."""

    make_tokenizer = staticmethod(make_word_tokenizer)

    def describe(
        self, rows: Mapping[str, Rows], tokenizer: PreTrainedTokenizerBase, training: TrainingArguments
    ) -> None:
        """Print the number of documents and words of each split, and the share of unknown words."""
        for name, of_split in rows.items():
            words, unknown = _count_words(of_split, tokenizer)
            print(f"{name}: {len(of_split):,} documents, {words:,} words, {unknown / words:.1%} of them unknown")
        print(f"{len(tokenizer):,} tokens\n", flush=True)

    def scores(self, nats: float, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return bits and perplexity per word, punctuation marks counted as words, and the share of unknown words.

        The spelling of unknown words and white space cost nothing. So there are no bits per character, and scores can
        be compared only for the same vocabulary and texts.
        """
        words, unknown = _count_words(rows, tokenizer)
        per_word = nats / words
        return {
            "bits_per_word": per_word / math.log(2),
            "word_perplexity": math.exp(per_word),
            "unknown_words": unknown / words,
        }

    def baseline_nats(self, train: Rows, rows: Rows, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Return nats for equally likely tokens, and for tokens as likely as their counts in training plus one."""
        seen, predicted = (
            sum(np.bincount(ids[1:], minlength=len(tokenizer)) for ids in of_split["input_ids"])
            for of_split in (train, rows)
        )
        shares = (seen + 1) / (seen + 1).sum()
        return {
            "uniform words": float(predicted.sum() * math.log(len(tokenizer))),
            "unigram words": float(-(predicted * np.log(shares)).sum()),
        }

    def decoder_nats(self, folder: str, rows: Rows) -> dict[str, float]:
        """Return an empty dictionary."""
        print(
            "No decoder is compared: a character decoder predicts the spelling of every word and the spaces; "
            "this model does not"
        )
        return {}


# Rows have the columns `text` and `input_ids`, one document each. What is scored includes the end-of-text tokens.
LEVELS: dict[str, Characters | Words] = {"characters": Characters(), "words": Words()}


def nats_by_votes(model: AtentaPairVotesForCausalLM, documents: Iterable[Sequence[int]]) -> float:
    """Return the negative log-likelihood of documents in nats for a pair-votes model.

    Long documents are read in pieces, each with all earlier tokens that may vote in it.

    Args:
        model: A fitted model.
        documents: Ids of each document, `<bos> tokens <eos>`; all but the first are predicted.
    """
    return sum(_nats_of_document(model, torch.as_tensor(np.asarray(ids), device=model.device)) for ids in documents)


def nats_by_decoder(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    batch_size: int = 32,
    block_size: int | None = None,
) -> float:
    """Return the negative log-likelihood of documents in nats for a decoder.

    The documents are packed into rows, as in pretrain_causal.py.

    Args:
        model: A decoder of this package.
        tokenizer: The decoder's tokenizer, of characters.
        texts: The documents; their ends are predicted too.
        batch_size: Number of rows in a batch.
        block_size: Tokens of a row; by default `max_position_embeddings`, as of a decoder that was new in training.
    """
    together = range(0, len(texts), DEFAULT_MAX_BATCH_SIZE)  # packed together in training
    batches = ({"text": list(texts[start : start + DEFAULT_MAX_BATCH_SIZE])} for start in together)
    size = block_size or model.config.max_position_embeddings
    rows = [{"input_ids": row} for batch in batches for row in pack(batch, tokenizer, size)["input_ids"]]
    special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    return sum(nats_of_rows(model, rows, partial(collate_packed, **special), batch_size))


def nats_of_rows(
    model: PreTrainedModel, rows: Sequence[Any], collate: Callable[[list[Any]], Any], batch_size: int
) -> list[float]:
    """Return the negative log-likelihood of each row in nats for a decoder, of what is predicted in its `labels`."""
    nats: list[float] = []
    for batch in DataLoader(rows, batch_size, collate_fn=collate):  # type: ignore[arg-type]
        batch = {name: values.to(model.device) for name, values in batch.items()}
        labels = batch.pop("labels")
        with torch.inference_mode():
            nats += nats_of_texts(model(**batch, use_cache=False).logits, labels).tolist()
    return nats


def _nats_of_document(model: AtentaPairVotesForCausalLM, ids: torch.Tensor) -> float:
    nats, reach = 0.0, model.config.max_distance or len(ids)
    for start in range(0, len(ids) - 1, POSITIONS_AT_ONCE):
        end = min(start + POSITIONS_AT_ONCE, len(ids) - 1)
        with torch.inference_mode():
            read = ids[None, max(0, start - reach) : end]
            logits = model(read, logits_to_keep=end - start).logits[0]
        nats += cross_entropy(logits, ids[start + 1 : end + 1], reduction="sum").item()
    return nats


def _count_words(rows: Rows, tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """Return the numbers of words and unknown words."""
    documents = list(rows["input_ids"])
    ids = np.concatenate(documents)
    return len(ids) - 2 * len(documents), int((ids == tokenizer.unk_token_id).sum())  # without <bos> and <eos>
