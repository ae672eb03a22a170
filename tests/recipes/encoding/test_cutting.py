import pytest

from atenta.recipes.encoding.cutting import encode_documents
from support.trainers import tiny_tokenizer


def test_each_document_is_a_row_from_bos_to_eos():
    tokenizer = tiny_tokenizer("decoder")
    rows = encode_documents({"text": ["a. b\nc", "d!"]}, tokenizer, "sentence")
    assert rows["text"] == ["a.", "b\nc", "d!"]
    for text, ids in zip(rows["text"], rows["input_ids"]):
        assert (ids[0], ids[-1]) == (tokenizer.bos_token_id, tokenizer.eos_token_id)
        assert tokenizer.decode(ids[1:-1]) == text


def test_a_text_that_writes_eos_does_not_end_there():
    tokenizer = tiny_tokenizer("decoder")
    (ids,) = encode_documents({"text": ["a<eos>b"]}, tokenizer, "line")["input_ids"]
    assert ids.index(tokenizer.eos_token_id) == len(ids) - 1
    assert tokenizer.decode(ids[1:-1]) == "a<eos>b"


def test_another_way_to_cut_is_refused():
    with pytest.raises(ValueError, match="--sample_by page"):
        encode_documents({"text": ["a"]}, tiny_tokenizer("decoder"), "page")
