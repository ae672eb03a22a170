"""Transducers: the sum over all ways to write a target, decoding with and without a cache, padding, refusals."""

from itertools import combinations_with_replacement

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, StaticCache

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration
from support.models import tiny_model

SOURCES = torch.tensor([[4, 5, 2, 0], [5, 6, 7, 2]])
MASK = (SOURCES != 0).long()
TARGETS = torch.tensor([[3, 4, 5, 2], [6, 6, 2, -100]])


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = AtentaEncoderDecoderConfig(
        vocab_size=9,
        hidden_size=16,
        num_attention_heads=2,
        intermediate_size=16,
        encoder_layers=1,
        decoder_layers=2,
        initializer_range=0.7,
        transducer=True,
        conv_kernel_size=3,
    )
    return AtentaEncoderDecoderForConditionalGeneration(config).eval()


def probability_of_all_ways(decisions, target):
    """Return the sum over the places at which the tokens of a target, without `<eos>`, can be written.

    Args:
        decisions: (source_length, target_length + 1, vocab_size), probabilities.
        target: its ids.
    """
    total = 0.0
    for places in combinations_with_replacement(range(len(decisions)), len(target)):
        way, here = 1.0, 0
        for number, (place, token) in enumerate(zip((*places, len(decisions)), (*target, 2))):
            while here < place:
                way *= decisions[here, number, 2].item()
                here += 1
            if number < len(target):
                way *= decisions[here, number, token].item()
        total += way
    return total


@torch.no_grad()
def test_a_target_has_the_probability_of_all_ways_to_write_it(model):
    outputs = model(SOURCES, MASK, labels=TARGETS, output_hidden_states=True)
    assert torch.allclose(outputs.logits.exp().sum(-1), torch.ones(2, 4), atol=1e-5)
    states = model.model(SOURCES, MASK, decoder_input_ids=model.prepare_decoder_input_ids_from_labels(TARGETS))
    at_places = model.lm_head(model.transducer.source_proj(outputs.encoder_last_hidden_state))
    decisions = (at_places[:, :, None] + model.lm_head(states.last_hidden_state)[:, None]).softmax(-1)
    for row, (length, target) in enumerate(((3, [3, 4, 5]), (4, [6, 6]))):
        ours = sum(outputs.logits[row, place, token] for place, token in enumerate([*target, 2])).exp().item()
        assert ours == pytest.approx(probability_of_all_ways(decisions[row, :length], target), rel=1e-4)
    labelled = TARGETS != -100
    log_probabilities = outputs.logits.gather(2, TARGETS.clamp(0)[..., None])[..., 0]
    assert outputs.loss.item() == pytest.approx(-log_probabilities[labelled].mean().item(), rel=1e-5)


@torch.no_grad()
def test_a_cache_and_padding_change_nothing(model):
    written = model.prepare_decoder_input_ids_from_labels(TARGETS)
    expected = model(SOURCES, MASK, decoder_input_ids=written).logits
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    steps = [
        model(SOURCES, MASK, decoder_input_ids=part, past_key_values=cache).logits
        for part in written.split([2, 1, 1], 1)
    ]
    assert torch.allclose(torch.cat(steps, 1), expected, atol=1e-5)
    alone = model(SOURCES[:1, :3], decoder_input_ids=written[:1]).logits
    assert torch.allclose(alone, expected[:1], atol=1e-5)
    padded = torch.nn.functional.pad(written, (2, 0))
    options = {"decoder_attention_mask": (torch.arange(6) > 1).long().expand(2, -1)}
    actual = model(SOURCES, MASK, decoder_input_ids=padded, **options).logits[:, 2:]
    assert torch.allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_generation_is_the_same_without_a_cache(model, num_beams):
    options = {"attention_mask": MASK, "num_beams": num_beams, "max_new_tokens": 6}
    cached = model.generate(SOURCES, **options)
    assert torch.equal(cached, model.generate(SOURCES, **options, use_cache=False))
    for row, (ids, mask) in enumerate(zip(SOURCES, MASK)):
        alone = model.generate(ids[mask == 1][None], num_beams=num_beams, max_new_tokens=6)[0]
        assert torch.equal(cached[row, : len(alone)], alone)


def test_what_it_cannot_read_is_named(model):
    with pytest.raises(ValueError, match="labels or decoder_input_ids"):
        model(SOURCES, decoder_inputs_embeds=torch.zeros(2, 1, 16))
    cache = EncoderDecoderCache(*(StaticCache(model.config, max_cache_len=4) for _ in range(2)))
    with pytest.raises(ValueError, match="StaticCache"):
        model(SOURCES, decoder_input_ids=SOURCES[:, :1], past_key_values=cache)
    with pytest.raises(ValueError, match="written_input_ids"):
        tiny_model(AtentaEncoderDecoderForConditionalGeneration)(SOURCES, labels=SOURCES, written_input_ids=SOURCES)
