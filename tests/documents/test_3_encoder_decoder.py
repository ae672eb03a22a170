"""Document 3, encoder and decoder: their inputs, masks, residuals, and the end of a text."""

import string

import torch
from torch import nn

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.modeling.block import AddAndNorm, TransformerBlock
from support.models import assert_close, assert_equal, double_model, texts, tiny_config, tiny_model


def decoder_block():
    """Return a block with cross-attention and without dropout."""
    config = tiny_config(AtentaEncoderDecoderConfig)
    config._attn_implementation = "eager"
    return TransformerBlock(config, layer_idx=0, is_causal=True, cross_attention=True).eval().requires_grad_(False)


@torch.no_grad()
def test_the_source_is_fixed_and_the_target_grows():
    """Printed: the encoder's input shifts in every iteration. It is read once, and the decoder's input grows."""
    model = double_model(AtentaEncoderDecoderForConditionalGeneration)
    source, read_by_encoder, read_by_decoder = texts(1, 7), [], []
    for part, read in ((model.get_encoder(), read_by_encoder), (model.get_decoder(), read_by_decoder)):
        part.register_forward_pre_hook(
            lambda module, args, inputs, read=read: read.append(inputs["input_ids"].clone()), with_kwargs=True
        )
    generated = model.generate(source, max_new_tokens=4, min_new_tokens=4, use_cache=False)
    assert len(read_by_encoder) == 1
    assert torch.equal(read_by_encoder[0], source)
    assert [ids.tolist() for ids in read_by_decoder] == [generated[:, :end].tolist() for end in (1, 2, 3, 4)]

    # The second step equals teacher forcing at that position, which a shifted source does not.
    forced = model(input_ids=source, decoder_input_ids=generated[:, :-1]).logits[:, 1]
    step = model(input_ids=source, decoder_input_ids=generated[:, :2]).logits[:, 1]
    shifted = torch.cat([source[:, 1:], generated[:, :1]], dim=1)
    step_shifted = model(input_ids=shifted, decoder_input_ids=generated[:, :2]).logits[:, 1]
    assert_equal(step, forced)
    assert not torch.allclose(step_shifted, forced, atol=0.1)


def test_the_residual_of_cross_attention_is_the_decoders():
    """Printed: the residual comes from the values, which are the encoder's. It comes from the queries."""
    block, target = decoder_block(), torch.randn(1, 5, 32)
    nn.init.zeros_(block.cross_attn.o_proj.weight)
    one, two = (block(target, torch.randn(1, 7, 32)) for _ in range(2))
    assert_close(one, two)
    assert not torch.allclose(one, block(torch.randn(1, 5, 32), torch.randn(1, 7, 32)), atol=1e-2)


class Bare(AddAndNorm):
    """The frame of document 3's first sub-layer, without residual and LayerNorm."""

    def before(self, hidden_states):
        return hidden_states

    def after(self, residual, output):
        return output


def test_each_of_the_three_sub_layers_has_add_and_norm():
    """Printed: the first sub-layer has none, and only its output is passed on. With it, the input is passed on too."""
    block, target, source = decoder_block(), torch.randn(1, 5, 32), torch.randn(1, 7, 32)
    assert sum(isinstance(module, AddAndNorm) for module in block.modules()) == 3
    for last in (block.self_attn.o_proj, block.cross_attn.o_proj, block.feed_forward.down_proj):
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
    assert_close(block(target, source), nn.functional.layer_norm(target, [32]), 1e-4)
    block.self_attn_frame = Bare(block.self_attn.config)
    assert not block(target, source).any()


@torch.no_grad()
def test_the_output_layer_has_a_logit_for_every_token():
    """Printed: one logit per character and none for special tokens, so that no text can end with `<eos>`."""
    tokenizer = AtentaTokenizer.from_alphabet(string.ascii_lowercase, family="encoder-decoder")
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, vocab_size=len(tokenizer))
    assert model.lm_head.out_features == len(tokenizer) > len(string.ascii_lowercase)
    model.lm_head.bias[tokenizer.eos_token_id] += 1000
    inputs = tokenizer("gato", return_tensors="pt")
    assert model.generate(**inputs, max_new_tokens=20).tolist() == [[tokenizer.bos_token_id, tokenizer.eos_token_id]]
    as_printed = model.generate(**inputs, max_new_tokens=20, suppress_tokens=tokenizer.all_special_ids)
    assert as_printed.shape == (1, 21)
    assert tokenizer.eos_token_id not in as_printed
