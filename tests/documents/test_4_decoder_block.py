"""Document 4, cross-attention in the decoder's blocks: their matrices."""

import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.models import texts, tiny_model


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
