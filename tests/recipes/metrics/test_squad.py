import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def figures(predictions, references):
    return scores(["squad"], predictions=predictions, references=references)


@pytest.mark.parametrize(
    ("prediction", "accepted", "exact_match", "f1"),
    [
        ("1976", ["1976"], 1, 1),
        ("The Norman dukes,", ["norman dukes"], 1, 1),
        ("em 10 de maio", ["10 de maio", "maio"], 0, 2 * 3 / (4 + 3)),
        ("maio", ["10 de maio", "maio"], 1, 1),
        ("", ["maio"], 0, 0),
        ("junho", ["maio"], 0, 0),
        ("de de", ["de"], 0, 2 * 1 / (2 + 1)),
        ("a Universidade", ["Universidade"], 1, 1),  # this article is an English one too
        ("o Reitor", ["Reitor"], 0, 2 * 1 / (2 + 1)),  # and this is not
        ("as «aulas»", ["as aulas"], 0, 2 * 1 / (2 + 2)),
        ("co-autor", ["coautor"], 1, 1),
        ("The", ["a"], 1, 0),  # nothing is left to have in common, as in the SQuAD script
    ],
)
def test_hand_worked(prediction, accepted, exact_match, f1):
    assert figures([prediction], [accepted]) == pytest.approx({"exact_match": exact_match, "f1": f1})


def test_means_over_questions():
    assert figures(["x y", "z"], [["x"], ["z"]]) == pytest.approx({"exact_match": 1 / 2, "f1": (2 / 3 + 1) / 2})


def normalised(text):
    """The words of a text, letter by letter."""
    kept = "".join(character for character in text.lower() if character not in "!?,.'")
    return [word for word in kept.split() if word not in {"a", "an", "the"}]


def common(words, others):
    """How many words can be paired with an equal one."""
    others = list(others)
    return sum(1 for word in words if word in others and not others.remove(word))


words = st.sampled_from(["a", "The", "AN", "thea", "rio", "rio!", "Rio,", "'é'", "d'água", "?"])
texts = st.lists(words, max_size=6).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_equals_a_plain_computation(questions):
    exact_match = f1 = 0
    for prediction, accepted in questions:
        answer = normalised(prediction)
        exact_match += any(answer == normalised(text) for text in accepted)
        shares = [(common(answer, normalised(text)), len(answer) + len(normalised(text))) for text in accepted]
        f1 += max(2 * both / words if both else 0 for both, words in shares)
    predictions, references = zip(*questions)
    assert figures(predictions, references) == pytest.approx(
        {"exact_match": exact_match / len(questions), "f1": f1 / len(questions)}
    )


def test_no_accepted_answer():
    with pytest.raises(ValueError, match="found no accepted answer as reference 1"):
        figures(["a", "b"], [["a"], []])
