import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def figures(predictions, references):
    return scores(["entity_f1"], predictions=predictions, references=references)


def tags(sentence):
    return sentence.split()


@pytest.mark.parametrize(
    ("prediction", "reference", "right", "predicted", "expected"),
    [
        ("B-PER I-PER O", "B-PER I-PER O", 1, 1, 1),
        ("B-PER O O", "B-PER I-PER O", 0, 1, 1),  # too short
        ("B-LOC I-LOC O", "B-PER I-PER O", 0, 1, 1),  # another type
        ("B-PER B-PER O", "B-PER I-PER O", 0, 2, 1),
        ("B-PER O B-LOC", "B-PER O B-PER", 1, 2, 2),
        ("O I-PER I-PER", "O B-PER I-PER", 1, 1, 1),  # I- begins one where nothing goes before
        ("B-PER I-LOC O", "B-PER B-LOC O", 2, 2, 2),  # and after another type
        ("O O O", "B-PER O O", 0, 0, 1),
        ("O O O", "O O O", 0, 0, 0),
    ],
)
def test_hand_worked(prediction, reference, right, predicted, expected):
    assert figures([tags(prediction)], [tags(reference)]) == pytest.approx(
        {
            "precision": right / max(predicted, 1),
            "recall": right / max(expected, 1),
            "f1": 2 * right / max(predicted + expected, 1),
        }
    )


def test_an_entity_ends_with_its_sentence():
    predictions, references = [tags("O B-PER"), tags("I-PER O")], [tags("O B-PER"), tags("B-PER O")]
    assert figures(predictions, references)["f1"] == 1


def spans(sentences):
    """Return (sentence, first word, last word, type) of each entity."""
    found = []
    for index, sentence in enumerate(sentences):
        previous = "O"
        for position, tag in enumerate(sentence):
            if tag[0] == "I" and previous[1:] == tag[1:]:
                found[-1][2] = position
            elif tag != "O":
                found.append([index, position, position, tag[2:]])
            previous = tag
    return set(map(tuple, found))


tag = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
sentences = st.lists(st.lists(st.tuples(tag, tag), max_size=7), max_size=4).filter(any)


@settings(deadline=None)
@given(sentences)
def test_equals_sets_of_spans(sentences):
    predictions, references = ([[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1))
    predicted, expected = spans(predictions), spans(references)
    right = len(predicted & expected)
    assert figures(predictions, references) == pytest.approx(
        {
            "precision": right / max(len(predicted), 1),
            "recall": right / max(len(expected), 1),
            "f1": 2 * right / max(len(predicted) + len(expected), 1),
        }
    )


@pytest.mark.parametrize("tag", ["PER", "B-", "S-PER", "b-PER", ""])
def test_a_tag_that_is_none(tag):
    with pytest.raises(ValueError, match=f"found the tag '{tag}'; expected O, or B- or I- and a type"):
        figures([["O", tag]], [["O", "O"]])


def test_one_tag_a_word():
    with pytest.raises(ValueError, match="found 1 tags in prediction 0 and 2 in its reference"):
        figures([["O"]], [["O", "O"]])
