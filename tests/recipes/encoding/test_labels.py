"""Texts and pairs of texts with the numbers of their labels."""

import pytest

from atenta import AtentaTokenizer
from atenta.recipes.encoding.labels import encode_labelled

LABELS = {"nome": 0, "verbo": 1}


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_texts(["casa falar<eos>"], family="encoder")


def batch(*rows):
    return {name: list(column) for name, column in zip(("text", "text_pair", "label"), zip(*rows))}


def test_texts_and_pairs_have_the_encoder_s_template_and_their_label_s_number(tokenizer):
    encoded = encode_labelled(batch(("casa", None, "nome"), ("fala", "casar", "verbo")), tokenizer, LABELS)
    assert [tokenizer.decode(ids) for ids in encoded["input_ids"]] == [
        "<bos>casa<eos>",
        "<bos>fala<eos>casar<eos>",
    ]
    assert [len(mask) for mask in encoded["attention_mask"]] == [6, 12]
    assert encoded["labels"] == [0, 1]
    assert {len(column) for column in encoded.values()} == {2}


def test_a_second_text_is_told_from_the_first(tokenizer):
    encoded = encode_labelled(batch(("fala", "casar", "verbo")), tokenizer, LABELS)
    assert encoded["token_type_ids"] == [[0] * 6 + [1] * 6]


def test_what_reads_like_a_special_token_is_text(tokenizer):
    (ids,) = encode_labelled(batch(("a<eos>", None, "nome")), tokenizer, LABELS)["input_ids"]
    assert ids.count(tokenizer.eos_token_id) == 1
    assert len(ids) == len("a<eos>") + 2


def test_labels_that_the_model_lacks_are_named_all(tokenizer):
    rows = batch(("casa", None, "nome"), ("azul", None, "adjetivo"), ("sim", None, "advérbio"))
    with pytest.raises(ValueError, match=r"found the label 'adjetivo', 'advérbio'; the model has nome, verbo"):
        encode_labelled(rows, tokenizer, LABELS)


def test_no_rows_are_no_rows(tokenizer):
    assert encode_labelled({"text": [], "text_pair": [], "label": []}, tokenizer, LABELS) == {"labels": []}
