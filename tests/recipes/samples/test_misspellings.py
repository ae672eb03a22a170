"""Tests of the sample of misspelled names: its errors, and the entries of its tests."""

import random

import pytest
from rapidfuzz.distance import OSA

from atenta.recipes.samples.misspellings import misspell
from atenta.tokenization.base_letters import strip_accents


def errors(word, count=1, draws=400):
    """Return the misspellings that are drawn."""
    generator = random.Random(0)
    return {misspell(word, count, generator, {word}) for _ in range(draws)}


def test_all_tests_have_the_entries_of_the_first(rows_of):
    """Which test_samples.py keeps out of training."""
    entries = {split: {row["positive"] for row in of_split} for split, of_split in rows_of("misspellings").items()}
    assert entries["hard"] == entries["random letters"] == entries["test"]


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
