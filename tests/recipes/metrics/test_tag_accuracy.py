import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def accuracy(predictions, references):
    return scores(["tag_accuracy"], predictions=predictions, references=references)["tag_accuracy"]


def test_hand_worked_over_all_words_and_not_a_mean_of_means():
    assert accuracy([["NOUN"], ["DET", "NOUN", "VERB"]], [["VERB"], ["DET", "NOUN", "VERB"]]) == pytest.approx(3 / 4)


sentences = st.lists(st.lists(st.tuples(*[st.sampled_from(["DET", "NOUN", "VERB"])] * 2)), max_size=4)


@settings(deadline=None)
@given(sentences.filter(any))
def test_equals_a_count(sentences):
    predictions, references = ([[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1))
    words = [pair for sentence in sentences for pair in sentence]
    expected = len([word for word in words if word[0] == word[1]]) / len(words)
    assert accuracy(predictions, references) == pytest.approx(expected)


def test_one_tag_a_word():
    with pytest.raises(ValueError, match="found 1 tags in prediction 1 and 2 in its reference"):
        accuracy([["DET"], ["DET"]], [["DET"], ["DET", "NOUN"]])


def test_no_tags():
    with pytest.raises(ValueError, match="found no tags in 2 references"):
        accuracy([[], []], [[], []])
