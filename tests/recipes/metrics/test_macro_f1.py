import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def macro_f1(predictions, references):
    return scores(["macro_f1"], predictions=predictions, references=references)["macro_f1"]


def test_hand_worked():
    # a: 2 right of 3 predicted and 2 expected; b: 1 of 1 and 2.
    assert macro_f1(["a", "a", "a", "b"], ["a", "a", "b", "b"]) == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_majority_answer_scores_little():
    assert macro_f1(["a"] * 10, ["a"] * 9 + ["b"]) == pytest.approx(18 / 19 / 2)


def test_a_label_that_is_never_expected_counts():
    assert macro_f1(["a", "b"], ["a", "a"]) == pytest.approx(2 / 3 / 2)


labels = st.sampled_from(["francês", "italiano", "português"])


@settings(deadline=None)
@given(st.lists(st.tuples(labels, labels), min_size=1))
def test_equals_its_definition(pairs):
    predictions, references = map(list, zip(*pairs))
    f1 = [
        2 * pairs.count((label, label)) / (predictions.count(label) + references.count(label))
        for label in {*predictions, *references}
    ]
    assert macro_f1(predictions, references) == pytest.approx(sum(f1) / len(f1))
