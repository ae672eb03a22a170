from atenta.recipes.encoding.documents import encode_documents
from support.trainers import tiny_tokenizer


def test_each_document_goes_from_bos_to_eos():
    tokenizer = tiny_tokenizer("decoder")
    texts = ["a. b\nc", "d!"]
    rows = encode_documents({"text": texts}, tokenizer)
    assert rows["text"] == texts
    for text, ids in zip(texts, rows["input_ids"], strict=True):
        assert (ids[0], ids[-1]) == (tokenizer.bos_token_id, tokenizer.eos_token_id)
        assert tokenizer.decode(ids[1:-1]) == text


def test_a_text_that_writes_eos_does_not_end_there():
    tokenizer = tiny_tokenizer("decoder")
    (ids,) = encode_documents({"text": ["a<eos>b"]}, tokenizer)["input_ids"]
    assert ids.index(tokenizer.eos_token_id) == len(ids) - 1
    assert tokenizer.decode(ids[1:-1]) == "a<eos>b"
