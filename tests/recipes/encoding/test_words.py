import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.encoding.words import align_tags, read_tags

TOKENIZER = AtentaTokenizer.from_alphabet("abcdé<>os ", family="encoder")
LABELS = {"O": 0, "B-LOC": 1, "I-LOC": 2}
NAMES = {number: tag for tag, number in LABELS.items()}

word = st.text("abé\u0301\u0323=\u0338Ж𝄞<>eos\u1100\u1161", min_size=1)
tagged_rows = st.lists(st.lists(st.tuples(word, st.sampled_from(list(LABELS))), min_size=1), min_size=1, max_size=4)


def columns_of(rows):
    return {"words": [[word for word, _ in row] for row in rows], "tags": [[tag for _, tag in row] for row in rows]}


def padded(rows, filling):
    longest = max(map(len, rows)) + 2
    return np.array([[*row, *[filling] * (longest - len(row))] for row in rows])


def test_the_tag_stands_at_the_first_character():
    columns = columns_of([[("é", "O"), ("Жé", "B-LOC"), ("abc", "I-LOC")]])
    encoded = align_tags(columns, TOKENIZER, LABELS)
    assert TOKENIZER.convert_ids_to_tokens(encoded["input_ids"][0]) == [
        *["<bos>", "é", " ", "<0xD0>", "<0x96>", "é", " ", "a", "b", "c", "<eos>"]
    ]
    assert encoded["labels"] == [[-100, 0, -100, 1, -100, -100, -100, 2, -100, -100, -100]]


@given(tagged_rows)
def test_any_words_come_back_with_their_tags(rows):
    columns = columns_of(rows)
    encoded = align_tags(columns, TOKENIZER, LABELS)
    labels = padded(encoded["labels"], -100)
    assert read_tags(labels, labels, NAMES) == columns["tags"]
    elsewhere = np.where(labels == -100, 1, labels)
    assert read_tags(elsewhere, labels, NAMES) == columns["tags"]


@given(tagged_rows)
def test_each_label_stands_where_its_word_begins(rows):
    encoded = align_tags(columns_of(rows), TOKENIZER, LABELS)
    for row, ids, labels in zip(rows, encoded["input_ids"], encoded["labels"]):
        firsts = [place for place, label in enumerate(labels) if label != -100]
        parts = [ids[start:end] for start, end in zip(firsts, [*(first - 1 for first in firsts[1:]), len(ids) - 1])]
        assert parts == [
            TOKENIZER(word, add_special_tokens=False, split_special_tokens=True).input_ids for word, _ in row
        ]


def test_an_unknown_tag_is_named():
    with pytest.raises(ValueError, match=r"found the tag B-PER; expected one of O, B-LOC, I-LOC"):
        align_tags(columns_of([[("a", "B-PER")]]), TOKENIZER, LABELS)


def test_an_empty_word_is_an_error():
    with pytest.raises(ValueError, match=r"found an empty word in \['a', ''\]"):
        align_tags(columns_of([[("a", "O"), ("", "O")]]), TOKENIZER, LABELS)
