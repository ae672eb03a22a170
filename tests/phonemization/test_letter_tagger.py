"""Taggers of letters: the most probable words, the one stress mark, further ways, probabilities, refusals."""

from itertools import product

import numpy as np
import pytest

from atenta.phonemization.letter_tagger import LetterTagger
from support.phones import PIECES, make_letter_tagger

WORDS = ["casa", "sede", "a", "de-de", "cadas"]


@pytest.fixture(scope="module")
def restorer():
    return make_letter_tagger()


def all_ways(restorer, word, mark, count):
    """Return each way to spell a word with one stress mark, or neither that nor ʒ, and its probability among them."""
    labels = {piece: label for label, piece in restorer.config.id2label.items()}
    letters = [
        dict(zip(labels, of_letter[list(labels.values())]))
        for _, batch in restorer.probabilities([mark + word])
        for of_letter in batch.astype(np.float64)
    ][1:]
    ways = [
        (tuple("".join(pieces).split()), np.prod([of_letter[piece] for of_letter, piece in zip(letters, pieces)]))
        for pieces in product(*(PIECES[letter] for letter in word))
        if "".join(pieces).count("ˈ") == count and (count or "ʒ" not in "".join(pieces))
    ]
    total = sum(probability for _, probability in ways)
    return sorted(((units, probability / total) for units, probability in ways), key=lambda way: -way[1])


@pytest.mark.parametrize(("tag", "mark", "count"), [("br", "1", 1), ("pt", "2", 0)])
def test_the_most_probable_of_all_ways_with_one_stress_mark_or_none(restorer, tag, mark, count):
    tagger = LetterTagger(restorer)
    for word, (best,), ranked in zip(WORDS, tagger.write(WORDS, [tag]), tagger.write(WORDS, [tag], 4), strict=True):
        ways = all_ways(restorer, word, mark, count)
        distinct = list(dict.fromkeys(units for units, _ in ways[:4]))
        assert best.units == ways[0][0]
        assert best.log_probability == pytest.approx(np.log(ways[0][1]), abs=1e-4)
        assert [each.units for each in ranked] == distinct
        assert [each.log_probability for each in ranked] == pytest.approx(
            [np.log(dict(reversed(ways))[units]) for units in distinct], abs=1e-4
        )


def test_words_under_tags_of_their_own(restorer):
    tagger = LetterTagger(restorer)
    apart = [tagger.write(["casa"], [tag])[0][0] for tag in ("pt", "br", "pt")]
    for together, alone in zip(tagger.write_tagged(["casa"] * 3, [["pt"], ["br"], ["pt"]]), apart, strict=True):
        assert together.units == alone.units
        assert together.log_probability == pytest.approx(alone.log_probability, abs=1e-5)
    assert tagger.write([], ["br"]) == []
    assert tagger.write_tagged([], []) == []


def test_unknown_tags_are_named(restorer):
    with pytest.raises(ValueError, match="'gl'; expected one of br, pt"):
        LetterTagger(restorer).write(["casa"], ["gl"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tag_characters", None),
        ("tag_characters", ["1"]),
        ("unique_unit_counts", 1),
        ("unique_unit", None),
        ("target_separator", 5),
        ("absent_units", ["ʒ"]),
        ("absent_units", {"pt": 1}),
    ],
)
def test_a_damaged_configuration_is_named(name, value):
    restorer = make_letter_tagger()
    options = restorer.config.task_specific_params["character-restoration"]
    restorer.config.task_specific_params = {"character-restoration": {**options, name: value}}
    with pytest.raises(ValueError, match=r"config\.json is damaged.*finetune_letters\.py"):
        LetterTagger(restorer)
