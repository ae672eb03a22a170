"""Spellings, counted by hand, saved and loaded, and what they suggest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import Spellings

BASES = {"á": "a", "ã": "a", "é": "e", "ç": "c", "Á": "A", "É": "E"}
TEXTS = ["Está aqui, esta ação.", "ESTÁ lá! Está cá 12 vezes", "xyz _ é", "e e e é"]


@pytest.fixture
def spellings():
    return Spellings.from_texts(BASES, TEXTS, fold_case=True)


def test_words_are_counted_without_their_case(spellings):
    assert spellings.of("esta") == spellings.of("ESTÁ") == ("está", "esta")
    assert spellings.of("acao") == ("ação",)
    assert spellings.of("e") == ("e", "é")
    assert spellings.of("nunca") == ()
    assert spellings.of("12") == spellings.of("xyz") == spellings.of("_") == ()  # without a choice
    frequent = Spellings.from_texts(BASES, TEXTS, fold_case=True, min_count=4)
    assert frequent.of("esta") == ("está", "esta")
    assert frequent.of("acao") == ()


def test_case_is_a_spelling_where_capitals_are_restored_and_no_capital_of_two_letters_is_made():
    assert Spellings({"ß": "s"}, {"strase": ("straße",)}).suggest("STRASE strase")[0] == "STRAßE straße"
    bases = {"J": "j"}
    spellings = Spellings.from_texts(bases, ["João e João", "joão"], fold_case=False)
    assert spellings.of("joão") == ("João", "joão")
    assert spellings.suggest("joão")[0] == "João"


def test_suggestions_keep_case_and_marks(spellings):
    suggested, hints = spellings.suggest("ESTA acao, nada. acão E xyz")
    assert suggested == "ESTÁ ação, nada. ação E xyz"
    assert hints.tolist() == [0] * 5 + [1] * 4 + [0] * 8 + [1] * 4 + [0] * 6


def test_skipped_words_are_read_as_if_they_were_unknown(spellings):
    answers = iter([True, False])
    suggested, hints = spellings.suggest("acao acao", lambda: next(answers))
    assert suggested == "acao ação"
    assert hints.tolist() == [0] * 5 + [1] * 4


def test_words_of_a_list_that_texts_lack(spellings):
    lacking = spellings.lacks(["ação", "maçã", "MAÇÃS", "sé", "se", "camada", "hm"])
    assert lacking == {"camada": "camada", "maca": "maçã", "macas": "maçãs"}  # not: known, of two, without a choice
    more = spellings.with_words(lacking)
    assert [more.of("maca"), spellings.of("maca"), more.of("acao")] == [("maçã",), (), ("ação",)]
    assert more.suggest("Macas")[0] == "Maçãs"


def test_saved_and_loaded(spellings, tmp_path):
    spellings.save(tmp_path / "spellings.txt")
    assert "está esta\n" in (tmp_path / "spellings.txt").read_text(encoding="utf-8")
    loaded = Spellings.load(tmp_path / "spellings.txt", BASES)
    assert len(loaded) == len(spellings)
    for word in ("esta", "acao", "e", "la", "nunca"):
        assert loaded.of(word) == spellings.of(word)
    edited = Spellings.from_bytes("\n está\testa \r\nação\r\n".encode(), BASES, "spellings.txt")
    assert (len(edited), edited.of("esta"), edited.of("acao")) == (2, ("está", "esta"), ("ação",))


@given(st.text())
def test_a_suggestion_changes_only_listed_characters(text):
    spellings = Spellings.from_texts(BASES, TEXTS, fold_case=True)
    suggested, hints = spellings.suggest(text)
    assert len(suggested) == len(text) == len(hints)
    for before, after in zip(text, suggested):
        assert after == before or BASES[after] == before


@pytest.mark.parametrize(
    ("word", "may"),
    [
        ("Acao", True),
        ("acão", True),
        ("Ação", False),
        ("esta", True),
        ("está", False),
        ("xacao", True),
        ("xyz", False),
    ],
)
def test_words_that_may_lack_marks(word, may):
    bases = {"á": "a", "ã": "a", "ç": "c"}
    known = Spellings(bases, {"acao": ("ação",), "esta": ("esta", "está")})
    assert known.may_lack_marks(word) == may
