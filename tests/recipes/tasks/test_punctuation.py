"""Capitals and punctuation: what is removed, what comes back, and how it is scored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.portuguese_texts import speak, strip_punctuation
from atenta.recipes.tasks.characters import check_characters, count_variants, score_restored, strip_texts
from atenta.recipes.tasks.punctuation import (
    are_pieces,
    lower_sentence_starts,
    most_frequent_marks,
    score_marks,
    split_pieces,
    vary_styles,
)

TEXT = "Olá, Ana! Vens às 8:30? Custa 3,50 e o Sr. Silva não sabe..."


def test_signs_before_white_space_are_removed_and_no_others():
    assert strip_punctuation(TEXT) == "Olá Ana Vens às 8:30 Custa 3,50 e o Sr Silva não sabe..."
    assert strip_punctuation("sim.\nnão?") == "sim\nnão"


def test_what_nobody_speaks_is_left_out_and_small_letters_begin_sentences():
    assert lower_sentence_starts("Vou. Vens a Lisboa? — Sim, Ana.") == "vou. vens a Lisboa? — sim, Ana."
    assert speak("— Vou — disse ela —, mas (hoje) não… “Que pena!”") == "Vou, disse ela, mas hoje não. Que pena!"
    assert speak("Fim...") == "Fim."


@given(st.text("ab çA\n,.?!:; ", max_size=30))
def test_pieces_are_the_target_again(target):
    source = strip_punctuation(target)
    pieces = split_pieces(source, target)
    assert "".join(pieces) == target or not source
    assert len(pieces) == len(source)
    assert not source or are_pieces(source, target)


def test_pieces_are_a_character_or_a_sign_and_white_space_and_no_pair_has_others():
    assert split_pieces("a b\nc", "A, b.\nc?") == ["A", ", ", "b", ".\n", "c?"]
    assert not are_pieces("a b", "a, , b")
    assert not are_pieces("ab", "abc")
    assert not are_pieces("abc", "ab")
    assert check_characters({"source": "ola", "target": "Olá!"})["target"] == "Olá!"
    with pytest.raises(ValueError, match=r"3 characters.*5"):
        check_characters({"source": "ola", "target": "olada"})
    made = strip_texts({"text": ["Ação, já!"]}, ["accents", "case", "punctuation"])
    assert (made["source"], made["target"]) == (["acao ja"], ["Ação, já!"])


def test_variants_have_signs():
    rows = [{"source": "a b", "target": "A, b."}, {"source": "b a", "target": "B a?"}]
    assert count_variants(rows, 1)[0] == {
        "\n": ["\n", ".\n", "?\n"],
        " ": [" ", ", "],
        "a": ["a", "A"],
        "b": ["b", "B"],
    }


def test_sources_are_of_several_styles_and_only_lack_what_is_restored():
    batch = {"target": [f"Olá, {n}! — Vens à praia?" for n in range(200)], "domain": [""] * 200}
    made = vary_styles(batch, seed=1)
    assert made == vary_styles(batch, seed=1)
    assert all(map(are_pieces, made["source"], made["target"]))
    assert {"à" in source for source in made["source"]} == {True, False}
    assert {"," in source for source in made["source"]} == {True, False}
    assert {"—" in target for target in made["target"]} == {True, False}


def test_scores_count_each_sign_and_capital():
    rows = [{"source": "ola ana vens", "target": "Olá, Ana. Vens?"}]
    assert score_marks(rows, ["Olá, Ana. Vens?"]) == {"capital_f1": 1, "comma_f1": 1, "period_f1": 1, "question_f1": 1}
    assert score_marks(rows, ["Ola. ana, Vens?"]) == {
        "capital_f1": 0.8,
        "comma_f1": 0,
        "period_f1": 0,
        "question_f1": 1,
    }
    variants = count_variants(rows, 1)[0]
    scores = score_restored(rows, ["Ola, ana. Vens?"], variants)
    assert scores["choice_error_rate"] == pytest.approx(2 / sum(each in variants for each in rows[0]["source"]))
    assert scores["comma_f1"] == scores["letters_kept"] == 1


def test_the_baseline_counts():
    train = [{"source": "", "target": "Olá, Ana. Olá, Rui!"}] * 2
    assert most_frequent_marks(train, [{"source": "ola ana ola rui"}]) == ["Olá, Ana. Olá, Rui."]
