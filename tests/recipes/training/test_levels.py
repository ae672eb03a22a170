import math
from collections import Counter

import pytest
from datasets import Dataset

from atenta.recipes.encoding.documents import encode_documents
from atenta.recipes.training.levels import LEVELS

TRAIN = ["o gato viu o rato", "o rato viu"]
TEST = ["o gato fugiu", "viu"]


def rows_of(texts, tokenizer):
    return Dataset.from_dict(encode_documents({"text": texts}, tokenizer))


@pytest.mark.parametrize(
    ("name", "figure", "count"), [("characters", "bits_per_character", 16), ("words", "bits_per_word", 4)]
)
def test_what_is_told_of_nats_is_per_character_or_word_of_the_texts(name, figure, count):
    """Of `o gato fugiu` and `viu`, with the end between them a character; ends are no words."""
    level = LEVELS[name]
    tokenizer = level.make_tokenizer(TRAIN, 30)
    figures = level.figures(count * 3 * math.log(2), rows_of(TEST, tokenizer), tokenizer)
    assert figures[figure] == pytest.approx(3)


def test_the_uniform_baselines_are_of_the_alphabet_and_of_the_vocabulary():
    uniform = {}
    for name, level in LEVELS.items():
        tokenizer = level.make_tokenizer(TRAIN, 30)
        baselines = level.baselines(rows_of(TRAIN, tokenizer), rows_of(TEST, tokenizer), tokenizer)
        uniform |= {name: baselines[f"uniform {name}"]}
    assert uniform["characters"] == pytest.approx(16 * math.log(len(set("".join(TRAIN))) + 1))
    assert uniform["words"] == pytest.approx(6 * math.log(8))


def test_the_unigram_baseline_of_words_counted_by_hand():
    level = LEVELS["words"]
    tokenizer = level.make_tokenizer(TRAIN, 30)
    seen = Counter(["o", "gato", "viu", "o", "rato", "o", "rato", "viu", "<eos>", "<eos>"])
    assert len(tokenizer) == 8  # four words and four special tokens
    foreseen = ["o", "gato", "<unk>", "<eos>", "viu", "<eos>"]
    expected = -sum(math.log((seen[word] + 1) / (10 + 8)) for word in foreseen)
    rows = rows_of(TRAIN, tokenizer), rows_of(TEST, tokenizer)
    assert level.baselines(*rows, tokenizer)["unigram words"] == pytest.approx(expected)
    assert level.figures(expected, rows[1], tokenizer)["unknown_words"] == 1 / 4
