import pytest
from datasets import Dataset

from atenta.recipes.reading.tagged import FEATURES, check, tag_names


def test_a_tagged_sentence():
    fields = {"words": ["Rua", "da", "Ajuda"], "tags": ["B-LOCAL", "I-LOCAL", "I-LOCAL"], "id": 4}
    assert check(fields) == {"words": fields["words"], "tags": fields["tags"]}


def test_a_word_may_be_a_number_written_with_a_space():
    assert check({"words": ["34 470", "contos"], "tags": ["NUM", "NOUN"]})["words"] == ["34 470", "contos"]


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (None, ["O"], "found None as the words; expected a list of at least one text"),
        ([], [], r"found \[\] as the words; expected"),
        ("a", ["O"], "found 'a' as the words; expected a list"),
        (["a", "b"], ["O"], r"found 2 word\(s\) and 1 tag\(s\); expected one tag a word"),
        (["a", ""], ["O", "O"], "found an empty word 2; expected"),
        (["a", "\u00a0"], ["O", "O"], "found an empty word 2; expected"),
        (["a", "b "], ["O", "O"], "found white space around the word 2, 'b '; expected none"),
        (["a", "b\u2003"], ["O", "O"], "found white space around the word 2"),
        (["a", "b"], ["O", " X"], "found white space around the tag 2, ' X'; expected none"),
        (["a", "b"], ["O", ""], "found an empty tag 2; expected"),
        (["a", "b"], ["O", 3], r"found 3 \(int\) as the tag 2; expected a text"),
        (["a", "\ud800"], ["O", "O"], "found the lone surrogate .* of the word 2; expected"),
    ],
)
def test_a_malformed_row_is_named(words, tags, message):
    with pytest.raises(ValueError, match=message):
        check({"words": words, "tags": tags})


def test_rows_have_the_features():
    rows = [check({"words": ["a", "b"], "tags": ["O", "B-X"]}), check({"words": ["c"], "tags": ["O"]})]
    assert Dataset.from_list(rows, features=FEATURES).to_list() == rows


def test_tag_names_are_sorted_and_distinct():
    rows = [{"tags": ["O", "B-X", "I-X"]}, {"tags": ["O"]}]
    assert tag_names(rows) == tag_names(reversed(rows)) == ["B-X", "I-X", "O"]
