import random
import unicodedata
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from atenta.recipes.samples.accents import accent_pairs, cut_phrases, strip_accents
from atenta.recipes.samples.files import DATA, SPLITS


@pytest.fixture(scope="module")
def pairs():
    return accent_pairs()


@pytest.fixture(scope="module")
def texts():
    return {
        split: {work.name: work.read_text(encoding="utf-8") for work in (DATA / "machado" / split).glob("*.txt")}
        for split in SPLITS
    }


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("ação", "acao"),
        ("pingüim", "pinguim"),
        ("ÀS TRÊS, À MÃE", "AS TRES, A MAE"),
        ("El Niño", "El Nino"),
        ("1º, 1ª, 6.°", "1º, 1ª, 6.°"),
        ("a\u0303 c\u0327", "a c"),
        ("Ø ß", "Ø ß"),
        ("— “Não!”", "— “Nao!”"),
        ("", ""),
    ],
)
def test_strip_accents(text, stripped):
    assert strip_accents(text) == stripped


@given(st.text())
def test_strip_accents_leaves_no_mark(text):
    stripped = strip_accents(text)
    assert strip_accents(stripped) == stripped
    assert unicodedata.is_normalized("NFC", stripped)
    assert not any(unicodedata.combining(character) for character in unicodedata.normalize("NFD", stripped))


def test_strip_accents_equals_the_normalizer_of_tokenizers(texts):
    theirs = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()])
    for works in texts.values():
        for text in works.values():
            stripped = strip_accents(text)
            assert stripped == theirs.normalize_str(text)
            assert len(stripped) == len(text)


@given(st.lists(st.lists(st.text("ãb—.", min_size=1), max_size=25)), st.integers())
def test_phrases_use_each_word_once(lines, seed):
    text = "\n".join(" ".join(words) for words in lines)
    phrases = [phrase.split(" ") for phrase in cut_phrases(text, random.Random(seed))]
    assert [word for phrase in phrases for word in phrase] == [w for words in lines if len(words) >= 3 for w in words]
    assert all(3 <= len(phrase) <= 6 for phrase in phrases)


def test_phrases_are_within_lines():
    text = "\n".join(" ".join([str(line)] * 13) for line in range(50))
    phrases = list(cut_phrases(text, random.Random(0)))
    assert all(len(set(phrase.split())) == 1 for phrase in phrases)
    assert {len(phrase.split()) for phrase in phrases} == {3, 4, 5, 6}


def test_no_work_is_in_two_splits(texts):
    for one, other in combinations(SPLITS, 2):
        assert not texts[one].keys() & texts[other].keys()
        long_lines = [
            {line for text in texts[split].values() for line in text.splitlines() if len(line.split()) >= 8}
            for split in (one, other)
        ]
        assert all(long_lines)
        assert not long_lines[0] & long_lines[1]


def test_no_held_out_phrase_is_in_training(pairs):
    train = {pair["source"] for pair in pairs["train"]}
    for split in ("validation", "test"):
        assert pairs[split]
        assert not train & {pair["source"] for pair in pairs[split]}


def test_phrases_are_from_works_of_their_split(pairs, texts):
    for split in SPLITS:
        words = {word for text in texts[split].values() for word in text.split()}
        assert all(word in words for pair in pairs[split] for word in pair["target"].split())
    lines = "\n".join(" ".join(line.split()) for text in texts["test"].values() for line in text.splitlines())
    assert all(pair["target"] in lines for pair in pairs["test"])


def test_sources_are_targets_without_accents(pairs):
    for pair in (pair for split in SPLITS for pair in pairs[split]):
        assert pair["source"] == strip_accents(pair["target"])
        assert len(pair["source"].split()) == len(pair["target"].split())
        assert pair["tags"] == []


def test_sizes(pairs):
    assert {split: len(pairs[split]) for split in SPLITS} == {"train": 92462, "validation": 5255, "test": 5357}


def test_seed(tmp_path):
    line = "um dois três quatro cinco seis sete oito nove dez onze doze\n"
    for split in SPLITS:
        (tmp_path / split).mkdir()
        (tmp_path / split / "obra.txt").write_text(line * 5, encoding="utf-8")
    assert accent_pairs(tmp_path, seed=1) == accent_pairs(tmp_path, seed=1)
    assert accent_pairs(tmp_path, seed=1)["test"] != accent_pairs(tmp_path, seed=2)["test"]


def test_held_out_phrase_is_left_out_of_training(tmp_path):
    for split, text in {
        "train": "não é nada\nsó isto aqui\n",
        "validation": "a b c\n",
        "test": "não é nada\n",
    }.items():
        (tmp_path / split).mkdir()
        (tmp_path / split / "obra.txt").write_text(text, encoding="utf-8")
    pairs = accent_pairs(tmp_path)
    assert pairs["train"] == [{"source": "so isto aqui", "target": "só isto aqui", "tags": []}]
    assert pairs["test"] == [{"source": "nao e nada", "target": "não é nada", "tags": []}]


def test_missing_texts(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"--train_file and --validation_file"):
        accent_pairs(tmp_path)
