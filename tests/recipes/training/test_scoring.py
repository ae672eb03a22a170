import pytest
import torch

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from atenta.modeling import AtentaDecoderForCausalLM
from atenta.recipes.training import scoring
from support.models import tiny_model
from support.trainers import tiny_tokenizer

TEXTS = ["abcabdabcabe", "ab", "cabcab"]


def ids_of(tokenizer):
    return [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in TEXTS]


def nats_read_whole(model, documents):
    """The library's own loss, a mean, of each document by itself."""
    ids = [torch.tensor([document]) for document in documents]
    return sum(model(one, labels=one).loss.item() * (one.shape[1] - 1) for one in ids)


@pytest.mark.parametrize("max_distance", [1, 4, None])
@pytest.mark.parametrize("piece", [1, 3, 256])
def test_votes_read_piece_by_piece_are_those_of_the_whole_text(max_distance, piece, monkeypatch):
    monkeypatch.setattr(scoring, "PIECE", piece)
    tokenizer = tiny_tokenizer("decoder")
    documents = ids_of(tokenizer)
    config = AtentaPairVotesConfig(vocab_size=len(tokenizer), max_distance=max_distance)
    model = AtentaPairVotesForCausalLM(config).fit(documents[::2])
    assert scoring.nats_by_votes(model, documents) == pytest.approx(nats_read_whole(model, documents), rel=1e-5)


def test_a_decoder_foresees_documents_that_fit_in_its_rows_as_by_themselves():
    tokenizer = tiny_tokenizer("decoder")
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), max_position_embeddings=64)
    found = scoring.nats_by_decoder(model, tokenizer, TEXTS, batch_size=1)
    assert found == pytest.approx(nats_read_whole(model, ids_of(tokenizer)), rel=1e-5)


def test_a_decoder_reads_longer_documents_in_rows_as_long_as_it_has_learned():
    tokenizer = tiny_tokenizer("decoder")
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), max_position_embeddings=8)
    text = TEXTS[0]
    ids = ids_of(tokenizer)[0]
    rows = [ids[:8], ids[7:]]  # the last token of a row is read again, as what the next one follows
    assert scoring.nats_by_decoder(model, tokenizer, [text]) == pytest.approx(nats_read_whole(model, rows), rel=1e-5)
