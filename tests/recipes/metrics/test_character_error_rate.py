import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores
from support.alignment import alignment


def error_rate(predictions, references):
    return scores(["character_error_rate"], predictions=predictions, references=references)["character_error_rate"]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("não é nada", "não é nada", 0),
        ("não é nada", "nao é nada", 1 / 10),
        ("não é nada", "é nada", 4 / 10),
        ("não é nada", "não é mais nada", 5 / 10),
        ("não é nada", "", 1),
        ("não é nada", "   ", 8 / 10),  # two of its spaces match
        ("não", "não não não não", 12 / 3),
        ("não é", " não é ", 2 / 5),
        ("não é", "não\té", 1 / 5),
        ("Não", "não", 1 / 3),
        ("kitten", "sitting", 3 / 6),
    ],
)
def test_hand_worked(reference, prediction, expected):
    assert error_rate([prediction], [reference]) == pytest.approx(expected)


def test_over_all_characters_and_not_a_mean_of_means():
    assert error_rate(["x", "b c d"], ["a", "b c d"]) == pytest.approx(1 / 6)


texts = st.text("aãeé ", max_size=7)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts.filter(str.strip)), min_size=1, max_size=4))
def test_equals_a_plain_dynamic_programme(pairs):
    predictions, references = zip(*pairs)
    edits = sum(alignment(reference, prediction)[0] for prediction, reference in pairs)
    assert error_rate(predictions, references) == pytest.approx(edits / sum(map(len, references)))


@pytest.mark.parametrize("reference", ["", "  "])
def test_a_reference_without_words(reference):
    with pytest.raises(ValueError, match="reference 1; expected at least one word"):
        error_rate(["a", "b"], ["a", reference])
