"""The sample of accents, whose digest `test_samples.py` knows: no work and no sentence of its tests is trained on."""

from itertools import combinations

import pytest

from atenta.recipes.samples.files import SPLITS, read_samples

pytestmark = pytest.mark.slow


def test_no_work_is_in_two_splits():
    texts = {split: read_samples(f"machado/{split}") for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        lines = [
            {line for text in texts[split] for line in text.splitlines() if len(line.split()) >= 8}
            for split in (one, other)
        ]
        assert all(lines)
        assert not lines[0] & lines[1]


def test_no_sentence_of_the_plays_is_trained_on(rows_of):
    train = "\n".join(pair["target"] for pair in rows_of("accents")["train"])
    assert not any(pair["target"] in train for pair in rows_of("accents")["sentences"])
