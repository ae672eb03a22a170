import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.tasks.tagging import check_tagged_words, encode_tagged, tags_of_words

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


# Rows


def test_a_word_may_have_a_space():
    with_space = {"words": ["34 470", "contos"], "tags": ["NUM", "NOUN"]}
    assert check_tagged_words(with_space) == with_space


@pytest.mark.parametrize(
    ("words", "tags", "found"),
    [
        *((words, ["O"], "as the words") for words in (None, [], "a")),
        (["a", "b"], ["O"], r"2 word\(s\) and 1 tag\(s\)"),
        *((["a", word], ["O", "O"], "the word 2") for word in ("b ", "b\u2003", "\ud800")),
        *((["a", word], ["O", "O"], "empty word 2") for word in ("", "\u00a0")),
        *((["a", "b"], ["O", tag], "tag 2") for tag in (" X", "", 3)),
    ],
)
def test_malformed_row(words, tags, found):
    with pytest.raises(ValueError, match=f"found .*{found}.*; expected"):
        check_tagged_words({"words": words, "tags": tags})
    with pytest.raises(ValueError, match=r"found an empty word in \['a', ''\]"):
        encode_tagged(columns_of([[("a", "O"), ("", "O")]]), TOKENIZER, LABELS)


# Encoding


@given(tagged_rows)
def test_tags_round_trip(rows):
    columns = columns_of(rows)
    encoded = encode_tagged(columns, TOKENIZER, LABELS)
    labels = padded(encoded["labels"], -100)
    assert tags_of_words(labels, labels, NAMES) == columns["tags"]
    others = np.where(labels == -100, 1, labels)  # predictions at other tokens are ignored
    assert tags_of_words(others, labels, NAMES) == columns["tags"]


@given(tagged_rows)
def test_labels_are_at_the_starts_of_words(rows):
    encoded = encode_tagged(columns_of(rows), TOKENIZER, LABELS)
    for row, ids, labels in zip(rows, encoded["input_ids"], encoded["labels"]):
        firsts = [place for place, label in enumerate(labels) if label != -100]
        parts = [ids[start:end] for start, end in zip(firsts, [*(first - 1 for first in firsts[1:]), len(ids) - 1])]
        assert parts == [
            TOKENIZER(word, add_special_tokens=False, split_special_tokens=True).input_ids for word, _ in row
        ]
