import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.metrics import scores


def bleu(predictions, references):
    return scores(["bleu"], predictions=predictions, references=references)["bleu"]


def test_hand_worked():
    # Runs of 1, 2, 3 and 4 words: 5 of 6, 3 of 5, 2 of 4 and 1 of 3 stand in the reference.
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert bleu(["the cat sat on a mat"], ["the cat sat on the mat"]) == pytest.approx(expected)


def test_too_short_is_penalised():
    assert bleu(["a b c d e"], ["a b c d e f g"]) == pytest.approx(100 * math.exp(1 - 7 / 5))


def test_punctuation_stands_for_itself_but_not_within_numbers():
    assert bleu(["Olá, mundo! 1,5"], ["Olá , mundo ! 1,5"]) == pytest.approx(100)
    assert bleu(["a b c 1,5"], ["a b c 1 , 5"]) < 100


def test_no_match_of_a_length_is_smoothed():
    # 3 of 4 words, 1 of 3 pairs; no run of 3 (of 2) or 4 (of 1): half a match, then a quarter.
    expected = 100 * (3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** (1 / 4)
    assert bleu(["a b x d"], ["a b c d"]) == pytest.approx(expected)


def textbook_bleu(pairs):
    """BLEU by its definition (Papineni et al., 2002) of lists of words; 0 where a length of run has no match."""
    logs = 0
    for length in range(1, 5):
        matches = total = 0
        for pair in pairs:
            runs = [Counter(tuple(words[i : i + length]) for i in range(len(words) - length + 1)) for words in pair]
            matches += (runs[0] & runs[1]).total()
            total += runs[0].total()
        if not matches:
            return 0
        logs += math.log(matches / total) / 4
    predicted, expected = (sum(map(len, side)) for side in zip(*pairs))
    return 100 * math.exp(logs + min(0, 1 - expected / predicted))


words = st.lists(st.sampled_from(["é", "e", "não"]), min_size=4, max_size=9)
beginning = ["no", "dia", "de", "hoje"]  # in all texts: a match of every length


@settings(deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=4))
def test_equals_its_definition(pairs):
    pairs = [(beginning + prediction, beginning + reference) for prediction, reference in pairs]
    predictions, references = ([" ".join(words) for words in side] for side in zip(*pairs))
    assert bleu(predictions, references) == pytest.approx(textbook_bleu(pairs))
