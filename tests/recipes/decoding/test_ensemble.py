"""Ensembles, compared with a single model, with the mean of probabilities, and with decoding without a cache."""

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, set_seed

from atenta import AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.decoding.ensemble import Ensemble
from support.models import assert_close, double_model, pad, texts

IDS, MASK = pad(texts(), (9, 4, 7), "right")
SEARCHES = [
    pytest.param({}, id="greedy"),
    pytest.param({"num_beams": 4, "num_return_sequences": 3}, id="beams"),
    pytest.param({"do_sample": True, "num_return_sequences": 2}, id="sampling"),
]


def tiny(seed=0, **options):
    sizes = {"hidden_size": 16, "encoder_layers": 1, "decoder_layers": 1, "initializer_range": 0.5}
    return double_model(AtentaEncoderDecoderForConditionalGeneration, seed, **(sizes | options))


def larger():
    """A model with other sizes, positions and depth, and the same vocabulary."""
    return tiny(7, hidden_size=24, decoder_layers=2, position_embedding_type="rotary")


def generate(model, **options):
    set_seed(0)
    return model.generate(
        IDS, attention_mask=MASK, max_new_tokens=8, return_dict_in_generate=True, output_scores=True, **options
    )


@pytest.mark.parametrize("search", SEARCHES)
def test_a_model_twice_is_the_model(search):
    model = tiny()
    alone, together = generate(model, **search), generate(Ensemble([model, model]).eval(), **search)
    assert torch.equal(together.sequences, alone.sequences)
    if "num_beams" in search:
        assert_close(together.sequences_scores, alone.sequences_scores)
        assert torch.equal(together.beam_indices, alone.beam_indices)
        assert (alone.beam_indices[:, 1:] % 4 != 0).any()  # beams change places


@pytest.mark.parametrize("search", SEARCHES)
def test_the_cache_changes_nothing(search):
    ensemble = Ensemble([tiny(), larger()]).eval()
    cached, uncached = generate(ensemble, **search), generate(ensemble, **search, use_cache=False)
    assert cached.past_key_values.get_seq_length() == cached.sequences.shape[1] - 1
    assert uncached.past_key_values is None
    assert torch.equal(cached.sequences, uncached.sequences)
    for step, other in zip(cached.scores, uncached.scores, strict=True):
        assert_close(step, other)


def test_probabilities_are_the_mean_over_the_members():
    members = [tiny(), larger(), tiny(3)]
    inputs = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": texts(length=5, seed=2)}
    with torch.no_grad():
        mean = sum(member(**inputs).logits.softmax(-1) for member in members).float() / 3
        assert_close(Ensemble(members).eval()(**inputs).logits.exp(), mean)


def test_a_model_of_transformers_may_be_a_member():
    set_seed(0)
    sizes = dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "d_model"), 16)
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 1}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = BartConfig(vocab_size=40, forced_eos_token_id=None, **special, **sizes)
    library = BartForConditionalGeneration(config).eval().double()
    cached, uncached = (
        generate(Ensemble([tiny(), library]).eval(), num_beams=3, use_cache=use_cache) for use_cache in (True, False)
    )
    assert torch.equal(cached.sequences, uncached.sequences)
    assert_close(cached.sequences_scores, uncached.sequences_scores)


def test_members_with_different_vocabularies_are_refused():
    with pytest.raises(ValueError, match="vocab_size is 40 in member 0 and 41 in member 1"):
        Ensemble([tiny(), tiny(vocab_size=41)])
    with pytest.raises(ValueError, match="eos_token_id is 2 in member 0 and 5 in member 1"):
        Ensemble([tiny(), tiny(eos_token_id=5)])
    with pytest.raises(ValueError, match="at least one member"):
        Ensemble([])
