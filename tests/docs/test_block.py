"""The block that the page computes: its output and its gradients, written by hand, are torch's."""

import pytest
import torch
from torch.nn.functional import layer_norm

TEXTS, LENGTH, WIDTH, INNER = 3, 5, 8, 12
SHAPES = dict.fromkeys(("query", "key", "value", "output"), (WIDTH, WIDTH))
SHAPES |= dict.fromkeys(("gain1", "shift1", "gain2", "shift2", "downBias"), (1, WIDTH))
SHAPES |= {"up": (WIDTH, INNER), "upBias": (1, INNER), "down": (INNER, WIDTH)}
RUN = """([given, options]) => {
  const { x, dy, ...w } = Object.fromEntries(Object.entries(given).map(([name, rows]) => [name, Matrix.from(rows)]));
  const trace = block.forward(x, w, options), { dx, gradients } = block.backward(dy, w, trace, options);
  return { y: [...trace.y.data], x: [...dx.data], weights: [...trace.attended.weights.data],
    ...Object.fromEntries(Object.entries(gradients).map(([name, { data }]) => [name, [...data]])) };
}"""


def attend(x, w, heads, is_causal):
    """Return the output of self-attention and its weights, (texts, heads, length, length)."""
    query, key, value = (
        (x @ w[name]).unflatten(-1, (heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
    )
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf)
    weights = scores.softmax(-1)
    return (weights @ value).transpose(1, 2).flatten(2) @ w["output"], weights


def pass_block(x, w, heads, is_causal, is_residual):
    """Return what a block with LayerNorm before each sub-layer makes of `x`, and its attention weights."""

    def norm(x, which):
        return layer_norm(x, (WIDTH,), w[f"gain{which}"][0], w[f"shift{which}"][0])

    attended, weights = attend(norm(x, 1), w, heads, is_causal)
    middle = x + attended if is_residual else attended
    fed = (norm(middle, 2) @ w["up"] + w["upBias"]).relu() @ w["down"] + w["downBias"]
    return middle + fed if is_residual else fed, weights


@pytest.mark.parametrize(("heads", "is_causal", "is_residual"), [(1, False, True), (4, True, True), (2, True, False)])
def test_a_block_and_its_gradients_are_those_of_torch(open_page, heads, is_causal, is_residual):
    torch.manual_seed(0)
    x, dy = torch.randn(2, TEXTS, LENGTH, WIDTH, dtype=torch.float64)
    w = {name: torch.randn(shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    for each in (x, *w.values()):
        each.requires_grad_()
    y, weights = pass_block(x, w, heads, is_causal, is_residual)
    y.backward(dy)
    given = {name: each.flatten(0, -2).tolist() for name, each in {"x": x, "dy": dy, **w}.items()}
    options = {"texts": TEXTS, "headCount": heads, "isCausal": is_causal, "isResidual": is_residual}
    found = open_page("").evaluate(RUN, [given, options])
    expected = {"y": y, "weights": weights, "x": x.grad} | {name: each.grad for name, each in w.items()}
    assert found.keys() == expected.keys()
    for name, numbers in found.items():
        of_page = torch.tensor(numbers, dtype=torch.float64)
        torch.testing.assert_close(of_page, expected[name].detach().flatten(), rtol=1e-9, atol=1e-11, msg=name)
