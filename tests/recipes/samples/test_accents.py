import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.accents import cut_spans
from atenta.recipes.samples.files import DATA, SPLITS, read_samples
from atenta.tokenization.base_letters import strip_accents


@pytest.fixture(scope="module")
def pairs(rows_of):
    return rows_of("accents")


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


def test_further_tests_are_sentences_and_paragraphs_of_plays(pairs):
    plays = [" ".join(play.split()) for play in read_samples(DATA / "machado_plays", "*/*.txt")]
    train = "\n".join(pair["target"] for pair in pairs["train"])
    sentences, paragraphs = ({pair["target"] for pair in pairs[name]} for name in ("sentences", "paragraphs"))
    assert (len(sentences), len(paragraphs)) == (600, 100)
    assert all(60 <= len(sentence) <= 240 for sentence in sentences)
    assert all(len(paragraph) >= 600 for paragraph in paragraphs)
    assert not any(sentence in train for sentence in sentences)
    # Stage directions are taken out of the others.
    assert sum(any(sentence in play for play in plays) for sentence in sentences) > 400


def test_sources_lack_accents_and_some_of_training_only_some_of_them(pairs):
    for name, rows in pairs.items():
        marked = [pair for pair in rows if pair["target"] != strip_accents(pair["target"])]
        assert all(strip_accents(pair["source"]) == strip_accents(pair["target"]) for pair in rows)
        partly = sum(pair["source"] != strip_accents(pair["target"]) for pair in marked)
        assert partly / len(marked) == pytest.approx(0.1 if name == "train" else 0, abs=0.02)
    whole = [pair for pair in pairs["train"] if pair["source"] == pair["target"] != strip_accents(pair["target"])]
    assert 1000 < len(whole) < 4000
