import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores
from support.alignment import alignment


def accuracy(predictions, references):
    return scores(["word_accuracy"], predictions=predictions, references=references)["word_accuracy"]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("não é nada", "não é nada", 1),
        ("não é nada", "nao é nada", 2 / 3),
        ("não é nada", "é nada", 2 / 3),  # a word too few costs itself, not those after it
        ("não é nada", "não é mais nada", 1),  # a word too many costs no reference word
        ("não é nada", "", 0),
        ("não é nada", "   ", 0),
        ("não", "não não não não", 1),
        ("não é", " não  é ", 1),
        ("não é", "não\té", 1),
        ("não é", "nãoé", 0),
        ("Não", "não", 0),
    ],
)
def test_hand_worked(reference, prediction, expected):
    assert accuracy([prediction], [reference]) == pytest.approx(expected)


def test_over_all_words_and_not_a_mean_of_means():
    assert accuracy(["x", "b c d"], ["a", "b c d"]) == pytest.approx(3 / 4)


words = st.lists(st.sampled_from(["é", "e", "não", "nao"]), max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(words, words.filter(bool)), min_size=1, max_size=4))
def test_between_the_fewest_and_most_matches_of_a_plain_dynamic_programme(pairs):
    predictions, references = ([" ".join(words) for words in side] for side in zip(*pairs))
    by_text = [alignment(reference, prediction) for prediction, reference in pairs]
    reference_words = sum(len(reference) for _, reference in pairs)
    fewest, most = (sum(matches) / reference_words for matches in list(zip(*by_text))[1:])
    assert fewest - 1e-9 <= accuracy(predictions, references) <= most + 1e-9


@pytest.mark.parametrize("reference", ["", "  "])
def test_a_reference_without_words(reference):
    with pytest.raises(ValueError, match="reference 1; expected at least one word"):
        accuracy(["a", "b"], ["a", reference])
