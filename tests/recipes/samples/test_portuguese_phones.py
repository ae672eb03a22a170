"""The rows of Portuguese phones: what is left out of training, and the words with two readings.

The slow tests are about rows whose digest `test_samples.py` knows.
"""

import pytest

from atenta.phonemization.portuguese_words import INVENTORIES
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.samples.known_words import other_height
from atenta.recipes.samples.portuguese_phones import homographs, read_list, readings


@pytest.mark.slow
def test_what_is_trained_on(rows_of):
    rows = rows_of("portuguese_g2p")
    trained = {(row["source"], row["tags"][0]) for row in rows["train"]}
    assert len(trained) == len(rows["train"])  # one pronunciation under each tag
    words = {word for word, _ in trained}
    assert not words & {row["source"] for row in rows["test"]}  # under no tag
    assert {"presencia", "país"} <= words
    assert not {"consequencia", "seqüela", "automovel"} & words


@pytest.mark.slow
def test_what_is_trained_on_has_the_phones_that_are_promised(rows_of):
    phones = {tag: set() for tag in INVENTORIES}
    for row in rows_of("portuguese_g2p")["train"]:
        phones[row["tags"][0][1:-1]].update(row["target"].split(" "))
    assert phones == INVENTORIES


def test_homographs_have_both_readings_in_both_variants():
    found = homographs()
    assert found["pt"]["sede"] == ["s e d ɨ", "s ɛ d ɨ"]
    assert found["br-wikipron"]["gosto"] == ["ɡ o s t u", "ɡ ɔ s t u"]
    assert found["pt"].keys() == found["br-wikipron"].keys()
    assert {"acerto", "colher", "jogo", "molho", "porto", "posto"} <= found["pt"].keys()
    assert not {"casa", "coração", "pote"} & found["pt"].keys()
    listed = {word: each for split in SPLITS for word, each in read_list("wikipron_pt", split).items()}
    assert all(set(pair) <= set(listed[word]) for word, pair in found["pt"].items())


def test_readings_of_the_closed_class_come_first():
    listed = list(readings())
    known = {(tag, word): of_word for tag, word, of_word in listed}
    assert known["br", "de"] == ["d ʒ ɪ"]
    assert known["pt", "e"] == ["i"]
    assert known["pt", "acordo"] == ["ɐ k o ɾ d u", "ɐ k ɔ ɾ d u"]  # the noun, then the verb
    assert known["pt", "gosto"] == ["ɡ ɔ ʃ t u", "ɡ o ʃ t u"]  # the verb, then the noun
    assert known["br", "pelo"] == ["p e l ʊ"]
    assert ("pt", "pelo") not in known  # a preposition far more often than hair
    assert len(known) == len(listed)
    assert all(INVENTORIES[tag].issuperset(" ".join(of_word).split()) for tag, _, of_word in listed)


@pytest.mark.parametrize(
    ("phones", "other"),
    [
        ("ˈ ɡ o s t ʊ", "ˈ ɡ ɔ s t ʊ"),
        ("ˈ s ɛ d ʒ ɪ", "ˈ s e d ʒ ɪ"),
        ("k o ˈ ʎ e x", "k o ˈ ʎ ɛ x"),  # not the vowel before the stress
        ("ˈ k a z ə", None),
        ("ˈ b õ", None),  # no height to choose
        ("ɡ o ʃ t u", None),  # no stress
        ("ˈ", None),
    ],
)
def test_the_other_height_is_that_of_the_stressed_vowel(phones, other):
    assert other_height(tuple(phones.split())) == (other and tuple(other.split()))
