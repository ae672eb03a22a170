"""Tests of characters and words as tokens of pair-votes models."""

import math
from collections import Counter

import pytest
from datasets import Dataset
from transformers import AutoTokenizer

from atenta import AtentaDecoderForCausalLM, AtentaPairVotesConfig, AtentaPairVotesForCausalLM
from atenta.recipes import token_levels
from atenta.recipes.tasks.documents import encode_documents
from atenta.recipes.token_levels import LEVELS, make_word_tokenizer, nats_by_decoder, nats_by_votes
from support.models import nats_at_once, tiny_model
from support.trainers import tiny_tokenizer

WORDS = ["O gato viu o rato.", "o rato fugiu!", "o ac\u0327o"]


def test_the_most_frequent_words_are_tokens_after_the_special_ones():
    tokenizer = make_word_tokenizer(WORDS, 6)
    assert tokenizer.convert_ids_to_tokens(range(6)) == ["<pad>", "<bos>", "<eos>", "<unk>", "o", "rato"]
    assert tokenizer("o rato, o cão").tokens() == ["<bos>", "o", "rato", "<unk>", "o", "<unk>"]
    with pytest.raises(ValueError, match="--vocab_size 4: expected 5 or more"):
        make_word_tokenizer(WORDS, 4)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("rato!o aço", ["rato", "!", "o", "a\u00e7o"]), ("o <eos>", ["o", "<unk>", "<unk>", "<unk>"])],
    ids=["punctuation and composed letters", "a written special token"],
)
def test_texts_are_cut_into_words(text, tokens):
    assert make_word_tokenizer(WORDS, 100)(text).tokens() == ["<bos>", *tokens]


def test_a_word_tokenizer_loads_again_and_pads_on_the_left(tmp_path):
    tokenizer = make_word_tokenizer(WORDS, 100)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    batch = loaded(["o gato", "o"], padding=True)
    assert batch == tokenizer(["o gato", "o"], padding=True)
    assert batch.attention_mask == [[1, 1, 1], [0, 1, 1]]
    assert loaded.decode(batch.input_ids[0], skip_special_tokens=True) == "o gato"


CHARACTERS = ["abcabdabcabe", "ab", "cabcab"]


def ids_of(tokenizer):
    return [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in CHARACTERS]


@pytest.mark.parametrize(("max_distance", "positions"), [(4, 1), (1, 3), (None, 3)])
def test_votes_read_in_pieces_give_the_same_nats(max_distance, positions, monkeypatch):
    monkeypatch.setattr(token_levels, "POSITIONS_AT_ONCE", positions)
    tokenizer = tiny_tokenizer("decoder")
    documents = ids_of(tokenizer)
    config = AtentaPairVotesConfig(vocab_size=len(tokenizer), max_distance=max_distance)
    model = AtentaPairVotesForCausalLM(config).fit(documents[::2])
    assert nats_by_votes(model, documents) == pytest.approx(nats_at_once(model, documents), rel=1e-5)


def test_documents_packed_for_a_decoder_have_the_nats_of_each_by_itself():
    tokenizer = tiny_tokenizer("decoder")
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), max_position_embeddings=64)
    found = nats_by_decoder(model, tokenizer, CHARACTERS, batch_size=1)
    assert found == pytest.approx(nats_at_once(model, ids_of(tokenizer)), rel=1e-5)


def test_a_decoder_reads_longer_documents_in_several_rows():
    tokenizer = tiny_tokenizer("decoder")
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), max_position_embeddings=8)
    ids = ids_of(tokenizer)[0]
    rows = [ids[:8], ids[7:]]  # the last token of a row is read again as the context of the next row
    found = nats_by_decoder(model, tokenizer, CHARACTERS[:1])
    assert found == pytest.approx(nats_at_once(model, rows), rel=1e-5)


TRAIN = ["o gato viu o rato", "o rato viu"]
TEST = ["o gato fugiu", "viu"]  # 16 characters, with the line end between the documents, and 4 words


def rows_of(texts, tokenizer):
    return Dataset.from_dict(encode_documents({"text": texts}, tokenizer))


def test_the_unigram_baseline_of_words_is_as_counted_by_hand():
    level = LEVELS["words"]
    tokenizer = level.make_tokenizer(TRAIN, 30)
    seen = Counter(["o", "gato", "viu", "o", "rato", "o", "rato", "viu", "<eos>", "<eos>"])
    assert len(tokenizer) == 8  # four words and four special tokens
    predicted = ["o", "gato", "<unk>", "<eos>", "viu", "<eos>"]
    expected = -sum(math.log((seen[word] + 1) / (10 + 8)) for word in predicted)
    rows = rows_of(TRAIN, tokenizer), rows_of(TEST, tokenizer)
    assert level.baseline_nats(*rows, tokenizer)["unigram words"] == pytest.approx(expected)
    assert level.scores(expected, rows[1], tokenizer)["unknown_words"] == 1 / 4
