"""What a reader touches in the course: the matrices of the worked examples, and the boxes of the exercises."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from atenta.recipes.course import answer_digest
from support.documents import EXAMPLES

STATIC = Path(__file__).parents[2] / "docs" / "_static"
EXERCISE = """<div class="cell"><div class="cell_input"><pre>answer = ...  # two numbers
check(answer, "{digest}")</pre></div><div class="cell_output">No answer yet</div></div>"""
MATRICES = ("W_Q", "W_K", "W_V")
FIVE, CAUSAL = "1/five-tokens", "2/projection-scoring-weighting"


def lab(name):
    return f'<div class="attention-lab" data-example="{name}">Moves with JavaScript.</div>'


def shown(page, name):
    rows = page.locator(f'[data-matrix="{name}"] .row').all()
    return np.array([row.locator(".cell").evaluate_all("all => all.map((one) => +one.dataset.value)") for row in rows])


def attention(x, query, key, value, hidden, scaled=True):
    """Return the weights and the output, in numpy."""
    queries, keys, values = x @ query, x @ key, x @ value
    scores = queries @ keys.T / (np.sqrt(keys.shape[1]) if scaled else 1)
    powers = np.exp(np.where(hidden, -np.inf, scores))
    weights = powers / powers.sum(-1, keepdims=True)
    return weights, weights @ values


def matrices(page):
    return [shown(page, name) for name in ("x", *MATRICES)]


def test_the_examples_are_those_of_the_documents(open_page):
    page = open_page("")
    found = page.evaluate("WORKED_EXAMPLES")
    assert found.keys() < EXAMPLES.keys()
    for name, example in found.items():
        inputs, printed, exact = (EXAMPLES[name][part] for part in ("inputs", "printed", "exact"))
        assert [example[key] for key in ("x", *MATRICES)] == [inputs[key] for key in ("X", *MATRICES)]
        of_page = [
            row for rows in example["printed"].values() for row in (rows.values() if isinstance(rows, dict) else rows)
        ]
        flat = [row for rows in printed.values() for row in (rows if isinstance(rows[0], list) else [rows])]
        assert sorted(of_page) == sorted(flat)
        steps = page.evaluate(
            """(name) => { const { isHidden, isScaled, ...rest } = WORKED_EXAMPLES[name];
              const hidden = rest.x.map((_, query) => rest.x.map((_, key) => isHidden(query, key)));
              return attentionSteps({ ...rest, hidden, masking: "add", isScaled: true }); }""",
            name,
        )
        for figure, names in {"weights": ["weights"], "output": ["output", "context"]}.items():
            (expected,) = (np.array(exact[each]) for each in (*names, f"{figure}_scaled") if each in exact)
            last = np.array(steps[figure])[-len(expected) if expected.ndim == 2 else -1 :].squeeze()
            np.testing.assert_allclose(last, expected, atol=1e-6)


def test_a_cell_is_dragged_and_the_mask_flipped(open_page, reader):
    page = open_page(lab(CAUSAL), **reader, has_touch=reader["viewport"]["width"] == 390)
    causal = np.triu(np.ones((3, 3), dtype=bool), 1)
    before = shown(page, "weights")
    np.testing.assert_allclose(before, attention(*matrices(page), causal)[0], atol=1e-9)

    cell = page.locator('[data-matrix="x"] .cell').first
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1])
    page.mouse.up()
    assert shown(page, "x")[0, 0] == pytest.approx(2)
    cell.press("ArrowDown")
    assert shown(page, "x")[0, 0] == pytest.approx(1.9)
    cell.press("ArrowRight")
    expect(page.locator('[data-matrix="x"] .cell').nth(1)).to_be_focused()

    page.locator('[data-matrix="hidden"] .cell').nth(1).click()
    causal[0, 1] = False
    weights, output = attention(*matrices(page), causal)
    np.testing.assert_allclose(shown(page, "weights"), weights, atol=1e-9)
    np.testing.assert_allclose(shown(page, "output"), output, atol=1e-9)
    assert np.abs(weights - before).max() > 0.01


def test_multiplying_by_zero_hides_nothing(open_page):
    page = open_page(lab(FIVE))
    note = page.get_by_role("status")
    expect(note).to_contain_text("gets 0 of the attention")
    page.get_by_role("button", name="multiply by 0").click()
    np.testing.assert_allclose(shown(page, "weights")[4, [1, 3]], 0.1909, atol=1e-4)
    expect(note).to_contain_text("of the attention")
    page.get_by_role("button", name="add −∞").click()
    assert shown(page, "weights")[4, [1, 3]].tolist() == [0, 0]


@pytest.mark.parametrize(("name", "wrong", "right"), [(FIVE, 15, 1), ("1/three-words", 0, 54), (CAUSAL, 26, 7)])
def test_wrong_figures_of_a_document_are_marked(open_page, name, wrong, right):
    page = open_page(lab(name))
    page.get_by_role("button", name="show what the document printed").click()
    assert page.locator(".attention-lab del").count() == wrong
    assert page.locator(".attention-lab ins").count() == right
    page.locator('[data-matrix="x"] .cell').first.press("ArrowUp")
    assert page.locator(".attention-lab del, .attention-lab ins").count() == 0


NUMBERS = [0, 2, -2, 16384, 0.25, 0.218912, 2.67, 15.95, 0.000699, 0.0000123, 1234.5, 63000, -0.5, 1e-7]


def test_numbers_have_the_digests_of_python(open_page):
    page = open_page("")
    digests = page.evaluate("(all) => Promise.all(all.map(async (one) => answerDigest(normalNumber(one))))", NUMBERS)
    assert digests == [answer_digest(number) for number in NUMBERS]


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ([0, 0.219, 0.295, 0.486], ["0; 0,219; 0,295; 0,486", "[0, 0.219, 0.295, 0.486]", "0 0,21891 0.2951 0,4861"]),
        (16384, ["16384", "16.384", "16,384"]),
        (-2, ["-2", "−2", "-2.0"]),
        ("b", ["b", " B ", '"b"']),
        (["b", "c", "a", "b"], ["b, c, a, b", '["b", "c", "a", "b"]', "b c a b", "b,c,a,b"]),
        ([4000, 0.000699], ["4000; 0,000699", "(4000, 6.99e-4)"]),
    ],
)
def test_an_exercise_is_answered_in_the_page(open_page, answer, written):
    page = open_page(EXERCISE.replace("{digest}", answer_digest(answer)), "pt-BR")
    expect(page.locator(".cell_output")).to_have_count(0)
    box, said = page.get_by_label("Sua resposta"), page.get_by_role("status")
    box.fill("42")
    box.press("Enter")
    expect(said).to_have_text("✗ Ainda não: tente de novo.")
    for text in written:
        box.fill(text)
        page.get_by_role("button", name="Conferir").click()
        expect(said).to_have_text("✓ Certo.")


def test_every_check_of_the_course_has_a_box(open_page):
    page = open_page("")
    for source in sorted(STATIC.parent.glob("[ep][nt]/[0-9]*.md")):
        text = source.read_text(encoding="utf-8")
        asked = re.findall(r'^check\(answer, "([0-9a-f]{8})"\)', text, re.MULTILINE)
        cells = re.findall(r"^```\{code-cell\}.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found = page.evaluate("(cells) => cells.map((cell) => EXERCISE.exec(cell)?.[1]).filter(Boolean)", cells)
        assert found == asked != [], source
