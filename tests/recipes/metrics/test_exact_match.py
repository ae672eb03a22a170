import pytest

from atenta.recipes.metrics import scores


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        ("não é", "não é", 1),
        ("", "", 1),
        ("nao é", "não é", 0),
        ("Não é", "não é", 0),
        ("não  é", "não é", 0),
        ("não é ", "não é", 0),
        ("não é.", "não é", 0),
        ("", "não é", 0),
    ],
)
def test_hand_worked(prediction, reference, expected):
    assert scores(["exact_match"], predictions=[prediction], references=[reference]) == {"exact_match": expected}


def test_over_all_texts():
    predictions, references = ["a", "b", "c d"], ["a", "x", "c d"]
    assert scores(["exact_match"], predictions=predictions, references=references) == {"exact_match": 2 / 3}
