import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.metrics import scores
from support.alignment import alignment


def error_rate(predictions, references):
    return scores(["phone_error_rate"], predictions=predictions, references=references)["phone_error_rate"]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("k a z ɐ", "k a z ɐ", 0),
        ("k a z ɐ", "k a s ɐ", 1 / 4),
        ("t͡ʃ a w", "t ʃ a w", 2 / 3),  # one phone of several characters, taken for two
        ("k a z ɐ", "", 1),
    ],
)
def test_hand_worked(reference, prediction, expected):
    assert error_rate([prediction], [reference]) == pytest.approx(expected)


phones = st.lists(st.sampled_from(["a", "ɐ", "t͡ʃ", "k"]), max_size=6)


@given(st.lists(st.tuples(phones, phones.filter(bool)), min_size=1, max_size=4))
def test_equals_a_plain_dynamic_programme(pairs):
    predictions, references = ([" ".join(phones) for phones in side] for side in zip(*pairs))
    edits = sum(alignment(reference, prediction)[0] for prediction, reference in pairs)
    assert error_rate(predictions, references) == pytest.approx(edits / sum(len(gold) for _, gold in pairs))


def test_a_reference_without_phones():
    with pytest.raises(ValueError, match="expected at least one word"):
        error_rate(["a"], [" "])
