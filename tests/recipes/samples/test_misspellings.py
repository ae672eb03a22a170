"""The sample of misspelled names: the entries of its tests, and a word of which nothing else can be written."""

import random

import pytest

from atenta.recipes.samples.misspellings import misspell


@pytest.mark.slow  # rows of one digest
def test_all_tests_have_the_entries_of_the_first(rows_of):
    """Which test_samples.py keeps out of training."""
    entries = {split: {row["positive"] for row in of_split} for split, of_split in rows_of("misspellings").items()}
    assert entries["hard"] == entries["random letters"] == entries["test"]


def test_a_word_whose_misspellings_are_all_taken_has_none():
    assert misspell("ab", 1, random.Random(0), {"ba"}, [lambda word, generator: word[::-1]]) is None
