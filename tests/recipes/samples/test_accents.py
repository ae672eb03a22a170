import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.accents import accent_pairs, cut_spans
from atenta.recipes.samples.files import DATA, SPLITS, read_samples
from atenta.tokenization.base_letters import strip_accents


@pytest.fixture(scope="module")
def pairs():
    return accent_pairs()


@pytest.fixture(scope="module")
def texts():
    return {
        split: {work.name: work.read_text(encoding="utf-8") for work in (DATA / "machado" / split).glob("*.txt")}
        for split in SPLITS
    }


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
    spans = cut_spans("palavra " * 300_000, random.Random(0))
    lengths = [len(span.split()) for span in spans]
    assert set(lengths) == set(range(2, 31))
    for shortest, longest in ((2, 3), (4, 7), (8, 15), (16, 30)):
        share = sum(shortest <= length <= longest for length in lengths) / len(lengths)
        assert share == pytest.approx(math.log((longest + 1) / shortest) / math.log(31 / 2), abs=0.01)


def test_no_work_is_in_two_splits(texts):
    for one, other in combinations(SPLITS, 2):
        assert not texts[one].keys() & texts[other].keys()
        long_lines = [
            {line for text in texts[split].values() for line in text.splitlines() if len(line.split()) >= 8}
            for split in (one, other)
        ]
        assert all(long_lines)
        assert not long_lines[0] & long_lines[1]


def test_no_held_out_span_is_in_training(pairs):
    train = {strip_accents(pair["source"]) for pair in pairs["train"]}
    for split in ("validation", "test"):
        assert pairs[split]
        assert not train & {pair["source"] for pair in pairs[split]}


def test_spans_are_from_works_of_their_split(pairs, texts):
    for split in SPLITS:
        words = {word for text in texts[split].values() for word in text.split()}
        assert all(word in words for pair in pairs[split] for word in pair["target"].split())
    running = "\n".join(" ".join(text.split()) for text in texts["test"].values())
    assert all(pair["target"] in running for pair in pairs["test"])


def test_further_tests_are_sentences_and_paragraphs_of_plays(pairs):
    plays = [" ".join(play.split()) for play in read_samples(DATA / "machado_plays", "*/*.txt")]
    train = "\n".join(pair["target"] for pair in pairs["train"])
    targets = {name: [pair["target"] for pair in pairs[name]] for name in ("sentences", "paragraphs")}
    assert all(60 <= len(sentence) <= 240 for sentence in targets["sentences"])
    assert all(len(paragraph) >= 600 for paragraph in targets["paragraphs"])
    assert len(set(targets["sentences"])) == 600
    assert len(set(targets["paragraphs"])) == 100
    assert not any(sentence in train for sentence in targets["sentences"])
    unbroken = [sentence for sentence in targets["sentences"] if any(sentence in play for play in plays)]
    assert len(unbroken) > 400  # stage directions are taken out of the others


def test_sources_are_targets_without_accents(pairs):
    for pair in (pair for rows in pairs.values() for pair in rows):
        assert strip_accents(pair["source"]) == strip_accents(pair["target"])
        assert len(pair["source"].split()) == len(pair["target"].split())
        assert pair["tags"] == []


def test_only_some_training_sources_keep_some_accents(pairs):
    for name, rows in pairs.items():
        partly = [pair for pair in rows if pair["source"] != strip_accents(pair["target"])]
        marked = [pair for pair in rows if pair["target"] != strip_accents(pair["target"])]
        assert len(partly) / len(marked) == pytest.approx(0.1 if name == "train" else 0, abs=0.02)
    whole = [pair for pair in pairs["train"] if pair["source"] == pair["target"] != strip_accents(pair["target"])]
    assert 1000 < len(whole) < 4000
