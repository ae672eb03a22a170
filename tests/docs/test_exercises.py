"""Tests of the exercises: three levels, checks that know the right answer, and folded solutions."""

import ast
import re
from pathlib import Path

import pytest

from atenta.recipes.course import answer_digest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((path.name for path in (DOCS / "en").glob("[0-9]*.md")), key=lambda name: int(name.split("_")[0]))
LEVELS = {
    "en": ["### Warm up", "### Practise", "### Go further"],
    "pt": ["### Para aquecer", "### Para praticar", "### Para ir além"],
}
LAST = {"en": ("## Exercises", "## Solutions"), "pt": ("## Exercícios", "## Soluções")}


def parts(language, page):
    """Return the text of the exercises and that of the solutions."""
    text = (DOCS / language / page).read_text(encoding="utf-8")
    exercises, solutions = (text.index(f"\n{heading}\n") for heading in LAST[language])
    return text[exercises:solutions], text[solutions:]


def checks(text):
    """Return the arguments of each call of `check` in the code cells of a text."""
    code = re.findall(r"^```\{code-cell\}.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    cells = [re.sub(r"\A(?:---\n.*?\n---\n|(?::.*\n)+)", "", cell, flags=re.DOTALL) for cell in code]
    calls = [node for cell in cells if "check(" in cell for node in ast.walk(ast.parse(cell))]
    return [node.args for node in calls if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check"]


@pytest.mark.parametrize("language", LEVELS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_exercises_are_of_three_levels(language, page):
    exercises, _ = parts(language, page)
    assert re.findall(r"^### .+$", exercises, re.MULTILINE) == LEVELS[language]


@pytest.mark.parametrize("language", LEVELS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_checks_know_the_answers_of_the_solutions(language, page):
    exercises, solutions = parts(language, page)
    asked = [digest.value for _, digest in checks(exercises)]
    assert asked
    answered = {digest.value: ast.literal_eval(answer) for answer, digest in checks(solutions)}
    assert set(asked) == set(answered)
    assert {answer_digest(answer): answer for answer in answered.values()} == answered


@pytest.mark.parametrize("language", LEVELS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_no_answer_is_given_before_the_solutions(language, page):
    exercises, solutions = parts(language, page)
    assert all(isinstance(answer, ast.Name | ast.Constant) for answer, _ in checks(exercises))
    assert solutions.count('<details class="solution">') == solutions.count("</details>") > 0
