import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores
from support.alignment import alignment


def error_rate(predictions, references):
    return scores(["word_error_rate"], predictions=predictions, references=references)["word_error_rate"]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("não é nada", "não é nada", 0),
        ("não é nada", "nao é nada", 1 / 3),
        ("não é nada", "é nada", 1 / 3),
        ("não é nada", "não é mais nada", 1 / 3),
        ("não é nada", "", 1),
        ("não", "não não não não", 3),
        ("não é", " não\t é\n", 0),
        ("não é", "nãoé", 2 / 2),
    ],
)
def test_hand_worked(reference, prediction, expected):
    assert error_rate([prediction], [reference]) == pytest.approx(expected)


def test_over_all_words_and_not_a_mean_of_means():
    assert error_rate(["x", "b c d"], ["a", "b c d"]) == pytest.approx(1 / 4)


words = st.lists(st.sampled_from(["é", "e", "não", "nao"]), max_size=6)
spaces = st.sampled_from([" ", "  ", "\t", "\n"])


@settings(deadline=None)
@given(st.lists(st.tuples(words, words.filter(bool)), min_size=1, max_size=4), spaces)
def test_equals_a_plain_dynamic_programme(pairs, space):
    predictions, references = ([space.join(words) for words in side] for side in zip(*pairs))
    edits = sum(alignment(reference, prediction)[0] for prediction, reference in pairs)
    expected = edits / sum(len(reference) for _, reference in pairs)
    assert error_rate(predictions, references) == pytest.approx(expected)


@pytest.mark.parametrize("reference", ["", "  "])
def test_a_reference_without_words(reference):
    with pytest.raises(ValueError, match="reference 1; expected at least one word"):
        error_rate(["a", "b"], ["a", reference])
