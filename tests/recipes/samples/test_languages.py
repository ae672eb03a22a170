"""Words of several languages: those of language identification, and those with phones."""

import unicodedata
from collections import Counter

import pytest

from atenta.recipes.samples.files import FILES, SPLITS, first_cells, read_samples
from atenta.recipes.samples.languages import lowercase_words


def test_lowercase_words():
    text = "— Não!... disse-me Capitu; “não sei”, d'água (talvez), 1a º vez\nVEZ vez."
    assert lowercase_words(text) == ["não", "sei", "talvez", "vez"]


@pytest.mark.parametrize("number", range(3))
def test_words_are_equally_many_and_from_the_lists_of_one_language_and_their_split(rows_of, number):
    rows = rows_of("languages")[SPLITS[number]]
    labels = [row["label"] for row in rows]
    assert Counter(labels) == dict.fromkeys(("ita", "fra", "por"), len(rows) // 3)
    assert labels != sorted(labels)
    lists = {
        "ita": {word for file in FILES["italian_g2p"] for word in first_cells(file)},
        "fra": {word for file in FILES["french_g2p"] for word in first_cells(file)},
        "por": set(lowercase_words("\n".join(read_samples("machado", "*/*.txt")))),
    }
    of_split = {
        "ita": set(first_cells(FILES["italian_g2p"][number])),
        "fra": set(first_cells(FILES["french_g2p"][number])),
        "por": set(lowercase_words("\n".join(read_samples(f"machado/{SPLITS[number]}")))),
    }
    for row in rows:
        assert {language for language, words in lists.items() if row["text"] in words} == {row["label"]}
        assert row["text"] in of_split[row["label"]]
    assert len({row["text"] for row in rows}) == len(rows)


def test_500_words_of_brazil_and_of_portugal_are_tested(rows_of):
    rows = rows_of("romance_g2p")
    assert [len({row["source"] for row in rows[name]}) for name in ("Brazil", "Portugal")] == [500, 500]
    assert sum(len(rows[name]) for name in rows.keys() - set(SPLITS)) == len(rows["test"])


def test_a_phone_is_a_letter_with_its_marks(rows_of):
    phones = {phone for row in rows_of("romance_g2p")["train"] for phone in row["target"].split(" ")}
    assert {"t͡ʃ", "ɐ̃", "w̃", "ʎ"} <= phones
    assert len(phones) < 120
    for phone in phones:
        parts = phone.split("\u0361")  # the tie
        assert 1 <= len(parts) <= 2
        for part in parts:
            assert [unicodedata.category(mark) in ("Mn", "Lm") for mark in part] == [False] + [True] * (len(part) - 1)
