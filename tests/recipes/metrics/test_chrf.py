from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def chrf(predictions, references):
    return scores(["chrf"], predictions=predictions, references=references)["chrf"]


def test_hand_worked():
    # Of abcd's runs of 1, 2, 3 and 4 characters 3/4, 2/3, 1/2 and none stand in abce, and the other way round.
    assert chrf(["abcd"], ["abce"]) == pytest.approx(100 * (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)


def test_recall_weighs_twice_as_much():
    # All of "aaa" stands in "aaaaaa": precision 1 for runs of 1, 2, 3; recall 3/6, 2/5, 1/4; longer runs are in one.
    recall = (3 / 6 + 2 / 5 + 1 / 4) / 3
    assert chrf(["aaa"], ["aaaaaa"]) == pytest.approx(100 * 5 * recall / (4 + recall))


@pytest.mark.parametrize(
    ("prediction", "expected"), [("não é nada", 100), ("nãoénada", 100), ("", 0), ("xuxu", 0), ("NÃO É NADA", 0)]
)
def test_ends_of_the_scale(prediction, expected):
    assert chrf([prediction], ["não é nada"]) == pytest.approx(expected)


def textbook_chrf(pairs):
    """chrF by its definition (Popović, 2015), where each text has runs of every length."""
    precisions, recalls = [], []
    for length in range(1, 7):
        matches = predicted = expected = 0
        for pair in pairs:
            texts = [text.replace(" ", "") for text in pair]
            runs = [Counter(text[i : i + length] for i in range(len(text) - length + 1)) for text in texts]
            matches += (runs[0] & runs[1]).total()
            predicted += runs[0].total()
            expected += runs[1].total()
        precisions.append(matches / predicted)
        recalls.append(matches / expected)
    precision, recall = sum(precisions) / 6, sum(recalls) / 6
    return 100 * 5 * precision * recall / (4 * precision + recall) if precision + recall else 0


texts = st.text("aãb ", min_size=6, max_size=15).filter(lambda text: len(text.replace(" ", "")) >= 6)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_equals_its_definition(pairs):
    predictions, references = zip(*pairs)
    assert chrf(predictions, references) == pytest.approx(textbook_chrf(pairs))
