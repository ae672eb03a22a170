"""Metrics of outputs beside their sources, against examples worked by hand."""

import unicodedata

import pytest

from atenta.hub.card_words import less_is_better
from atenta.recipes.source_metrics import SOURCE_METRICS, find_invented, score_texts


def figure(name, source, output, reference="x"):
    return score_texts([name], sources=[source], predictions=[output], references=[reference])[name]


def test_sari_of_what_is_right_and_of_copies():
    assert figure("sari", "a b c d e", "a b c d f", "a b c d f") == 100
    # Kept: 4 words, 3 of them rightly, F1 6/7; 3 pairs, 1 rightly, F1 1/2; longer runs none. A copy adds and deletes
    # nothing.
    assert figure("sari", "a b c d", "a b c d", "a x c d") == pytest.approx(100 * (6 / 7 + 1 / 2) / 12)


def test_sari_is_of_all_texts_together_with_signs_apart_and_without_case():
    texts = {"sources": ["a b", "c d"], "predictions": ["a x", "c"], "references": ["a x", "c x"]}
    # Of words: two are kept, both rightly; one is added of two; b and d are deleted, rightly. Of pairs: a x is added,
    # and c x should be; a b and c d are deleted, rightly.
    assert score_texts(["sari"], **texts)["sari"] == pytest.approx(100 * (1 + 2 / 3 + 1 + 2 / 3 + 1) / 12)
    written, apart = ("Veio, viu.", "Veio. Viu.", "veio . viu ."), ("v , w .", "v . w .", "v . w .")
    assert figure("sari", *written) == figure("sari", *apart)


def test_copies_and_lengths():
    texts = {"sources": ["abcd", "ab"], "predictions": ["abcd", "a"], "references": ["x", "x"]}
    assert score_texts(["copied", "length_ratio"], **texts) == {"copied": 0.5, "length_ratio": 5 / 6}


@pytest.mark.parametrize(
    ("source", "output", "words"),
    [
        ("O ônibus custou 3 reais.", "O ônibus custou 4 reais.", ["4"]),
        ("Ela veio.", "Ela veio com a mãe. Isso foi bom.", []),  # frequent words, one of them with a capital
        ("Ela veio.", "Depois Marta veio.", ["Marta"]),  # a name, however frequent
        ("Marta veio.", "Ontem veio Marta.", []),
        ("MARTA veio.", "Ontem veio Marta.", []),
        ("Ela veio.", "Ela dispondou.", ["dispondou"]),
        ("Ela dispondou.", "Dispondou!", []),
    ],
)
def test_invented_words(source, output, words):
    assert find_invented(source, output) == words
    assert figure("invented", source, output) == bool(words)


@pytest.mark.parametrize("name", sorted(SOURCE_METRICS.keys() - {"length_ratio"}))
def test_its_name_says_whether_less_is_better(name):
    """Of a length, neither more nor less is."""
    wrong = "Mas Marta veio." if name == "invented" else "Ela veio."
    right, wrong = (figure(name, "Ela veio.", output, "Ela foi.") for output in ("Ela foi.", wrong))
    assert right != wrong
    assert (right < wrong) is less_is_better(name)


def test_texts_are_compared_in_nfc():
    source, output = "a ação", unicodedata.normalize("NFD", "a ação")
    for name in SOURCE_METRICS:
        assert figure(name, source, output, source) == figure(name, source, source, source)


def test_different_numbers_of_texts():
    for sources in ([], ["a", "b"]):
        with pytest.raises(ValueError, match=f"{len(sources)} sources, 1 predictions and 1 references"):
            score_texts(["sari"], sources=sources, predictions=["a"], references=["a"])
