from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.files import DATA, SPLITS
from atenta.recipes.samples.languages import language_words, lowercase_words

PARTS = dict(zip(SPLITS, ("train", "dev", "test")))


@pytest.fixture(scope="module")
def rows():
    return language_words()


def test_lowercase_words():
    text = "— Não!... disse-me Capitu; “não sei”, d'água (talvez), 1a º vez\nVEZ vez."
    assert lowercase_words(text) == ["não", "sei", "talvez", "vez"]


@given(st.text())
def test_lowercase_words_are_distinct_and_in_the_text(text):
    found = lowercase_words(text)
    assert len(set(found)) == len(found)
    assert all(word in text and word.isalpha() and word.islower() for word in found)


def test_words_are_distinct(rows):
    texts = {split: {row["text"] for row in rows[split]} for split in SPLITS}
    assert all(len(texts[split]) == len(rows[split]) for split in SPLITS)
    assert not any(texts[one] & texts[other] for one, other in combinations(SPLITS, 2))


def test_languages_are_equally_many_and_mixed(rows):
    for split in SPLITS:
        labels = [row["label"] for row in rows[split]]
        assert set(Counter(labels).values()) == {len(rows[split]) // 3}
        assert labels != sorted(labels)


def test_words_are_from_the_lists_of_their_language_and_split(rows):
    lists = {
        (language, split): {
            line.split("\t")[0] for line in (DATA / "g2p" / name).read_text(encoding="utf-8").splitlines()
        }
        for split, part in PARTS.items()
        for language, name in (("ita", f"ita_{part}.tsv"), ("fra", f"fre_{part}.tsv"))
    }
    for split in SPLITS:
        works = (DATA / "machado" / split).glob("*.txt")
        lists["por", split] = set(lowercase_words("\n".join(work.read_text(encoding="utf-8") for work in works)))
    for split in SPLITS:
        for row in rows[split]:
            holders = {language for (language, _), spellings in lists.items() if row["text"] in spellings}
            assert holders == {row["label"]}
            assert row["text"] in lists[row["label"], split]
