"""Document 3, characters, tokens and padding."""

import string

import pytest
import torch

from atenta import DEFAULT_ALPHABET, AtentaEncoderModel, AtentaTokenizer
from support.documents import worked_example
from support.models import tiny_model

ALPHABET = worked_example("3/tokens").inputs["alphabet"]
ANIMALS = ["gato", "elefante", "peixe", "pássaro", "cão"]


def test_ids_of_a_word():
    """Special tokens come first, then the alphabet in its order, and each id has a row of the embeddings."""
    example = worked_example("3/tokens")
    tokenizer = AtentaTokenizer.from_alphabet(ALPHABET, family="encoder")
    ids = tokenizer(example.inputs["text"], return_tensors="pt").input_ids
    assert ids[0].tolist() == example.exact["ids"].tolist() == example.printed["ids"].tolist()
    embeddings = tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer)).get_input_embeddings()
    assert torch.equal(embeddings(ids)[0], embeddings.weight[ids[0]])


def test_the_id_of_a():
    """Printed: 1, 3 and 4 in turn. It is 3 after three special tokens, and 13 where the digits come first."""
    tokenizer = AtentaTokenizer.from_alphabet(ALPHABET, family="encoder")
    assert tokenizer.convert_tokens_to_ids(["<bos>", "a", "b", "z", " ", ".", ","]) == [1, 3, 4, 28, 29, 30, 31]
    assert AtentaTokenizer.from_alphabet(string.printable, family="encoder").convert_tokens_to_ids(["0", "a"]) == [
        3,
        13,
    ]


def test_the_printed_batch_of_padded_ids():
    """Printed: the ids of the first table with `<bos>` = 1 and `<eos>` = 2, which decode to other characters."""
    printed = [[1, 7, 1, 20, 15, 2, 0, 0, 0, 0], [1, 5, 12, 5, 6, 1, 14, 20, 5, 2]]
    tokenizer = AtentaTokenizer.from_alphabet(ALPHABET, family="encoder")
    assert tokenizer.batch_decode(printed, skip_special_tokens=True) == ["erm", "cjcdlrc"]

    padded = tokenizer(["gato", "elefante"], padding=True).input_ids
    assert padded == [[1, 9, 3, 22, 17, 2, 0, 0, 0, 0], [1, 7, 14, 7, 8, 3, 16, 22, 7, 2]]
    assert tokenizer.batch_decode(padded, skip_special_tokens=True) == ["gato", "elefante"]


def test_the_printed_alphabet_lacks_the_printed_examples():
    """Printed: `string.printable`, with `pássaro` and `cão` as examples. A table of it has no `á` and no `ã`."""
    printable = AtentaTokenizer.from_alphabet(string.printable, family="encoder")
    table = printable.get_vocab()
    for animal, missing in (("pássaro", "á"), ("cão", "ã")):
        with pytest.raises(KeyError, match=missing):
            [table[character] for character in animal]

    default = AtentaTokenizer.from_alphabet(DEFAULT_ALPHABET, family="encoder")
    for animal in ANIMALS:
        assert default.tokenize(animal) == list(animal)
        for tokenizer in (printable, default):  # characters without an id become bytes
            assert tokenizer.decode(tokenizer(animal).input_ids, skip_special_tokens=True) == animal


def test_ids_are_in_the_order_that_is_given():
    """Printed: ids are drawn from `set(vocab)`, whose order changes from process to process."""
    in_a_set = AtentaTokenizer.from_alphabet(set(ALPHABET), family="encoder")
    assert in_a_set.convert_ids_to_tokens(range(3, 32)) == list(set(ALPHABET))
