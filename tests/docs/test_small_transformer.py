"""The Transformer that learns in the page: its gradients are torch's, its counts the notebook's, and it learns."""

import math
import re
from collections import Counter

import pytest
import torch
from playwright.sync_api import expect
from torch.nn.functional import cross_entropy, layer_norm

CONTEXT = 32
LAB = '<div class="transformer-lab"></div>'
RUN = """(options) => {
  const asRows = (all) => Object.fromEntries(Object.entries(all).map(([name, matrix]) =>
    [name, Array.from({ length: matrix.rows }, (_, row) => [...matrix.row(row)])]));
  const model = new SmallTransformer(makeRandom(1), 11, options), { width, context } = SMALL;
  for (const { data } of Object.values(model.weights)) data.forEach((_, at) => { data[at] += 0.1 * Math.sin(at); });
  const row = (start) => Array.from({ length: context }, (_, at) => (start * at + at * at) % 11);
  const read = [row(1), row(4), row(6)], targets = [...row(2), ...row(3), ...row(5)];
  const { loss, gradients } = model.lossAndGradients({ read, targets });
  return { weights: asRows(model.weights), gradients: asRows(gradients), loss, read, targets };
}"""


def attend(x, w, heads, is_causal):
    """Return the output of self-attention."""
    query, key, value = (
        (x @ w(name)).unflatten(-1, (heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
    )
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2) @ w("output")


def logits_of(weights, read, options):
    """Return the logits of a stack of blocks with LayerNorm before each sub-layer, by torch."""

    def norm(x, gain, shift):
        return layer_norm(x, x.shape[-1:], gain[0], shift[0])

    def join(before, change):
        return before + change if options["isResidual"] else change

    x = weights["tokens"][read] + weights["positions"]
    for index in range(options["blocks"]):

        def w(name, index=index):
            return weights[f"{index}.{name}"]

        x = join(x, attend(norm(x, w("gain1"), w("shift1")), w, options["headCount"], options["isCausal"]))
        inner = norm(x, w("gain2"), w("shift2"))
        x = join(x, (inner @ w("up") + w("upBias")).relu() @ w("down") + w("downBias"))
    return norm(x, weights["gain"], weights["shift"]) @ weights["head"] + weights["headBias"]


@pytest.mark.parametrize(
    ("heads", "is_causal", "is_residual"), [(1, True, True), (4, True, False), (2, False, True), (4, True, True)]
)
def test_loss_and_gradients_are_those_of_torch(open_page, heads, is_causal, is_residual):
    options = {"blocks": 2, "headCount": heads, "isCausal": is_causal, "isResidual": is_residual}
    ran = open_page("").evaluate(RUN, options)
    weights = {
        name: torch.tensor(rows, dtype=torch.float64, requires_grad=True) for name, rows in ran["weights"].items()
    }
    logits = logits_of(weights, torch.tensor(ran["read"]), options)
    loss = cross_entropy(logits.flatten(0, 1), torch.tensor(ran["targets"]))
    loss.backward()
    assert ran["loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert ran["gradients"].keys() == weights.keys()
    for name, rows in ran["gradients"].items():
        found = torch.tensor(rows, dtype=torch.float64)
        torch.testing.assert_close(found, weights[name].grad, rtol=1e-8, atol=1e-12, msg=name)


def count(train, held, vocabulary, most):
    """Return the bits per character of windows by counts of n in a row, n = 1, …, `most`, as `count` of notebook 4."""
    size = len(held) - 1
    given, bits = [1 / vocabulary] * size, []
    for n in range(1, most + 1):
        times = Counter(train[i : i + n] for i in range(len(train) - n + 1))
        total, kinds = Counter(), Counter()
        for sequence, found in times.items():
            total[sequence[:-1]] += found
            kinds[sequence[:-1]] += 1
        for place in range(size):
            sequence = held[place + 2 - n : place + 2]
            start = sequence[:-1]
            if n <= place % CONTEXT + 2 and total[start] > 0:
                given[place] = (times[sequence] + kinds[start] * given[place]) / (total[start] + kinds[start])
        bits.append(-sum(map(math.log2, given)) / size)
    return bits


def test_counts_are_those_of_the_notebook(open_page):
    page = open_page(LAB)
    page.locator("[data-act=train]").wait_for()
    found, train, held = page.evaluate(
        """() => { const text = new CharacterText(NOVEL);
          return [countSequences(text, 3), NOVEL.train, NOVEL.held.slice(0, 64 * SMALL.context + 1)]; }"""
    )
    assert set(held) <= set(train)
    assert page.evaluate("TRANSFORMER_WORDS.paused") == "Stopped."
    assert found == pytest.approx(count(train, held, len(set(train)), 3), rel=1e-9)


def figures(page):
    """Return the losses of training and validation that are written, and the best count."""
    return [
        float(number.replace(",", ".")) for number in re.findall(r"\d+[.,]\d+", page.locator(".figures").inner_text())
    ]


def test_it_learns_pauses_and_a_switch_begins_again(open_page):
    page = open_page(LAB, language="pt-BR", viewport={"width": 390, "height": 800}, color_scheme="dark")
    train, said = page.locator("[data-act=train]"), page.locator(".figures [role=status]")
    train.wait_for()
    start, best = figures(page)
    assert 2 < best < 3 < start
    sample = page.locator(".sample").inner_text()
    train.press("Enter")
    page.wait_for_function("() => document.querySelector('path.training').getAttribute('d').includes('L')")
    train.press("Enter")
    expect(said).to_have_text("Parado.")
    training, validation, _ = figures(page)
    assert training < start
    assert validation < start - 0.5
    for change in (
        lambda: page.get_by_role("checkbox").first.uncheck(),
        lambda: page.get_by_role("combobox").select_option("2"),
    ):
        train.press("Enter")
        change()
        assert len(figures(page)) == 2
        assert page.locator("path.training").get_attribute("d") == ""
    page.locator("[data-act=again]").click()
    page.get_by_role("checkbox").first.check()
    page.get_by_role("combobox").select_option("4")
    assert figures(page) == [start, best]
    assert page.locator(".sample").inner_text() == sample
