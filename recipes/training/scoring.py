"""How much texts surprise a model, in nats, whatever their length: read piece by piece."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from atenta import AtentaPairVotesForCausalLM
from atenta.recipes.encoding.packing import collate_packed, pack
from atenta.recipes.training.evaluation import nats_of_texts

PIECE = 256  # positions whose votes, a number for each token of the vocabulary, are in memory together


def nats_by_votes(model: AtentaPairVotesForCausalLM, documents: Iterable[Sequence[int]]) -> float:
    """Return the nats of documents by the votes; a piece of one is read with all tokens that may vote in it.

    Args:
        model: fitted.
        documents: ids of each, `<bos> tokens <eos>`; all but the first are foreseen.
    """
    return sum(_nats_of_document(model, torch.as_tensor(np.asarray(ids), device=model.device)) for ids in documents)


def _nats_of_document(model: AtentaPairVotesForCausalLM, ids: torch.Tensor) -> float:
    nats, reach = 0.0, model.config.max_distance or len(ids)
    for start in range(0, len(ids) - 1, PIECE):
        end = min(start + PIECE, len(ids) - 1)
        with torch.inference_mode():
            read = ids[None, max(0, start - reach) : end]
            logits = model(read, logits_to_keep=end - start).logits[0]
        nats += cross_entropy(logits, ids[start + 1 : end + 1], reduction="sum").item()
    return nats


def nats_by_decoder(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], batch_size: int = 32
) -> float:
    """Return the nats of documents by a decoder, packed into rows as long as it has learned, as in pretrain_causal.

    Args:
        model: a decoder of this package, trained on rows of `max_position_embeddings` tokens.
        tokenizer: its tokenizer, of characters.
        texts: the documents; their ends are foreseen too.
        batch_size: rows read together.
    """
    rows = pack({"text": texts}, tokenizer, model.config.max_position_embeddings)["input_ids"]

    def collate(some_rows: list[np.ndarray]) -> dict[str, torch.Tensor]:
        special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
        return collate_packed([{"input_ids": row} for row in some_rows], **special)

    nats = 0.0
    for batch in DataLoader(rows, batch_size, collate_fn=collate):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        labels = batch.pop("labels")
        with torch.inference_mode():
            nats += nats_of_texts(model(**batch, use_cache=False).logits, labels).sum().item()
    return nats
