"""Tests of the sample of misspelled names: its splits, its errors, and what no test may share with training."""

import random
from collections import Counter

import pytest
from rapidfuzz.distance import OSA

from atenta.recipes.samples.misspellings import misspell
from atenta.tokenization.base_letters import strip_accents


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of("misspellings")


def errors(word, count=1, draws=400):
    """Return the misspellings that are drawn."""
    generator = random.Random(0)
    return {misspell(word, count, generator, {word}) for _ in range(draws)}


def test_entries_and_their_misspellings(rows):
    entries = {split: Counter(row["positive"] for row in rows[split]) for split in rows}
    assert set(entries["train"].values()) == {4}
    assert entries["hard"] == entries["random letters"] == entries["test"]
    assert set(entries["test"].values()) == {1}
    all_entries = set().union(*entries.values())
    assert not [row for of_split in rows.values() for row in of_split if row["anchor"] in all_entries]


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


@pytest.mark.parametrize("word", ["nesterov", "assunção", "waldseemüller", "physique"])
def test_one_error_is_small(word):
    for wrong in errors(word):
        assert strip_accents(wrong) == strip_accents(word) or OSA.distance(wrong, word) <= 3


def test_entries_are_no_misspellings():
    near, generator = errors("maria"), random.Random(1)
    assert not near & {misspell("maria", 1, generator, near | {"maria"}) for _ in range(100)}
    assert misspell("aaaaa", 1, random.Random(0), errors("aaaaa") | {"aaaaa"}) is None
