"""Document 2, causal self-attention: projection, scores, scaling, softmax and weighted sum."""

import pytest
from transformers.masking_utils import create_causal_mask

from atenta import AtentaDecoderConfig
from atenta.modeling.attention import MultiHeadAttention
from support.documents import LAST_DIGIT, farthest, one_head, scores_of, weights_of_scores, worked_example
from support.models import assert_close

both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])


@both_implementations
@pytest.mark.parametrize("scaled", ["unscaled", "scaled"])
def test_projection_scoring_and_weighting(attn_implementation, scaled):
    """Three words, with and without the scaling of the scores."""
    example = worked_example("2/projection-scoring-weighting")
    layer = one_head(example.inputs, is_causal=True, attn_implementation=attn_implementation)
    states = example.inputs["X"][None]
    if scaled == "unscaled":
        layer.scaling = 1.0
        assert_close(scores_of(layer, states)[0], example.exact["unscaled_scores"], LAST_DIGIT)
    output, weights = layer(states, create_causal_mask(layer.config, states, None, None))
    assert_close(output[0], example.exact[f"output_{scaled}"], LAST_DIGIT)
    if attn_implementation == "eager":
        assert_close(weights[0, 0], example.exact[f"weights_{scaled}"], LAST_DIGIT)


def test_printed_projections_of_three_words():
    """Printed: q2, k2, v2 and v3. The second word has the query and key of the first."""
    example = worked_example("2/projection-scoring-weighting")
    layer, states = one_head(example.inputs, is_causal=True), example.inputs["X"][None]
    query, key, value = (projection(states)[0] for projection in (layer.q_proj, layer.k_proj, layer.v_proj))
    for name, figures in (("Q", query), ("K", key), ("V", value)):
        assert_close(figures, example.exact[name], LAST_DIGIT)
    assert_close(query[1], query[0], LAST_DIGIT)
    assert_close(key[1], key[0], LAST_DIGIT)
    ours = {"q2": query[1], "k2": key[1], "v2": value[1], "v3": value[2]}
    assert all(farthest(figures, example.printed[name]) > 0.15 for name, figures in ours.items())


def test_printed_scores_weights_and_outputs_of_three_words():
    """Printed: scores 5.55; 3.24, 1.37; 2.4, 1.01, 2.65, and results. Only two of the six scores are right."""
    example = worked_example("2/projection-scoring-weighting")
    layer, states = one_head(example.inputs, is_causal=True), example.inputs["X"][None]
    layer.scaling = 1.0
    output, weights = layer(states, create_causal_mask(layer.config, states, None, None))
    scores = scores_of(layer, states)[0].tril()
    right = (scores - example.printed["unscaled_scores"]).abs() < 5e-3
    assert right.tril().nonzero().tolist() == [[2, 0], [2, 2]]
    for row in (1, 2):  # the first word sees only itself, whatever its score
        assert farthest(weights[0, 0, row], example.printed["weights_unscaled"][row]) > 0.1
        assert farthest(output[0, row], example.printed["output_unscaled"][row]) > 0.2


def test_causal_weights_of_given_scores():
    """Printed: rows (0.35, 0.65), (0.15, 0.27, 0.58), (0.08, 0.18, 0.29, 0.45). Only the zeros are right."""
    example = worked_example("2/causal-mask")
    config = AtentaDecoderConfig()
    config._attn_implementation = "eager"
    mask = create_causal_mask(config, example.inputs["scores"][None], None, None)
    weights = weights_of_scores(example.inputs["scores"], mask)
    assert_close(weights, example.exact["weights"], LAST_DIGIT)
    assert ((weights == 0) == (example.printed["weights"] == 0)).all()
    for row in (1, 2, 3):
        assert farthest(weights[row], example.printed["weights"][row]) > 0.03


def test_scaling_of_a_score():
    """Printed: 5.55/√300 = 0.32. The score is 6.3, and 0.364 after scaling."""
    example = worked_example("2/projection-scoring-weighting")
    layer, states = one_head(example.inputs, is_causal=True), example.inputs["X"][None]
    of_three_hundred = MultiHeadAttention(AtentaDecoderConfig(head_dim=300), layer_idx=0, is_causal=True)
    assert of_three_hundred.scaling == 300**-0.5
    layer.scaling = of_three_hundred.scaling
    scaled = scores_of(layer, states)[0, 0, 0].item()
    assert scaled == pytest.approx(6.3 / 300**0.5) == pytest.approx(0.364, abs=5e-4)
    assert abs(scaled - 0.32) > 0.04
