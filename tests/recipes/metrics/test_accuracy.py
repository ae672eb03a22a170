import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def accuracy(predictions, references):
    return scores(["accuracy"], predictions=predictions, references=references)["accuracy"]


def test_hand_worked():
    assert accuracy(["francês", "francês", "italiano"], ["francês", "italiano", "italiano"]) == pytest.approx(2 / 3)
    assert accuracy(["Sim"], ["sim"]) == 0


labels = st.sampled_from(["francês", "italiano", "português"])


@settings(deadline=None)
@given(st.lists(st.tuples(labels, labels), min_size=1))
def test_equals_a_count(pairs):
    predictions, references = zip(*pairs)
    expected = len([prediction for prediction, reference in pairs if prediction == reference]) / len(pairs)
    assert accuracy(predictions, references) == pytest.approx(expected)
