"""Attention: weights, masks, dropout and the width of heads."""

import pytest
import torch

from atenta import AtentaDecoderModel, AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderModel
from support.models import assert_close, pad, texts, tiny_model


def assert_weights(attentions, layers, shape, visible):
    """Check the shapes, that rows sum to 1, and that the weights of hidden keys are exactly 0.

    Args:
        visible: (batch, queries, keys), without a key for queries on padding.
    """
    assert [tuple(weights.shape) for weights in attentions] == [shape] * layers
    visible = visible[:, None].expand(shape).bool()
    for weights in attentions:
        rows = visible.any(-1)
        assert_close(weights.sum(-1)[rows], torch.ones(int(rows.sum())))
        assert (weights[rows][~visible[rows]] == 0).all()
        assert (weights[visible] > 0).all()


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_weights_of_every_layer_and_head(side):
    ids, mask = pad(texts(), [9, 5, 2], side)
    target, target_mask = pad(texts(3, 6, seed=2), [6, 1, 4], side)
    visible, target_visible = (each[:, :, None] * each[:, None, :] for each in (mask, target_mask))
    source = {"input_ids": ids, "attention_mask": mask, "output_attentions": True}
    own, causal = (
        tiny_model(model_class, attn_implementation="eager")(**source).attentions
        for model_class in (AtentaEncoderModel, AtentaDecoderModel)
    )
    both = tiny_model(AtentaEncoderDecoderForConditionalGeneration, attn_implementation="eager")(
        **source, decoder_input_ids=target, decoder_attention_mask=target_mask
    )
    assert_weights(own, 2, (3, 4, 9, 9), visible)
    assert_weights(causal, 2, (3, 4, 9, 9), visible.tril())
    assert_weights(both.encoder_attentions, 3, (3, 4, 9, 9), visible)
    assert_weights(both.decoder_attentions, 2, (3, 4, 6, 6), target_visible.tril())
    assert_weights(both.cross_attentions, 2, (3, 4, 6, 9), mask[:, None, :].expand(3, 6, 9))


@pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
@torch.no_grad()
def test_dropout_acts_in_training_only(attn_implementation):
    model = tiny_model(AtentaDecoderModel, attention_dropout=0.5, attn_implementation=attn_implementation)
    ids = texts()
    assert torch.equal(model(ids)[0], model(ids)[0])
    model.train()
    assert not torch.allclose(model(ids)[0], model(ids)[0], atol=1e-3)
