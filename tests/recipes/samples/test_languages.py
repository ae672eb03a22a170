from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.files import DATA, SPLITS
from atenta.recipes.samples.languages import language_words, lowercase_words

PARTS = dict(zip(SPLITS, ("train", "dev", "test")))


@pytest.fixture(scope="module")
def rows():
    return language_words()


@pytest.fixture
def folder(tmp_path):
    """Three words of each language per split, some of them of two languages or in two splits."""
    (tmp_path / "g2p").mkdir()
    texts = {
        "train": ("uno\tu n o\ndue\td u e\nanimal\ta n", "un\tœ̃\ndeux\td ø\ntrois\tt", "Um, dois — três! um animal."),
        "validation": ("quattro\tk\ncinque\tt", "quatre\tk\ncinq\ts", "quatro cinco Capitu disse-me três"),
        "test": ("sei\ts\nsette\ts", "six\ts\nsept\ts", "seis sete deux três"),
    }
    for split, (italian, french, portuguese) in texts.items():
        (tmp_path / "g2p" / f"ita_{PARTS[split]}.tsv").write_text(italian + "\n", encoding="utf-8")
        (tmp_path / "g2p" / f"fre_{PARTS[split]}.tsv").write_text(french + "\n", encoding="utf-8")
        (tmp_path / "machado" / split).mkdir(parents=True)
        (tmp_path / "machado" / split / "obra.txt").write_text(portuguese + "\n", encoding="utf-8")
    return tmp_path


def test_lowercase_words():
    text = "— Não!... disse-me Capitu; “não sei”, d'água (talvez), 1a º vez\nVEZ vez."
    assert lowercase_words(text) == ["não", "sei", "talvez", "vez"]


@given(st.text())
def test_lowercase_words_are_distinct_and_in_the_text(text):
    found = lowercase_words(text)
    assert len(set(found)) == len(found)
    assert all(word in text and word.isalpha() and word.islower() for word in found)


def test_sizes(rows):
    for split, size in {"train": 659, "validation": 81, "test": 76}.items():
        assert Counter(row["label"] for row in rows[split]) == {"ita": size, "fra": size, "por": size}
        assert all(row["text_pair"] is None for row in rows[split])


def test_words_are_distinct(rows):
    texts = {split: {row["text"] for row in rows[split]} for split in SPLITS}
    assert all(len(texts[split]) == len(rows[split]) for split in SPLITS)
    assert not any(texts[one] & texts[other] for one, other in combinations(SPLITS, 2))


def test_words_are_from_the_lists_of_their_language_and_split(rows):
    lists = {
        (language, split): {
            line.split("\t")[0] for line in (DATA / "g2p" / name).read_text(encoding="utf-8").splitlines()
        }
        for split, part in PARTS.items()
        for language, name in (("ita", f"ita_{part}.tsv"), ("fra", f"fre_{part}.tsv"))
    }
    for split in SPLITS:
        works = (DATA / "machado" / split).glob("*.txt")
        lists["por", split] = set(lowercase_words("\n".join(work.read_text(encoding="utf-8") for work in works)))
    for split in SPLITS:
        for row in rows[split]:
            holders = {language for (language, _), spellings in lists.items() if row["text"] in spellings}
            assert holders == {row["label"]}
            assert row["text"] in lists[row["label"], split]


def test_words_of_two_languages_are_left_out(folder):
    rows = language_words(folder)
    by_label = {
        split: {
            label: {row["text"] for row in rows[split] if row["label"] == label} for label in ("ita", "fra", "por")
        }
        for split in SPLITS
    }
    # `animal` is in two lists of one split, `deux` in two lists of different splits.
    assert by_label["train"]["ita"] == {"uno", "due"}
    assert by_label["train"]["fra"] == {"un", "trois"}
    assert by_label["test"]["ita"] == {"sei", "sette"}
    assert by_label["test"]["por"] < {"seis", "sete", "três"}
    assert len(by_label["test"]["por"]) == 2


def test_word_of_two_splits_is_drawn_once(folder):
    for seed in range(20):
        rows = language_words(folder, seed)
        assert sum(row["text"] == "três" for split in SPLITS for row in rows[split]) <= 1


def test_seed(rows):
    assert language_words() == rows
    other = language_words(seed=1)
    for split in SPLITS:
        assert {row["text"] for row in other[split]} != {row["text"] for row in rows[split]}
        assert [row["label"] for row in rows[split]] != sorted(row["label"] for row in rows[split])


def test_missing_data(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"--train_file and --validation_file"):
        language_words(tmp_path)
