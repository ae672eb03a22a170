"""Document 4, cross-attention in the decoder's blocks: matrices and masks."""

import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.models import pad, texts, tiny_model


def test_each_block_has_its_own_projections_of_the_source():
    """Printed: K_E and V_E are the same in every block. Only the encoder's output is, not its keys and values."""
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    seen = []
    for layer in model.get_decoder().layers:
        layer.cross_attn.register_forward_pre_hook(
            lambda module, args, inputs: seen.append(inputs["key_value_states"]), with_kwargs=True
        )
    outputs = model(input_ids=texts(3, 7), decoder_input_ids=texts(3, 5, seed=2), use_cache=True)
    assert len(seen) == 2
    assert all(states is outputs.encoder_last_hidden_state for states in seen)
    first, second = outputs.past_key_values.cross_attention_cache.layers
    assert not torch.allclose(first.keys, second.keys, atol=0.1)
    assert not torch.allclose(first.values, second.values, atol=0.1)


def test_each_block_has_its_own_gradients():
    """Printed: as above. The gradients differ as well."""
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    model(input_ids=texts(3, 7), labels=texts(3, 5, seed=2)).loss.backward()
    for projection in ("k_proj", "v_proj"):
        first, second = (getattr(layer.cross_attn, projection).weight for layer in model.get_decoder().layers)
        assert not torch.allclose(first.grad, second.grad)


@torch.no_grad()
def test_cross_attention_has_no_causal_mask_and_needs_the_padding_mask():
    """Printed: it needs no mask. It needs no causal mask, but without a padding mask it sees padding."""
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, attn_implementation="eager")
    (ids, mask), target = pad(texts(2, 7), [7, 4], "right"), texts(2, 3, seed=2)
    encoded = model.get_encoder()(input_ids=ids, attention_mask=mask)
    options = {"encoder_outputs": encoded, "decoder_input_ids": target, "output_attentions": True}
    masked, unmasked = (
        torch.stack(model(attention_mask=these, **options).cross_attentions) for these in (mask, None)
    )  # (layers, batch, heads, target_length, source_length)
    assert (unmasked > 0).all()
    assert (masked[:, 0] > 0).all()  # every position of the target sees the whole source
    assert (masked[:, 1, ..., :4] > 0).all()
    assert not masked[:, 1, ..., 4:].any()
