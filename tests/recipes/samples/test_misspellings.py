"""Tests of the sample of misspelled names: its splits, its errors, and what no test may share with training."""

import random
from collections import Counter
from itertools import combinations

import pytest
from rapidfuzz.distance import OSA

from atenta.recipes.samples.misspellings import misspell, misspellings
from atenta.tokenization.base_letters import strip_accents

WORDS = ("nesterov", "assunção", "waldseemüller", "oliveira", "physique")


@pytest.fixture(scope="module")
def rows():
    return misspellings()


def errors(word, count=1, draws=400):
    """Return the misspellings that are drawn."""
    generator = random.Random(0)
    return {misspell(word, count, generator, {word}) for _ in range(draws)}


def test_no_tested_entry_is_trained_on(rows):
    entries = {split: {row["positive"] for row in rows[split]} for split in rows}
    for one, other in combinations(("train", "validation", "test"), 2):
        assert not entries[one] & entries[other]
    assert entries["hard"] == entries["random letters"] == entries["test"]
    assert len(entries["test"]) == 1000


def test_no_misspelling_is_an_entry(rows):
    entries = {row["positive"] for of_split in rows.values() for row in of_split}
    assert not [row for of_split in rows.values() for row in of_split if row["anchor"] in entries]


def test_training_has_each_entry_four_times(rows):
    assert set(Counter(row["positive"] for row in rows["train"]).values()) == {4}


def test_the_hard_test_is_further_away(rows):
    means = {
        name: sum(OSA.distance(row["anchor"], row["positive"]) for row in rows[name]) / len(rows[name])
        for name in ("validation", "test", "hard")
    }
    assert means["hard"] > 1.7 * means["test"]
    assert means["validation"] == pytest.approx(means["test"], rel=0.1)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("nesterov", "mesterov"),  # a key beside it
        ("nesterov", "hesterov"),  # a key above it
        ("nesterov", "nessterov"),  # doubled
        ("waldseemüller", "waldseemüler"),  # one of a double
        ("nesterov", "nseterov"),  # swapped
        ("nesterov", "esterov"),  # missing
        ("nesterov", "nezterov"),  # sounds alike
        ("assunção", "asunção"),
        ("assunção", "assunssão"),
        ("physique", "fysique"),
        ("assunção", "assuncao"),  # without accents
    ],
)
def test_each_kind_of_error_is_made(word, expected):
    assert expected in errors(word, draws=3_000)


@pytest.mark.parametrize("word", WORDS)
def test_one_error_is_small(word):
    for wrong in errors(word):
        assert strip_accents(wrong) == strip_accents(word) or OSA.distance(wrong, word) <= 3


def test_entries_are_no_misspellings():
    near = errors("maria")
    assert not near & errors_but("maria", near)
    assert misspell("aaaaa", 1, random.Random(0), errors("aaaaa") | {"aaaaa"}) is None


def errors_but(word, taken):
    generator = random.Random(1)
    return {misspell(word, 1, generator, taken | {word}) for _ in range(100)} - {None}
