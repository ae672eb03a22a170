from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.scoring import score


def alignment(reference, hypothesis):
    """Return (fewest edits, fewest and most matches among the alignments with that many edits)."""

    @cache
    def best(i, j):
        if i == 0 or j == 0:
            return i + j, 0, 0
        match = reference[i - 1] == hypothesis[j - 1]
        steps = [(best(i - 1, j - 1), not match, match), (best(i - 1, j), 1, 0), (best(i, j - 1), 1, 0)]
        edits = min(before[0] + edit for before, edit, _ in steps)
        ways = [(before, hit) for before, edit, hit in steps if before[0] + edit == edits]
        return edits, min(before[1] + hit for before, hit in ways), max(before[2] + hit for before, hit in ways)

    return best(len(reference), len(hypothesis))


@pytest.mark.parametrize(
    ("reference", "hypothesis", "word_accuracy", "exact_match", "character_error_rate"),
    [
        ("não é nada", "não é nada", 1, 1, 0),
        ("não é nada", "nao é nada", 2 / 3, 0, 1 / 10),
        ("não é nada", "é nada", 2 / 3, 0, 4 / 10),  # a word too few costs itself, not those after it
        ("não é nada", "não é mais nada", 1, 0, 5 / 10),  # a word too many costs no reference word
        ("não é nada", "", 0, 0, 1),
        ("não é nada", "   ", 0, 0, 8 / 10),  # two of its spaces match
        ("não", "não não não não", 1, 0, 12 / 3),
        ("não é", "não  é", 1, 0, 1 / 5),
        ("não é", " não é ", 1, 0, 2 / 5),
        ("não é", "não\té", 1, 0, 1 / 5),
        ("não é", "nãoé", 0, 0, 1 / 5),
        ("Não", "não", 0, 0, 1 / 3),
    ],
)
def test_hand_worked(reference, hypothesis, word_accuracy, exact_match, character_error_rate):
    assert score([reference], [hypothesis]) == pytest.approx(
        {"word_accuracy": word_accuracy, "exact_match": exact_match, "character_error_rate": character_error_rate}
    )


def test_figures_are_over_all_texts_and_not_means_of_means():
    scores = score(["a", "b c d"], ["x", "b c d"])
    assert scores == pytest.approx({"word_accuracy": 3 / 4, "exact_match": 1 / 2, "character_error_rate": 1 / 6})


def test_texts_are_compared_in_nfc():
    perfect = {"word_accuracy": 1, "exact_match": 1, "character_error_rate": 0}
    assert score(["ac\u0327a\u0303o"], ["ação"]) == score(["ação"], ["ac\u0327a\u0303o"]) == perfect


words = st.lists(st.sampled_from(["é", "e", "não", "nao"]), max_size=6).map(" ".join)
texts = st.lists(st.tuples(words.filter(bool), words), min_size=1, max_size=4)


@given(texts)
def test_equals_a_plain_dynamic_programme(texts):
    references, hypotheses = zip(*texts)
    scores = score(references, hypotheses)

    by_word = [alignment(tuple(reference.split()), tuple(hypothesis.split())) for reference, hypothesis in texts]
    reference_words = sum(len(reference.split()) for reference in references)
    fewest, most = (sum(counts) / reference_words for counts in list(zip(*by_word))[1:])
    assert fewest - 1e-9 <= scores["word_accuracy"] <= most + 1e-9

    edits = sum(alignment(reference, hypothesis)[0] for reference, hypothesis in texts)
    assert scores["character_error_rate"] == pytest.approx(edits / sum(map(len, references)))
    assert scores["exact_match"] == sum(map(str.__eq__, references, hypotheses)) / len(texts)


def test_as_many_references_as_hypotheses():
    with pytest.raises(ValueError, match="found 2 references and 1 hypotheses"):
        score(["a", "b"], ["a"])


def test_no_texts():
    with pytest.raises(ValueError, match="found no references"):
        score([], [])


@pytest.mark.parametrize("reference", ["", "  "])
def test_a_reference_without_words(reference):
    with pytest.raises(ValueError, match="reference 1; expected at least one word"):
        score(["a", reference], ["a", "b"])
