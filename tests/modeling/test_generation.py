"""Every decoding method of transformers, with every cache and padding on both sides.

Contrastive search, DoLa, group beam search and constrained beam search are no longer part of the library. They are
repositories of code (`transformers-community/contrastive-search`, `…/dola`, `…/group-beam-search`,
`…/constrained-beam-search`), which `generate(custom_generate=…)` downloads.

transformers computes scores in float32 from any logits, so scores are compared with a tolerance.
"""

import pytest
import torch
from accelerate import cpu_offload
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn.utils import parametrizations
from transformers import DynamicCache, GenerationConfig, WatermarkingConfig, set_seed
from transformers.generation.configuration_utils import ContinuousBatchingConfig

from atenta import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from support.models import LAYOUTS, assert_close, double_model, every_generator, layout_name, pad, texts

# <pad> is never produced, because padding in a prompt would count as a repetition of it.
EIGHT = {"max_new_tokens": 8, "min_new_tokens": 8, "suppress_tokens": [0]}
STATIC = {"cache_implementation": "static", "disable_compile": True}  # compiled in test_compile

SAMPLING = {
    "temperature": {"temperature": 0.7},
    "top_k": {"top_k": 5},
    "top_p": {"top_p": 0.8},
    "top_h": {"top_h": 0.4},
    "min_p": {"min_p": 0.1},
    "typical_p": {"typical_p": 0.6},
    "epsilon_cutoff": {"epsilon_cutoff": 0.03},
    "eta_cutoff": {"eta_cutoff": 0.03},
    "all of them": {"temperature": 1.3, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.9},
}
METHODS = {
    "greedy": {},
    "beam": {"num_beams": 3},
    "beam with length penalty": {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True, "min_new_tokens": 1},
    "beam sampling": {"num_beams": 3, "do_sample": True, "top_k": 10},
    "repetition_penalty": {"repetition_penalty": 1.5},
    "no_repeat_ngram_size": {"no_repeat_ngram_size": 2},
    "bad_words_ids": {"bad_words_ids": [[7], [9, 11]]},
    "sequence_bias": {"sequence_bias": [[[12], 4.0]]},
    "suppress_tokens": {"suppress_tokens": [0, 7], "begin_suppress_tokens": [5]},
    "forced_eos_token_id": {"forced_eos_token_id": 2},
    "exponential_decay_length_penalty": {"exponential_decay_length_penalty": (2, 1.5), "min_new_tokens": 1},
    "renormalize_logits": {"num_beams": 3, "repetition_penalty": 1.5, "renormalize_logits": True},
    "watermarking_config": {"watermarking_config": WatermarkingConfig(bias=2.0, seeding_scheme="lefthash")},
    **{name: {"do_sample": True, "top_k": 0} | options for name, options in SAMPLING.items()},
}


def generate(model, ids, mask=None, **options):
    """Return new tokens (batch, length), always drawn with the same random numbers."""
    set_seed(3)
    mask = torch.ones_like(ids) if mask is None else mask
    tokens = model.generate(input_ids=ids, attention_mask=mask, **(EIGHT | options))
    return tokens if model.config.is_encoder_decoder else tokens[:, ids.shape[1] :]


def log_probabilities(model, source, tokens):
    """Return the log-probabilities of the new tokens from one pass over the text, (batch, new tokens)."""
    with torch.no_grad():
        if model.config.is_encoder_decoder:  # tokens start with <bos>
            scores = model(input_ids=source, decoder_input_ids=tokens).logits[:, :-1]
            tokens = tokens[:, 1:]
        else:
            scores = model(input_ids=torch.cat([source, tokens], dim=1)).logits[:, source.shape[1] - 1 : -1]
    return scores.log_softmax(-1).gather(-1, tokens[..., None])[..., 0].float()


@every_generator
@pytest.mark.parametrize(
    ("method", "layout"),
    [(method, LAYOUTS[0]) for method in METHODS] + [(m, each) for m in ("greedy", "beam") for each in LAYOUTS[1:]],
    ids=lambda value: value if isinstance(value, str) else layout_name(value),
)
def test_every_method_with_every_cache_and_padding(model_class, method, layout):
    model, ids = double_model(model_class, **layout), texts(1, 6)
    expected = generate(model, ids, **METHODS[method], use_cache=False)
    padded = [("left", {}), ("left", STATIC)]
    for side, cache in [*padded, ("right", {})] if model.config.is_encoder_decoder else padded:
        tokens = generate(model, *padded_by_three(ids, side), **METHODS[method], **cache)
        assert torch.equal(tokens, expected), f"{cache}, padding on the {side}"


@every_generator
def test_guidance_runs_without_the_prompt(model_class):
    """transformers gives the tokens to an encoder-decoder as a source, without a target, so caches count there."""
    assert generate(double_model(model_class), texts(2, 6), guidance_scale=1.5).shape[1] >= 8


def padded_by_three(ids, side):
    """Return ids and an attention mask with three places of padding."""
    amount = (3, 0) if side == "left" else (0, 3)
    return nn.functional.pad(ids, amount), nn.functional.pad(torch.ones_like(ids), amount)


@every_generator
@pytest.mark.parametrize("num_beams", [1, 3])
def test_transition_scores_are_the_models_own_log_probabilities(model_class, num_beams):
    model, ids = double_model(model_class), texts()
    outputs = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        num_beams=num_beams,
        return_dict_in_generate=True,
        output_scores=True,
        max_new_tokens=8,
        eos_token_id=None,
    )
    beams = getattr(outputs, "beam_indices", None)
    transitions = model.compute_transition_scores(
        outputs.sequences, outputs.scores, beams, normalize_logits=num_beams == 1
    )
    tokens = outputs.sequences if model.config.is_encoder_decoder else outputs.sequences[:, 9:]
    expected = log_probabilities(model, ids, tokens)
    assert_close(transitions, expected)
    if num_beams > 1:
        assert_close(outputs.sequences_scores, expected.sum(-1) / 8)


@every_generator
def test_assisted_generation(model_class):
    """A smaller model, or the prompt, guesses tokens, and the output is that of the larger model."""
    model, ids = double_model(model_class), texts(1, 5).repeat(1, 3)
    depth = {"decoder_layers": 1, "encoder_layers": 1} if model.config.is_encoder_decoder else {"num_hidden_layers": 1}
    assistants = [double_model(model_class, seed=5, **depth), double_model(model_class)]
    guesses = [{"prompt_lookup_num_tokens": 3}, *({"assistant_model": assistant} for assistant in assistants)]
    expected = generate(model, ids)
    for options in guesses:
        assert torch.equal(generate(model, ids, **options), expected)
        if not model.config.is_encoder_decoder:
            assert torch.equal(generate(model, *padded_by_three(ids, "left"), **options), expected)
    sampled = [generate(model, ids, assistant_model=assistants[0], do_sample=True) for _ in range(2)]
    assert torch.equal(*sampled)
    if model.config.is_encoder_decoder:
        given = {"decoder_input_ids": ids[:, :3], "decoder_position_ids": torch.arange(3)[None]}
        expected = generate(model, ids, **given)
        for options in guesses:
            assert torch.equal(generate(model, ids, **given, **options), expected)


def test_early_exit():
    model, ids = double_model(AtentaDecoderForCausalLM, num_hidden_layers=3), texts(1)
    expected = generate(model, ids, max_new_tokens=12)
    runs = []
    model.model.layers[2].register_forward_hook(lambda *_: runs.append(1))
    guessed = generate(model, ids, max_new_tokens=12, assistant_early_exit=1)
    assert torch.equal(guessed, expected)
    assert 0 < len(runs) <= 12  # the last block only checks the guesses
    assert model.config.num_hidden_layers == 3


def test_guidance_moves_away_from_the_negative_prompt():
    """Classifier-free guidance, which transformers has for decoders only."""
    model, ids = double_model(AtentaDecoderForCausalLM), texts()
    options = {"negative_prompt_ids": texts(seed=7), "negative_prompt_attention_mask": torch.ones(3, 9)}
    guided = generate(model, ids, guidance_scale=3.0, **options)
    assert guided.shape == (3, 8)
    assert not torch.equal(guided, generate(model, ids))


def test_continuous_batching():
    """Requests of any length share a paged cache. transformers compiles the steps."""
    model, ids = double_model(AtentaDecoderForCausalLM, position_embedding_type="rotary"), texts()
    prompts = [row[:length] for row, length in zip(ids, (9, 5, 2))]
    settings = GenerationConfig(max_new_tokens=6, do_sample=False, eos_token_id=2, pad_token_id=0)
    sizes = ContinuousBatchingConfig(num_blocks=4, max_batch_tokens=64)  # or the cache takes most of the free memory
    answers = model.generate_batch([prompt.tolist() for prompt in prompts], settings, sizes)
    for prompt, answer in zip(prompts, answers.values(), strict=True):
        alone = model.generate(prompt[None], max_new_tokens=6)[0, len(prompt) :]
        assert answer.generated_tokens == alone.tolist()


def test_an_encoded_source():
    model, (ids, mask) = double_model(AtentaEncoderDecoderForConditionalGeneration), pad(texts(), [9, 5, 2], "right")
    with pytest.raises(ValueError, match=r"DynamicCache.*EncoderDecoderCache"):
        model.generate(ids, attention_mask=mask, past_key_values=DynamicCache())
    expected = generate(model, ids, mask, num_beams=3)
    encoded = model.get_encoder()(ids, attention_mask=mask)
    actual = model.generate(encoder_outputs=encoded, attention_mask=mask, num_beams=3, **EIGHT)
    assert torch.equal(actual, expected)


def with_lora(model):
    get_peft_model(model, LoraConfig(target_modules="all-linear", init_lora_weights=False)).eval()


def with_a_parametrization(model):
    parametrizations.weight_norm(first_block(model).feed_forward.up_proj).parametrizations.weight.original0.mul_(2)


def with_hooks(model):
    block = first_block(model)
    block.self_attn.o_proj.register_forward_hook(lambda module, inputs, output: output + 1)
    block.feed_forward.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))


def fetched_by_accelerate(model):
    cpu_offload(model, execution_device="cpu")


def first_block(model):
    return (model.get_decoder() if model.config.is_encoder_decoder else model.model).layers[0]


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize(
    "change",
    [with_lora, with_a_parametrization, with_hooks, fetched_by_accelerate],
    ids=lambda change: change.__name__,
)
@every_generator
@torch.no_grad()
def test_replaced_and_wrapped_modules_take_part_in_every_step(model_class, change, num_beams):
    model, ids = double_model(model_class), texts()
    options = {"num_beams": num_beams, "no_repeat_ngram_size": 1}
    before = generate(model, ids, **options)
    change(model)
    cached = generate(model, ids, **options)
    assert torch.equal(cached, generate(model, ids, use_cache=False, **options))
    assert torch.equal(cached, before) == (change is fetched_by_accelerate)
