from functools import partial
from itertools import pairwise

import pytest
import torch
from datasets import Dataset, List, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.recipes.encoding.packing import collate_packed, pack
from support.models import tiny_model

TOKENIZER = AtentaTokenizer.from_alphabet("abcdefgh ", family="decoder")
PAD, BOS, EOS = TOKENIZER.pad_token_id, TOKENIZER.bos_token_id, TOKENIZER.eos_token_id

documents = st.lists(st.text("abcdé 𝄞"), min_size=1, max_size=6)


collate = partial(collate_packed, pad_token_id=PAD, eos_token_id=EOS)


def packed(texts, block_size):
    columns = pack({"text": texts}, TOKENIZER, block_size)
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def rows_of(texts, block_size):
    """What a decoder gets of each packed row."""
    batches = [collate([row]) for row in packed(texts, block_size)]
    return [{name: values.tolist()[0] for name, values in batch.items()} for batch in batches]


def pieces_of(row):
    """A packed row's pieces, by the positions that start again."""
    starts = [place for place, position in enumerate(row["position_ids"]) if position == 0]
    return [row["input_ids"][start:end] for start, end in zip(starts, [*starts[1:], len(row["input_ids"])])]


def test_a_document_goes_on_in_the_next_row_from_its_last_token():
    a, b, c, d = TOKENIZER.convert_tokens_to_ids(list("abcd"))
    first, second = rows_of(["a", "bcd"], 5)
    assert first == {
        "input_ids": [BOS, a, EOS, BOS, b],
        "position_ids": [0, 1, 2, 0, 1],
        "labels": [-100, a, EOS, -100, b],
    }
    assert second == {"input_ids": [b, c, d, EOS], "position_ids": [0, 1, 2, 3], "labels": [-100, c, d, EOS]}


@given(documents, st.integers(2, 12))
def test_every_character_is_learned_once_and_in_order(texts, block_size):
    rows = rows_of(texts, block_size)
    learned = [label for row in rows for label in row["labels"] if label != -100]
    assert learned == [label for text in texts for label in [*TOKENIZER(text).input_ids[1:], EOS]]


@given(documents, st.integers(2, 12))
def test_each_token_follows_the_one_before_it_in_its_document(texts, block_size):
    whole = [[*TOKENIZER(text).input_ids, EOS] for text in texts]
    followers = [pair for document in whole for pair in pairwise(document)]
    pieces = [piece for row in rows_of(texts, block_size) for piece in pieces_of(row)]
    assert [pair for piece in pieces for pair in pairwise(piece)] == followers


@given(documents, st.integers(2, 12))
def test_all_rows_but_the_last_are_full(texts, block_size):
    lengths = [len(row["input_ids"]) for row in rows_of(texts, block_size)]
    assert all(length == block_size for length in lengths[:-1])
    assert all(2 <= length <= block_size for length in lengths[-1:])


@pytest.mark.parametrize("block_size", [1, 0, -1])
def test_a_block_needs_two_tokens(block_size):
    with pytest.raises(ValueError, match=f"--block_size is {block_size}; expected 2 or more"):
        pack({"text": ["a"]}, TOKENIZER, block_size)


def test_padding_is_a_piece_of_its_own():
    batch = collate(packed(["abc", "de"], 6))
    d, e = TOKENIZER.convert_tokens_to_ids(["d", "e"])
    assert batch.keys() == {"input_ids", "position_ids", "labels"}
    assert batch["input_ids"][1].tolist() == [BOS, d, e, EOS, PAD, PAD]
    assert batch["position_ids"][1].tolist() == [0, 1, 2, 3, 0, 1]
    assert batch["labels"][1].tolist() == [-100, d, e, EOS, -100, -100]
    assert {tensor.dtype for tensor in batch.values()} == {torch.long}


@given(st.lists(st.text("abcdefgh ", max_size=9), min_size=1, max_size=5), st.integers(2, 9))
@settings(max_examples=15, deadline=None)
def test_the_loss_of_a_packed_batch_is_that_of_its_pieces_alone(texts, block_size):
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER))
    rows = rows_of(texts, block_size)
    with torch.no_grad():
        together = model(**collate(packed(texts, block_size)), use_cache=False, num_items_in_batch=1).loss
        pieces = [torch.tensor([piece]) for row in rows for piece in pieces_of(row) if len(piece) > 1]
        alone = sum(model(piece, labels=piece, num_items_in_batch=1).loss for piece in pieces)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_it_maps_a_dataset_and_a_stream_alike():
    rows = Dataset.from_dict({"text": ["abc", "d", "efgh" * 5]})
    options = {"batched": True, "remove_columns": ["text"], "fn_kwargs": {"tokenizer": TOKENIZER, "block_size": 8}}
    expected = collate(packed(rows["text"][:], 8))
    for mapped in (rows.map(pack, **options), rows.to_iterable_dataset().map(pack, **options)):
        for of_one_format in (mapped, mapped.with_format("numpy")):
            batch = collate(of_one_format)
            assert all(torch.equal(batch[name], expected[name]) for name in expected)


def test_only_ids_are_stored_two_bytes_each():
    rows = Dataset.from_dict({"text": ["abc", "d"]})
    mapped = rows.map(partial(pack, tokenizer=TOKENIZER, block_size=4), batched=True, remove_columns="text")
    assert mapped.features == {"input_ids": List(Value("uint16"))}


def test_special_tokens_in_a_text_are_characters():
    tokenizer = AtentaTokenizer.from_alphabet("<>abdeops", family="decoder")
    (row,) = pack({"text": ["a<eos><bos><pad>b"]}, tokenizer, 99)["input_ids"]
    assert row.tolist() == [BOS, *tokenizer.convert_tokens_to_ids(list("a<eos><bos><pad>b")), EOS]


def test_the_cache_is_found_again_after_the_tokenizer_was_used():
    rows = Dataset.from_dict({"text": ["abc"]})

    def fingerprint(tokenizer):
        return rows.map(
            partial(pack, tokenizer=tokenizer, block_size=8), batched=True, remove_columns="text"
        )._fingerprint

    before = fingerprint(TOKENIZER)
    TOKENIZER(["a", "abc"], padding=True, truncation=True, max_length=2)
    assert fingerprint(TOKENIZER) == before
    assert fingerprint(AtentaTokenizer.from_alphabet("abcdefgh ", family="decoder")) == before
    assert fingerprint(AtentaTokenizer.from_alphabet("abcdefg ", family="decoder")) != before
