"""Words of Portuguese and its neighbours: splits without a word in two, phones, and tests by language."""

import unicodedata

import pytest

from atenta.recipes.samples.files import SPLITS
from atenta.recipes.samples.romance import romance_words

PORTUGUESE = {"<pt-BR>", "<pt-PT>"}


@pytest.fixture(scope="module")
def rows():
    return romance_words()


def test_no_word_of_a_language_is_in_two_splits(rows):
    for languages in (PORTUGUESE, {"<gl>"}, {"<es>"}, {"<it>"}, {"<fr>"}):
        words = [{row["source"] for row in rows[split] if set(row["tags"]) <= languages} for split in SPLITS]
        assert all(words)
        assert sum(map(len, words)) == len(set.union(*words))


def test_500_words_of_brazil_and_of_portugal_are_tested(rows):
    assert [len({row["source"] for row in rows[name]}) for name in ("Brazil", "Portugal")] == [500, 500]
    assert sum(len(rows[name]) for name in rows.keys() - set(SPLITS)) == len(rows["test"])


def test_a_phone_is_a_letter_with_its_marks(rows):
    phones = {phone for row in rows["train"] for phone in row["target"].split(" ")}
    assert {"t͡ʃ", "ɐ̃", "w̃", "ʎ"} <= phones
    assert len(phones) < 120
    for phone in phones:
        parts = phone.split("\u0361")  # the tie
        assert 1 <= len(parts) <= 2
        for part in parts:
            assert [unicodedata.category(mark) in ("Mn", "Lm") for mark in part] == [False] + [True] * (len(part) - 1)
