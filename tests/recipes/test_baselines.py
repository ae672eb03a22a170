import math
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.baselines import (
    copy_source,
    look_up,
    majority_label,
    most_frequent_character,
    most_frequent_tags,
    random_spans,
    uniform_characters,
    unigram_characters,
)
from atenta.recipes.metrics import scores
from atenta.recipes.samples.accents import accent_pairs


def pair(source, target, tags=()):
    return {"source": source, "target": target, "tags": list(tags)}


def answer(train, source, tags=()):
    return look_up([pair(*row) for row in train], [pair(source, "?", tags)])[0]


def test_copy_leaves_sources_as_they_are():
    assert copy_source([pair("nao  e", "não é"), pair("a", "à", ["<V>"])]) == ["nao  e", "a"]


def test_a_word_gets_its_most_frequent_spelling():
    train = [("e a mae", "é a mãe"), ("e o pai", "e o pai"), ("nao e so", "não é só")]
    assert answer(train, "mae e pai") == "mãe é pai"


def test_unseen_words_and_spaces_stay():
    assert answer([("nao e", "não é")], " nao  sei\u00a0nao ") == " não  sei\u00a0não "


def test_ties_go_to_what_comes_first():
    assert answer([("a", "à"), ("a", "a")], "a") == "à"
    assert answer([("a", "a"), ("a", "à")], "a") == "a"


def test_a_source_seen_whole_gets_its_most_frequent_target():
    train = [("la vai", "lá vai"), ("la", "la"), ("la", "la"), ("la", "la")]
    assert answer(train, "la vai") == "lá vai"
    assert answer(train, "la foi") == "la foi"


def test_pairs_that_are_not_aligned_teach_no_words():
    train = [("casa", "k a z a"), ("du pain", "bread")]
    assert answer(train, "casa") == "k a z a"
    assert answer(train, "casa casa") == "casa casa"
    assert answer(train, "pain") == "pain"


def test_tags_are_part_of_what_is_looked_up():
    train = [("ser", "sou", ["<1>", "<SG>"]), ("ser", "és", ["<2>", "<SG>"])]
    assert answer(train, "ser", ["<1>", "<SG>"]) == "sou"
    assert answer(train, "ser", ["<2>", "<SG>"]) == "és"
    assert answer(train, "ser ser", ["<2>", "<SG>"]) == "és és"
    assert answer(train, "ser", ["<3>", "<SG>"]) == answer(train, "ser") == "ser"


def test_replacements_are_not_patterns():
    assert answer([("x", r"\1\g<0>")], "x y") == r"\1\g<0> y"


def test_without_training_pairs_sources_stay():
    assert look_up([], [pair("nao", "não")]) == ["nao"]


def test_scores_on_the_shipped_test_set():
    pairs = accent_pairs()
    names = ["word_accuracy", "exact_match", "character_error_rate"]
    targets = [row["target"] for row in pairs["test"]]
    copied = scores(names, predictions=copy_source(pairs["test"]), references=targets)
    assert copied == pytest.approx(
        {"word_accuracy": 0.8565, "exact_match": 0.5255, "character_error_rate": 0.0278}, abs=1e-4
    )
    looked_up = scores(names, predictions=look_up(pairs["train"], pairs["test"]), references=targets)
    assert looked_up == pytest.approx(
        {"word_accuracy": 0.9597, "exact_match": 0.8413, "character_error_rate": 0.0077}, abs=1e-4
    )


def test_majority_label():
    train = [{"label": label} for label in ("fr", "it", "pt", "it")]
    assert majority_label(train, [{"label": "fr"}, {"label": "pt"}]) == ["it", "it"]
    assert majority_label(train[:3], [{"label": "pt"}]) == ["fr"]
    assert majority_label(train, []) == []


def test_most_frequent_tags():
    train = [
        {"words": ["a", "casa", "a"], "tags": ["DET", "NOUN", "ADP"]},
        {"words": ["a", "Casa", "casa"], "tags": ["DET", "PROPN", "NOUN"]},
        {"words": ["casa", "fala"], "tags": ["VERB", "NOUN"]},
    ]
    rows = [{"words": ["a", "casa", "fala"], "tags": []}, {"words": ["Casa", "CASA"], "tags": []}, {"words": []}]
    assert most_frequent_tags(train, rows) == [["DET", "NOUN", "NOUN"], ["PROPN", "NOUN"], []]


def questions(contexts, *answers):
    return [{"context": context, "answers": {"text": list(answers)}} for context in contexts]


def test_random_spans_are_runs_of_words_as_long_as_training_answers():
    context = " Um  dois\ntrês, quatro cinco. "
    spans = random_spans(questions(["x"], "a b", "a b c d"), questions([context] * 300), seed=0)
    words = context.split()
    runs = {tuple(words[i : i + length]) for length in (2, 4) for i in range(6 - length)}
    assert {tuple(span.split()) for span in spans} == runs
    assert all(span in context and span == span.strip() for span in spans)
    both_lengths = Counter(len(span.split()) for span in spans)
    assert 100 < both_lengths[2] < 200  # each of the two answers is as likely


def test_random_spans_of_short_contexts_are_the_context():
    assert random_spans(questions(["x"], "a b c"), questions(["um", " um dois "]), seed=0) == ["um", "um dois"]


def test_random_spans_depend_on_the_seed_alone():
    rows = questions(["um dois três quatro cinco seis"] * 20)
    train = questions(["x"], "a", "a b c")
    assert random_spans(train, rows, seed=1) == random_spans(train, rows, seed=1) != random_spans(train, rows, seed=2)


def test_uniform_characters():
    # a, b and any other: one chance in three, also for a character never seen.
    assert uniform_characters(["ab", "b"], ["a", "bb", "aé", ""]) == pytest.approx(
        [math.log(3), 2 * math.log(3), 2 * math.log(3), 0]
    )


def test_unigram_characters():
    # Of 3 characters of training and 3 added, a has 1 + 1, b 2 + 1 and any other 1.
    nats = unigram_characters(["ab", "b"], ["a", "b", "é", "abb", ""])
    assert nats == pytest.approx([math.log(3), math.log(2), math.log(6), math.log(3 * 2 * 2), 0])


def test_characters_are_those_of_the_nfc():
    assert uniform_characters(["a\u0303"], ["a\u0303ã"]) == pytest.approx([2 * math.log(2)])
    assert unigram_characters(["a\u0303"], ["a\u0303ã"]) == pytest.approx([2 * math.log(3 / 2)])
    assert most_frequent_character(["a\u0303a\u0303", "a"]) == "ã"


@settings(deadline=None)
@given(st.lists(st.text(max_size=9), max_size=4))
def test_probabilities_of_the_alphabet_and_any_other_sum_to_one(train):
    alphabet = {character for text in train for character in unicodedata.normalize("NFC", text)}
    other = next(character for character in map(chr, range(0xE000, 0xF8FF)) if character not in alphabet)
    texts = [*alphabet, other]
    for nats in (uniform_characters(train, texts), unigram_characters(train, texts)):
        assert math.fsum(math.exp(-each) for each in nats) == pytest.approx(1)


def test_characters_by_frequency_beat_uniform_ones_where_they_were_counted():
    texts = ["não é nada", "nada"]
    assert sum(unigram_characters(texts, texts)) < sum(uniform_characters(texts, texts))


def test_most_frequent_character():
    assert most_frequent_character(["aéé", "bé", "bb"]) == "é"


@pytest.mark.parametrize(
    "call",
    [
        lambda: majority_label([], []),
        lambda: most_frequent_tags([{"words": [], "tags": []}], []),
        lambda: random_spans(questions(["x"]), [], 0),
        lambda: most_frequent_character([""]),
    ],
)
def test_nothing_in_training(call):
    with pytest.raises(ValueError, match="found no"):
        call()
