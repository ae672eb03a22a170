"""What the variants' figures are made of: bounds, passages, calls."""

import pytest
import torch
from transformers import TrainerControl

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM
from benchmarks.variants import StopAfter, count_calls, most_gained, passages


@pytest.mark.parametrize(("padding_percent", "times"), [(0, 1), (50, 2), (80, 5)])
def test_packing_gains_at_most_what_is_padded(padding_percent, times):
    assert most_gained(padding_percent) == pytest.approx(times)


def test_passages_stand_in_the_middle_of_equal_parts_whatever_is_left_over():
    assert passages("abcdefghijk", count=3, length=2) == ["bc", "ef", "hi"]


@pytest.mark.parametrize(("seconds", "stops"), [(0, True), (1e6, False)])
def test_training_stops_when_its_seconds_are_over(seconds, stops):
    callback, control = StopAfter(seconds), TrainerControl()
    callback.on_train_begin()
    callback.on_step_end(None, None, control)
    assert control.should_training_stop is stops


def test_calls_are_those_of_generate_and_are_no_longer_counted_afterwards():
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
