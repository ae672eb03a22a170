"""The options of a search, compared with those of `generate`, and what is refused."""

import json

import pytest
from transformers import GenerationConfig

from atenta import AtentaDecoderForCausalLM
from atenta.engines.search_options import SearchOptions
from support.models import tiny_model


def test_options_are_those_of_generate():
    ours = SearchOptions()
    for name, value in GenerationConfig._get_default_generation_params().items():
        if hasattr(ours, name) and name != "max_length":
            assert getattr(ours, name) == value, name
    assert SearchOptions.from_saved(GenerationConfig._get_default_generation_params()).max_length == 20
    # Every option that transformers knows is one of the searches', is refused by name, or has no effect.
    unset = {name: None for name in GenerationConfig().to_dict() if not hasattr(ours, name)}
    assert len(unset) > 40
    assert SearchOptions.from_saved({}, **unset) == ours


def test_a_saved_file_is_read(tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    model.generation_config.update(max_length=30, num_beams=3, eos_token_id=[2, 4])
    model.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "generation_config.json").read_text())
    options = SearchOptions.from_saved(saved)
    assert options == SearchOptions(max_length=30, num_beams=3, eos_token_id=[2, 4])
    assert options.end_ids == (2, 4)
    assert SearchOptions.from_saved(saved, num_beams=1, eos_token_id=2).end_ids == (2,)
    assert SearchOptions.from_saved(saved, eos_token_id=None).end_ids == ()
    of_other_searches = {"temperature": 0.7, "top_k": 20, "early_stopping": True, "repetition_penalty": 1.2}
    options = SearchOptions.from_saved(of_other_searches, repetition_penalty=1, seed=3)  # as in `generate`
    assert (options.temperature, options.early_stopping, options.do_sample) == (0.7, True, False)


def test_limits_count_what_generate_counts():
    assert SearchOptions().new_token_limits([1, 9]).tolist() == [20, 20]
    assert SearchOptions(max_length=12).new_token_limits([1, 9]).tolist() == [11, 3]
    assert SearchOptions(max_length=12, max_new_tokens=5).new_token_limits([1, 30]).tolist() == [5, 5]
    saved = {"max_length": 12}
    assert SearchOptions.from_saved(saved, max_new_tokens=40).new_token_limits([30]).tolist() == [40]
    with pytest.raises(ValueError, match=r"\b12\b.*max_length=12"):
        SearchOptions(max_length=12).new_token_limits([4, 12])


@pytest.mark.parametrize(
    ("saved", "options", "named"),
    [
        ({}, {"num_beam": 2}, "num_beam num_beams"),
        ({}, {"zzz": 2}, "zzz max_length max_new_tokens"),
        ({}, {"max_new_tokens": 2.5}, "max_new_tokens 2.5"),
        ({}, {"num_beams": True}, "num_beams True 1"),
        ({}, {"length_penalty": float("inf")}, "length_penalty inf"),
        ({}, {"num_beams": 2, "early_stopping": 1}, 'early_stopping 1 True False "never"'),
        ({}, {"do_sample": "yes"}, "do_sample 'yes' True False"),
        ({}, {"do_sample": True, "temperature": 1e-40}, "temperature 1e-40 1e-30"),
        ({}, {"do_sample": True, "top_k": -1}, "top_k -1 0"),
        ({}, {"do_sample": True, "top_p": 1.5}, "top_p 1.5 0 1"),
        ({}, {"eos_token_id": [2, None]}, "eos_token_id [2, None]"),
        ({}, {"seed": -1}, "seed -1 0"),
        ({}, {"num_return_sequences": 3, "num_beams": 2}, "num_return_sequences=3 num_beams=2"),
        ({"do_sample": True}, {"num_beams": 2}, "do_sample=True num_beams=2"),
        ({"repetition_penalty": 1.2}, {}, "repetition_penalty=1.2"),
        ({}, {"min_p": 0.1}, "min_p=0.1 min_p=0"),
        ({"new_in_transformers": True}, {}, "new_in_transformers=True"),
        ({"max_new_tokens": 5}, {"max_length": 9}, "max_length=9 max_new_tokens=5"),
        ({}, {"temperature": 0.5}, "temperature=0.5 do_sample=True"),
        ({}, {"early_stopping": True}, "early_stopping=True num_beams"),
    ],
    ids=str,
)
def test_options_that_are_refused(saved, options, named):
    """By names, values and advice, in one line."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the names are checked)
        SearchOptions.from_saved(saved, **options)
    assert [name for name in named.split() if name not in str(refused.value)] == []
    assert "\n" not in str(refused.value)
