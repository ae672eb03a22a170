"""The statistics of our own dropout, and torch's dropout under a compiler."""

import pytest
import torch
from scipy.stats import binomtest, chi2_contingency
from torch import nn

from atenta.modeling.block import Dropout


def kept(p, shape=(400, 1000), seed=0):
    """Return which of many ones are kept."""
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(shape)) != 0


@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.9])
def test_each_of_the_four_elements_of_a_draw_has_the_rate(p):
    dropped = ~kept(p).flatten()
    for elements in (dropped, *(dropped[place::4] for place in range(4))):
        assert binomtest(int(elements.sum()), elements.numel(), p).pvalue > 1e-4


@pytest.mark.parametrize("distance", [1, 2, 4, 5, 1000])
def test_elements_are_independent(distance):
    """Four neighbours share a draw, and a row has 1,000 elements."""
    flat = kept(0.3).flatten()
    for start in range(4):
        pairs = 2 * flat[start:-distance:4].long() + flat[start + distance :: 4][: len(flat[start:-distance:4])]
        assert chi2_contingency(pairs.bincount(minlength=4).view(2, 2)).pvalue > 1e-4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("states", [torch.randn(()), torch.ones(5, 0), torch.randn(2, 3, 5), torch.randn(300, 100).T])
def test_kept_elements_and_their_gradients_are_scaled(states, dtype):
    """In tensors of any shape."""
    states = states.to(dtype, copy=True).requires_grad_()
    output = Dropout(0.25)(states)
    output.sum().backward()
    assert output.dtype == dtype
    scale = torch.where(output == 0, 0, torch.tensor(1 / 0.75, dtype=dtype))
    torch.testing.assert_close(output, states * scale)
    torch.testing.assert_close(states.grad, scale)


def test_the_seed_decides():
    assert torch.equal(kept(0.5, seed=3), kept(0.5, seed=3))
    assert not torch.equal(kept(0.5, seed=3), kept(0.5, seed=4))


def test_evaluation_and_the_rates_0_and_1():
    states = torch.randn(4, 4)
    assert Dropout(0.5).eval()(states) is states
    assert Dropout(0.0)(states) is states
    assert not Dropout(1.0)(states).any()
    assert not Dropout(1 - 1e-9)(states).any()


def test_a_compiler_gets_torchs_dropout(monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    states = torch.randn(50, 4)
    torch.manual_seed(0)
    ours = Dropout(0.5)(states)
    torch.manual_seed(0)
    assert torch.equal(ours, nn.Dropout(0.5)(states))
