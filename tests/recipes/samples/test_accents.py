import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.accents import cut_spans
from atenta.recipes.samples.files import SPLITS, read_samples


@given(st.lists(st.lists(st.text("ãb—.", min_size=1), max_size=25)), st.integers())
def test_spans_use_each_word_once(lines, seed):
    text = "\n".join(" ".join(words) for words in lines)
    spans = [span.split(" ") for span in cut_spans(text, random.Random(seed))]
    words = text.split()
    used = [word for span in spans for word in span]
    assert used == words[: len(used)]
    assert len(words) - len(used) <= 1
    assert all(2 <= len(span) <= 30 for span in spans)


def test_lengths_of_spans_are_even_on_a_log_scale():
    lengths = [len(span.split()) for span in cut_spans("palavra " * 300_000, random.Random(0))]
    for shortest, longest in ((2, 3), (4, 7), (8, 15), (16, 30)):
        share = sum(shortest <= length <= longest for length in lengths) / len(lengths)
        assert share == pytest.approx(math.log((longest + 1) / shortest) / math.log(31 / 2), abs=0.01)


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
