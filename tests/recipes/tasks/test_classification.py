import pytest

from atenta import AtentaTokenizer
from atenta.recipes.tasks.classification import check_labelled_text, encode_labelled

LABELS = {"nome": 0, "verbo": 1}


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_texts(["casa falar<eos>"], family="encoder")


def batch(*rows):
    return {name: list(column) for name, column in zip(("text", "text_pair", "label"), zip(*rows))}


# Rows


def test_a_label_may_be_a_number():
    assert check_labelled_text({"text": "a", "label": 0}) == {"text": "a", "text_pair": None, "label": "0"}


# Encoding


def test_encoding(tokenizer):
    encoded = encode_labelled(batch(("casa", None, "nome"), ("fala", "casar", "verbo")), tokenizer, LABELS)
    assert [tokenizer.decode(ids) for ids in encoded["input_ids"]] == ["<bos>casa<eos>", "<bos>fala<eos>casar<eos>"]
    assert encoded["token_type_ids"][1] == [0] * 6 + [1] * 6
    assert [len(mask) for mask in encoded["attention_mask"]] == [6, 12]
    assert encoded["labels"] == [0, 1]
    assert {len(column) for column in encoded.values()} == {2}
    assert encode_labelled({"text": [], "text_pair": [], "label": []}, tokenizer, LABELS) == {"labels": []}
