"""Tests of the padding of random batches, against counts by hand."""

import pytest

from benchmarks.padding import random_padding_share


def test_texts_of_equal_length_need_no_padding():
    assert random_padding_share([(7,)] * 10, batches=3) == 0


def test_single_batch_pads_each_sequence_to_the_longest():
    # 3 rows of 4 + 3 tokens, of which 1 + 4 + 2 and 3 + 1 + 2 are not padding.
    assert random_padding_share([(1, 3), (4, 1), (2, 2)], batches=1) == pytest.approx(1 - 13 / 21)
