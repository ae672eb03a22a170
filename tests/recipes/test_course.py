"""Tests of the checks of the course's exercises."""

import pytest
import torch

from atenta.recipes.course import answer_digest, check
from atenta.recipes.pictures.words import set_language


@pytest.fixture(autouse=True)
def english_again():
    yield
    set_language("en")


@pytest.mark.parametrize(
    "ways",
    [
        (4224, 4224.0, torch.tensor(4224)),
        (0.3213, 0.32132, 0.321),
        ("softmax", " Softmax "),
        ("ação", "ac\u0327a\u0303o"),
        ([1, 2.5], (1.0, 2.5), torch.tensor([1.0, 2.5])),
        (True, 1),
    ],
)
def test_ways_to_write_an_answer_are_the_same(ways):
    assert len({answer_digest(way) for way in ways}) == 1


def test_other_answers_are_wrong():
    answers = [4224, 4225, 0.321, 0.322, "a", "á", [1, 2], [2, 1], -1]
    assert len({answer_digest(answer) for answer in answers}) == len(answers)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["✓ Right.", "✗ Not yet: try again.", "… No answer yet: put one in place of `...`."]),
        ("pt", ["✓ Certo.", "✗ Ainda não: tente de novo.", "… Ainda sem resposta: escreva uma no lugar de `...`."]),
    ],
)
def test_a_check_says_right_or_wrong(language, told, capsys):
    set_language(language)
    digest = answer_digest(12)
    for answer in (12, 13, ...):
        check(answer, digest)
    assert capsys.readouterr().out.splitlines() == told


def test_another_language_is_refused():
    with pytest.raises(ValueError, match="language='fr'; expected"):
        set_language("fr")
