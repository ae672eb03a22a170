import pytest

from atenta.recipes.accents import accent_pairs
from atenta.recipes.baselines import copy_source, look_up
from atenta.recipes.pairs import Pair
from atenta.recipes.scoring import score


def answer(train, source, tags=()):
    return look_up(train, [Pair(source, "?", tags)])[0]


def test_copy_leaves_sources_as_they_are():
    assert copy_source([Pair("nao  e", "não é"), Pair("a", "à", ("<V>",))]) == ["nao  e", "a"]


def test_a_word_gets_its_most_frequent_spelling():
    train = [Pair("e a mae", "é a mãe"), Pair("e o pai", "e o pai"), Pair("nao e so", "não é só")]
    assert answer(train, "mae e pai") == "mãe é pai"


def test_unseen_words_and_spaces_stay():
    assert answer([Pair("nao e", "não é")], " nao  sei\u00a0nao ") == " não  sei\u00a0não "


def test_ties_go_to_what_comes_first():
    assert answer([Pair("a", "à"), Pair("a", "a")], "a") == "à"
    assert answer([Pair("a", "a"), Pair("a", "à")], "a") == "a"


def test_a_source_seen_whole_gets_its_most_frequent_target():
    train = [Pair("la vai", "lá vai"), Pair("la", "la"), Pair("la", "la"), Pair("la", "la")]
    assert answer(train, "la vai") == "lá vai"
    assert answer(train, "la foi") == "la foi"


def test_pairs_that_are_not_aligned_teach_no_words():
    train = [Pair("casa", "k a z a"), Pair("du pain", "bread")]
    assert answer(train, "casa") == "k a z a"
    assert answer(train, "casa casa") == "casa casa"
    assert answer(train, "pain") == "pain"


def test_tags_are_part_of_what_is_looked_up():
    train = [Pair("ser", "sou", ("<1>", "<SG>")), Pair("ser", "és", ("<2>", "<SG>"))]
    assert answer(train, "ser", ("<1>", "<SG>")) == "sou"
    assert answer(train, "ser", ("<2>", "<SG>")) == "és"
    assert answer(train, "ser ser", ("<2>", "<SG>")) == "és és"
    assert answer(train, "ser", ("<3>", "<SG>")) == answer(train, "ser") == "ser"


def test_replacements_are_not_patterns():
    assert answer([Pair("x", r"\1\g<0>")], "x y") == r"\1\g<0> y"


def test_without_training_pairs_sources_stay():
    assert look_up([], [Pair("nao", "não")]) == ["nao"]


def test_scores_on_the_shipped_test_set():
    pairs = accent_pairs()
    targets = [pair.target for pair in pairs["test"]]
    copied = score(targets, copy_source(pairs["test"]))
    assert copied == pytest.approx(
        {"word_accuracy": 0.8565, "exact_match": 0.5255, "character_error_rate": 0.0278}, abs=1e-4
    )
    looked_up = score(targets, look_up(pairs["train"], pairs["test"]))
    assert looked_up == pytest.approx(
        {"word_accuracy": 0.9597, "exact_match": 0.8413, "character_error_rate": 0.0077}, abs=1e-4
    )
