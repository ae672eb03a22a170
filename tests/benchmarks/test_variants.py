"""Tests of packing bounds, passages, the time limit and counted calls."""

import pytest
import torch
from transformers import TrainerControl

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM
from benchmarks.variants import StopAfter, count_calls, cut_passages, packing_speedup


@pytest.mark.parametrize(("padding_percent", "speedup"), [(0, 1), (50, 2), (80, 5)])
def test_packing_speedup_is_bounded_by_the_padding(padding_percent, speedup):
    assert packing_speedup(padding_percent) == pytest.approx(speedup)


def test_passages_start_in_the_middle_of_equal_parts():
    assert cut_passages("abcdefghijk", count=3, length=2) == ["bc", "ef", "hi"]


@pytest.mark.parametrize(("seconds", "stops"), [(0, True), (1e6, False)])
def test_training_stops_at_the_time_limit(seconds, stops):
    callback, control = StopAfter(seconds), TrainerControl()
    callback.on_train_begin()
    callback.on_step_end(None, None, control)
    assert control.should_training_stop is stops


def test_calls_of_generate_are_counted_and_the_hook_is_removed():
    config = AtentaDecoderConfig(
        vocab_size=16, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    model = AtentaDecoderForCausalLM(config).eval()
    model.generation_config.eos_token_id = None
    ids = torch.ones(1, 3, dtype=torch.long)

    def write() -> torch.Tensor:
        return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=5, do_sample=False)

    written, calls = count_calls(model, write)
    assert written.shape == (1, 8)
    assert calls == 5  # the prompt's call gives the first character
    assert not model._forward_pre_hooks
