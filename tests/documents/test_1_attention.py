"""Document 1, attention: three words, and five words with two of them masked."""

import pytest
import torch
from transformers.masking_utils import create_bidirectional_mask

from support.documents import LAST_DIGIT, farthest, one_head, scores_of, weights_of_scores, worked_example
from support.models import assert_close

both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
FOUR_DIGITS = 1.01e-4  # some printed figures are truncated, not rounded


@both_implementations
def test_three_words(attn_implementation):
    """Projections, scaled scores, weights and output are printed correctly."""
    example = worked_example("1/three-words")
    layer = one_head(example.inputs, is_causal=False, attn_implementation=attn_implementation)
    states = example.inputs["X"][None]
    output, weights = layer(states)
    ours = {
        "Q": layer.q_proj(states)[0],
        "K": layer.k_proj(states)[0],
        "V": layer.v_proj(states)[0],
        "scores": scores_of(layer, states)[0],
        "output": output[0],
    }
    if attn_implementation == "eager":
        ours["weights"] = weights[0, 0]
    for name, figures in ours.items():
        assert_close(figures, example.exact[name], LAST_DIGIT)
        assert farthest(figures, example.printed[name]) < FOUR_DIGITS


@both_implementations
def test_five_words_with_two_masked(attn_implementation):
    """The mask is added before softmax, so the weights of the other words sum to 1."""
    example = worked_example("1/five-tokens")
    layer = one_head(example.inputs, is_causal=False, attn_implementation=attn_implementation)
    states, last = example.inputs["X"][None], example.inputs["query_position"]
    mask = create_bidirectional_mask(layer.config, states, example.inputs["keep"][None].long())
    output, weights = layer(states, mask)
    assert_close(output[0, last], example.exact["context"], LAST_DIGIT)
    if attn_implementation == "eager":
        assert_close(weights[0, 0, last], example.exact["weights"], LAST_DIGIT)
        assert weights[0, 0, last, [1, 3]].tolist() == [0, 0]


def test_printed_projections_and_scores_of_five_words():
    """Printed: q4, k0 and five scores. The matrices of the example give different ones."""
    example = worked_example("1/five-tokens")
    layer, states = one_head(example.inputs, is_causal=False), example.inputs["X"][None]
    last = example.inputs["query_position"]
    ours = {
        "q4": layer.q_proj(states)[0, last],
        "k0": layer.k_proj(states)[0, 0],
        "scores": scores_of(layer, states)[0, last],
    }
    for name, figures in ours.items():
        assert_close(figures, example.exact[name], LAST_DIGIT)
        assert farthest(figures, example.printed[name]) > 0.04
    assert ((ours["scores"] - example.printed["scores"]).abs() > 0.02).all()


def test_a_mask_that_multiplies_masks_nothing():
    """Printed: multiplying a score by 0 hides a word. The word still has the weight exp(0) before normalization."""
    example = worked_example("1/five-tokens")
    scores, keep = example.exact["scores"], example.inputs["keep"]
    multiplied = weights_of_scores(scores * keep)
    assert_close(multiplied[[1, 3]], torch.full((2,), 0.1909, dtype=torch.float64), 1e-4)

    added = weights_of_scores(scores, torch.zeros(5).masked_fill(keep == 0, -torch.inf))
    assert added[[1, 3]].tolist() == [0, 0]
    assert_close(added, example.exact["weights"], LAST_DIGIT)

    printed_and_kept = (example.printed["weights"] * keep).sum().item()  # masked after softmax, without normalization
    assert printed_and_kept == pytest.approx(0.79, abs=5e-3)
    assert added.sum().item() == pytest.approx(1)
