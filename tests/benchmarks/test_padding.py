"""Padding of random batches, where it can be counted by hand."""

import pytest

from benchmarks.padding import random_padding_share


def test_texts_of_one_length_need_none():
    assert random_padding_share([(7,)] * 10, batches=3) == 0


def test_a_single_batch_pads_to_its_longest_text_in_each_part():
    # 3 rows of 4 + 3 tokens, of which 1 + 4 + 2 and 3 + 1 + 2 are real.
    assert random_padding_share([(1, 3), (4, 1), (2, 2)], batches=1) == pytest.approx(1 - 13 / 21)
