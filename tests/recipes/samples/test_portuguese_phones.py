"""The rows of Portuguese phones: what is left out of training, and the words with two readings."""

import pytest

from atenta.phonemization.portuguese_words import INVENTORIES, PHONES_FOLDER
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.samples.portuguese_phones import (
    homographs,
    is_faulty,
    is_general_brazil,
    is_standard_portugal,
    read_list,
    readings,
    unlike_lisbon,
)


def test_phones_may_have_several_characters():
    assert read_list("wikipron_br", "train")["imbatível"] == ["ĩ b a t͡ʃ i v e w"]
    assert read_list("wikipron_pt", "train")["ação"] == ["a s ɐ̃ w̃"]
    assert read_list("fg2p", "train")["cientistas"] == ["s i ẽ ˈ t ʃ i s t ə s"]


@pytest.mark.parametrize(
    ("is_so", "word", "phones", "expected"),
    [
        (is_faulty, "seqüela", "s e ˈ ɔ k s ɛ l ə", True),
        (is_faulty, "imbatível", "ĩ b a ˈ t i v e w", True),
        (is_faulty, "teve", "t e v y", True),  # no stress
        (is_faulty, "antídoto", "ã ˈ t ʃ i d o t ʊ", False),
        (is_faulty, "glicídeos", "ɡ l i ˈ s i d i ʊ s", False),  # from e
        (is_faulty, "lipoproteína", "l i p o p ɾ o t i ˈ ĩ n ə", False),
        (is_general_brazil, "gosto", "ɡ o s t u", True),
        (is_general_brazil, "gosto", "ɡ o s t o", False),  # the South
        (is_general_brazil, "gosto", "ɡ o ʃ t u", False),  # Rio
        (is_general_brazil, "porto", "p o ɻ t u", False),
        (is_general_brazil, "bata", "b a t a", False),
        (is_general_brazil, "casos", "k a z o s", False),
        (is_general_brazil, "casos", "k a z u s", True),
        (is_general_brazil, "rapaz", "ʁ a p a s", True),
        (is_general_brazil, "vovôs", "v o v o s", True),
        (is_general_brazil, "lápis", "l a p i ʃ", False),
        (is_general_brazil, "avô", "a v o", True),
        (is_general_brazil, "chato", "ʃ a t u", True),
        (is_standard_portugal, "vida", "v i d ɐ", True),
        (is_standard_portugal, "vida", "b i d ɐ", False),
        (is_standard_portugal, "bobo", "b o b u", True),
        (is_standard_portugal, "chave", "t͡ʃ a v ɨ", False),
        (is_standard_portugal, "hertz", "ɛ ɾ t͡ʃ", True),
        (is_standard_portugal, "mar", "m a ɾ i", False),
        (is_standard_portugal, "sal", "s a l i", False),
        (is_standard_portugal, "ali", "ɐ l i", True),
        (is_standard_portugal, "normalmente", "n u ɾ m a l i m ẽ t ɨ", False),
        (is_standard_portugal, "florzinha", "f l o ɾ i z i ɲ ɐ", False),
        (is_standard_portugal, "realizar", "ʁ j ɐ l i z a ɾ", True),
    ],
)
def test_faulty_rows_and_other_accents_are_known(is_so, word, phones, expected):
    assert is_so(word, phones) == expected


def test_lisbon_comes_before_other_accents():
    assert [
        min(each, key=unlike_lisbon)
        for each in (
            ["s ɨ m a n ɐ", "s ɨ m ɐ n ɐ"],
            ["f ɐ l e", "f ɐ l e j", "f ɐ l ɐ j"],
            ["t o w ɾ u", "t o ɾ u"],
            ["n ɐ ʃ s e ɾ", "n ɐ ʃ e ɾ"],
            ["ɐ̃ t ɔ n i u", "ɐ̃ t ɔ n j u"],
        )
    ] == ["s ɨ m ɐ n ɐ", "f ɐ l ɐ j", "t o ɾ u", "n ɐ ʃ e ɾ", "ɐ̃ t ɔ n j u"]


def test_what_is_trained_on(rows_of):
    rows = rows_of("portuguese_g2p")
    trained = {(row["source"], row["tags"][0]) for row in rows["train"]}
    assert len(trained) == len(rows["train"])  # one pronunciation under each tag
    words = {word for word, _ in trained}
    assert not words & {row["source"] for row in rows["test"]}  # under no tag
    assert {"presencia", "país"} <= words
    assert not {"consequencia", "seqüela", "automovel"} & words


def test_what_is_trained_on_has_the_phones_that_are_promised(rows_of):
    phones = {tag: set() for tag in INVENTORIES}
    for row in rows_of("portuguese_g2p")["train"]:
        phones[row["tags"][0][1:-1]].update(row["target"].split(" "))
    assert phones == INVENTORIES
    for tag, _, of_word in readings():
        assert INVENTORIES[tag].issuperset(" ".join(of_word).split())


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
    known = {(tag, word): of_word for tag, word, of_word in readings()}
    assert known["br", "de"] == ["d ʒ ɪ"]
    assert known["pt", "e"] == ["i"]
    assert known["br", "gosto"] == []
    assert len(known["pt", "gosto"]) == 2
    assert known["br", "pelo"] == ["p e l ʊ"]
    assert ("pt", "pelo") not in known  # a preposition far more often than hair
    assert len(known) == len(list(readings()))


@pytest.fixture(scope="module")
def known():
    """What the package knows of words."""
    lines = (PHONES_FOLDER / "readings.txt").read_text(encoding="utf-8").splitlines()
    return {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in lines}


def test_phones_are_those_on_which_wiktionary_or_the_spelling_agree(known):
    assert known["br", "exame"] == ["e ˈ z ã m ɪ"]
    assert known["br", "lixo"] == ["ˈ l i ʃ ʊ"]
    assert known["br", "acadêmico"] == ["a k a ˈ d ẽ m i k ʊ"]
    assert known["br", "senador"] == ["s e n a ˈ d o x"]  # of which the list with stress makes o
    assert known["br", "prejuízo"] == ["p ɾ e ʒ u ˈ i z ʊ"]  # and here ĩ
    assert known["br", "criminosos"] == ["k ɾ i m i ˈ n ɔ z ʊ s"]
    assert ("br", "triste") not in known  # in one list with ʃ before t͡ʃ, in the other with s
    assert ("br", "advogado") not in known  # d or d͡ʒ


def test_frequent_foreign_words_are_listed(known):
    assert known["br", "site"] == ["ˈ s a y t ʃ ɪ"]
    assert all({*phones[0].split()} <= INVENTORIES[tag] for (tag, _), phones in known.items() if phones)


def test_a_u_is_heard_where_all_lists_have_it(known):
    assert known["br", "consequência"] == ["k õ s e ˈ k w ẽ s i ə"]
    assert known["br", "linguiça"] == ["l ĩ ˈ ɡ w i s ə"]
    assert ("br", "alambique") not in known
