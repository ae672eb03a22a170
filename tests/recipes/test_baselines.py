import math
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.baselines import most_frequent_character, ngram_characters, uniform_characters, unigram_characters
from atenta.recipes.metrics import scores
from atenta.recipes.tasks.characters import most_frequent_spelling
from atenta.recipes.tasks.classification import (
    labels_by_length,
    labels_by_word_frequency,
    majority_label,
    ngram_labels,
)
from atenta.recipes.tasks.prompts import PromptTask
from atenta.recipes.tasks.questions import most_similar_sentences, random_spans
from atenta.recipes.tasks.tagging import most_frequent_tags
from atenta.recipes.tasks.transduction import align_letters, copy_source, letters_in_context, look_up


def pair(source, target, tags=()):
    return {"source": source, "target": target, "tags": list(tags)}


# Pairs


NO_TAGS = ()
SG_1, SG_2 = ("<1>", "<SG>"), ("<2>", "<SG>")
ALIGNED = [("e a mae", "é a mãe"), ("e o pai", "e o pai"), ("nao e so", "não é só")]
COMPLETE = [("la vai", "lá vai"), ("la", "la"), ("la", "la"), ("la", "la")]
NOT_ALIGNED = [("casa", "k a z a"), ("du pain", "bread")]
TAGGED = [("ser", "sou", SG_1), ("ser", "és", SG_2)]


@pytest.mark.parametrize(
    ("train", "source", "tags", "expected"),
    [
        (ALIGNED, "mae e pai", NO_TAGS, "mãe é pai"),
        ([("nao e", "não é")], " nao  sei\u00a0nao ", NO_TAGS, " não  sei\u00a0não "),  # new words and spaces
        ([("a", "à"), ("a", "a")], "a", NO_TAGS, "à"),  # ties
        ([("café", "K")], "cafe\u0301 cafe\u0301", NO_TAGS, "K K"),
        (COMPLETE, "la vai", NO_TAGS, "lá vai"),
        (COMPLETE, "la foi", NO_TAGS, "la foi"),
        (NOT_ALIGNED, "casa", NO_TAGS, "k a z a"),
        (NOT_ALIGNED, "casa casa", NO_TAGS, "casa casa"),
        (TAGGED, "ser", SG_1, "sou"),
        (TAGGED, "ser", SG_2, "és"),
        (TAGGED, "ser ser", SG_2, "és és"),
        (TAGGED, "ser", NO_TAGS, "ser"),
        ([("x", r"\1\g<0>")], "x y", NO_TAGS, r"\1\g<0> y"),  # not a pattern
        ([], "nao", NO_TAGS, "nao"),
    ],
)
def test_look_up(train, source, tags, expected):
    assert look_up([pair(*row) for row in train], [pair(source, "?", tags)]) == [expected]


def test_letters_are_aligned():
    train = [pair("casa", "k a z a"), pair("taxa", "t a k s a"), pair("chá", "ʃ a"), pair("saxão", "s a k s ɐ̃ w̃")]
    aligned = align_letters(train, " ")
    assert [row for row, _ in aligned] == train
    assert aligned[0][1] == [("k",), ("a",), ("z",), ("a",)]
    assert aligned[1][1] == [("t",), ("a",), ("k", "s"), ("a",)]
    assert align_letters([pair("a", "abcdef"), pair("", "a"), pair("ab", "")]) == [(pair("ab", ""), [(), ()])]


@given(st.lists(st.tuples(st.text("abc", max_size=6), st.text("abcd", max_size=8)), max_size=6))
def test_aligned_letters_share_out_the_target(words):
    train = [pair(*word) for word in words]
    aligned = align_letters(train)
    assert [row for row, _ in aligned] == [row for row in train if len(row["target"]) <= 5 * len(row["source"])]
    for row, parts in aligned:
        assert len(parts) == len(row["source"])
        assert "".join(unit for part in parts for unit in part) == row["target"]


IN_CONTEXT = [("casa", "kaza"), ("cedo", "sedu"), ("saca", "saka"), ("dedo", "dedu", SG_1), ("dado", "dadu", SG_1)]


@pytest.mark.parametrize(
    ("source", "tags", "expected"),
    [
        ("saca", NO_TAGS, "saka"),
        ("ceca", NO_TAGS, "seka"),  # c before e, and before a
        ("asa", NO_TAGS, "aza"),  # s between two letters a, and at the beginning
        ("sasa", NO_TAGS, "saza"),
        ("dodo", SG_1, "dudu"),  # under these tags o is u
        ("oca!", SG_1, "uka!"),  # c and a as under others; ! is new
        ("", NO_TAGS, ""),
    ],
)
def test_letters_in_context(source, tags, expected):
    aligned = align_letters([pair(*row) for row in IN_CONTEXT])
    assert letters_in_context(aligned, [pair(source, "?", tags)]) == [expected]


def test_scores_on_the_accents(rows_of):
    pairs = rows_of("accents")
    names = ["word_accuracy", "exact_match", "character_error_rate"]
    targets = [row["target"] for row in pairs["test"]]
    copied = scores(names, predictions=copy_source(pairs["test"]), references=targets)
    assert copied == pytest.approx(
        {"word_accuracy": 0.8563, "exact_match": 0.3376, "character_error_rate": 0.0271}, abs=1e-4
    )
    looked_up = scores(names, predictions=look_up(pairs["train"], pairs["test"]), references=targets)
    assert looked_up == pytest.approx(
        {"word_accuracy": 0.9588, "exact_match": 0.6833, "character_error_rate": 0.0076}, abs=1e-4
    )


# Labels, tags and spans


def test_majority_label():
    train = [{"label": label} for label in ("fr", "it", "pt", "it")]
    assert majority_label(train, [{"label": "fr"}, {"label": "pt"}]) == ["it", "it"]
    assert majority_label(train[:3], [{"label": "pt"}]) == ["fr"]
    assert majority_label(train, []) == []


def labelled(text, label, text_pair=None):
    return {"text": text, "text_pair": text_pair, "label": label}


def test_ngrams_tell_a_label():
    train = [labelled("nação", "pt"), labelled("canção", "pt"), labelled("nazione", "it"), labelled("canzone", "it")]
    assert ngram_labels(train, [labelled("oração", ""), labelled("orazione", "")]) == ["pt", "it"]
    assert ngram_labels(train, []) == []
    train = [labelled("o", "same", "o"), labelled("o", "other", "um")]
    assert ngram_labels(train, [labelled("a", "", "o"), labelled("a", "", "um")]) == ["same", "other"]


def test_lengths_and_frequencies_of_words_tell_which_of_two_texts_is_meant():
    train = [labelled("aaa", "second", "b"), labelled("cc", "first", "dddd")] * 3
    asked = [labelled("e", "", "ffffff"), labelled("gggg", "", "h")]
    assert labels_by_length(train, asked) == ["first", "second"]
    assert labels_by_length(train, []) == []
    assert labels_by_length(train[:1], asked) == ["second", "second"]
    train = [labelled("A casa.", "first", "A choupana."), labelled("Um tugúrio", "second", "um, casa")] * 3
    asked = [labelled("choupana", "", "Casa!"), labelled("a casa", "", "a ???? palhoça")]
    assert labels_by_word_frequency(train, asked) == ["second", "first"]
    assert labels_by_word_frequency(train, []) == []


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


def test_random_spans():
    context = " Um  dois\ntrês, quatro cinco. "
    spans = random_spans(questions(["x"], "a b", "a b c d"), questions([context] * 300), seed=0)
    words = context.split()
    sequences = {tuple(words[i : i + length]) for length in (2, 4) for i in range(6 - length)}
    assert {tuple(span.split()) for span in spans} == sequences
    assert all(span in context and span == span.strip() for span in spans)
    lengths = Counter(len(span.split()) for span in spans)
    assert 100 < lengths[2] < 200  # both are equally likely
    rows = questions([context] * 300)
    assert spans == random_spans(questions(["x"], "a b", "a b c d"), rows, seed=0)
    assert spans != random_spans(questions(["x"], "a b", "a b c d"), rows, seed=1)
    assert random_spans(questions(["x"], "a b c"), questions(["um", " um dois "]), seed=0) == ["um", "um dois"]


def test_most_similar_sentences():
    context = "Machado nasceu no Rio. Quando ele morreu? Morreu em 1908, no Rio."
    asked = ["Onde nasceu Machado?", "Em que ano morreu?", "Rio?", "xyz"]
    rows = [{"question": question, "context": context} for question in asked]
    first, _, last = "Machado nasceu no Rio.", "Quando ele morreu?", "Morreu em 1908, no Rio."
    assert most_similar_sentences(rows) == [first, last, first, first]


# Characters


def test_single_characters():
    # a, b and any other character: 1/3 each; or 1 + 1, 2 + 1 and 1 of the 3 characters in training and 3 added.
    texts, log = ["a", "bb", "aé", ""], math.log
    assert uniform_characters(["ab", "b"], texts) == pytest.approx([log(3), 2 * log(3), 2 * log(3), 0])
    assert unigram_characters(["ab", "b"], texts) == pytest.approx([log(3), 2 * log(2), log(3) + log(6), 0])
    assert uniform_characters(["a\u0303"], ["a\u0303ã"]) == pytest.approx([2 * log(2)])  # after NFC
    assert unigram_characters(["a\u0303"], ["a\u0303ã"]) == pytest.approx([2 * log(3 / 2)])
    assert most_frequent_character(["a\u0303a\u0303", "a"]) == "ã"
    assert most_frequent_character(["aéé", "bé", "bb"]) == "é"


def test_six_characters_in_a_row():
    # Once each: a, b and the end. The three discounts are then 0.6, 0.2 and 0.6, and of four single characters, the
    # fourth any other, a, b and the end have (1 - 0.6) / 3 + 0.6 / 4 each. Each length keeps 0.4 of what it has seen.
    single = 0.4 / 3 + 0.6 / 4
    seen_in_all = 1 - 0.6**5 * (1 - single)
    only_unlike_before = 0.6**5 * single
    after_single = 0.4 + 0.6 * single  # "b" alone is followed by the end, no longer context is known
    assert ngram_characters(["ab"], ["ab", "b", ""]) == pytest.approx(
        [-3 * math.log(seen_in_all), -math.log(only_unlike_before * after_single), -math.log(only_unlike_before)]
    )
    assert ngram_characters(["ab"], ["é"]) == ngram_characters(["ab"], ["z"])  # any other character
    assert ngram_characters(["a\u0303"], ["ã"]) == ngram_characters(["ã"], ["a\u0303"])
    assert ngram_characters([], ["ab", ""]) == pytest.approx([3 * math.log(2), math.log(2)])
    assert ngram_characters(["ab"], []) == []


@given(st.lists(st.text(max_size=9), max_size=4))
def test_probabilities_sum_to_one(train):
    alphabet = {character for text in train for character in unicodedata.normalize("NFC", text)}
    other = next(character for character in map(chr, range(0xE000, 0xF8FF)) if character not in alphabet)
    texts = [*alphabet, other]
    for nats in (uniform_characters(train, texts), unigram_characters(train, texts)):
        assert math.fsum(math.exp(-each) for each in nats) == pytest.approx(1)


def test_a_model_is_compared_with_character_frequencies():
    task, train = PromptTask(), [{"answer": "aaab"}]
    compared = task.compare([{"answer": "ab"}], [4 * math.log(2)], task.baselines(train))
    assert compared["model"]["bits_per_character"] == pytest.approx(2)
    assert compared["uniform characters"]["bits_per_character"] == pytest.approx(math.log2(3))  # a, b, any other
    assert compared["unigram characters"]["bits_per_character"] == pytest.approx(math.log2(7 / 4 * 7 / 2) / 2)
    in_order, in_disorder = (
        task.compare([{"answer": text}], [1.0], task.baselines(train))["6-gram characters"] for text in ("ab", "ba")
    )
    assert in_order["bits_per_character"] < in_disorder["bits_per_character"]


SPELT = [
    {"source": "Ela esta la", "target": "Ela está lá"},
    {"source": "ELA ESTA, la", "target": "ELA ESTÁ, lá"},
    {"source": "na esta.", "target": "na esta."},
]


@pytest.mark.parametrize(
    ("source", "after_word", "restored"),
    [
        ("esta", False, "está"),
        ("(Esta) LA-la nunca", False, "(Está) LÁ-lá nunca"),
        ("na esta", False, "na está"),
        ("na esta", True, "na esta"),
        ("Na Esta, ela ESTA", True, "Na Esta, ela ESTÁ"),
        ("nunca esta", True, "nunca está"),
        ("está", False, "está"),
        ("", False, ""),
    ],
)
def test_most_frequent_spelling(source, after_word, restored):
    answers = most_frequent_spelling(SPELT, [{"source": source}], fold_case=True, after_word=after_word)
    assert answers == [restored]
    train = [{"source": "joão e joão", "target": "João e João"}]
    assert most_frequent_spelling(train, [{"source": "e joão"}], fold_case=False) == ["e João"]
