"""Decoding step by step, compared with `generate` for models of this package and of transformers."""

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel, set_seed

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaPairVotesConfig,
    AtentaPairVotesForCausalLM,
)
from atenta.recipes.decoding.steps import decoding_steps
from support.models import assert_close, double_model, texts

VOCAB_SIZE = 12  # small, so that <eos>, with id 2, is generated often
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def decoder():
    return double_model(AtentaDecoderForCausalLM, vocab_size=VOCAB_SIZE)


def encoder_decoder():
    return double_model(AtentaEncoderDecoderForConditionalGeneration, vocab_size=VOCAB_SIZE)


def pair_votes():
    documents = texts(20, 12, vocab_size=VOCAB_SIZE).tolist()
    model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=VOCAB_SIZE, max_distance=4))
    return model.fit([[*document, 2] for document in documents], weights=[1 + i / 7 for i in range(20)]).eval()


def gpt2():
    config = GPT2Config(vocab_size=VOCAB_SIZE, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5, **SPECIAL)
    return GPT2LMHeadModel(config).eval().double()


def bart():
    sizes = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 1), ("ffn_dim", 16), ("attention_heads", 2))
    }
    special = SPECIAL | {"decoder_start_token_id": 1, "forced_eos_token_id": None}
    config = BartConfig(vocab_size=VOCAB_SIZE, d_model=16, init_std=0.5, **sizes, **special)
    return BartForConditionalGeneration(config).eval().double()


MODELS = [decoder, encoder_decoder, pair_votes, gpt2, bart]
ONE_BY_ONE = [
    {},
    {"min_new_tokens": 4, "repetition_penalty": 1.5},
    {"do_sample": True, "top_k": 0},
    {"do_sample": True, "temperature": 0.5, "top_k": 4},
    {"do_sample": True, "temperature": 2.0, "top_p": 0.7, "eos_token_id": [2, 5]},
]
BEAMS = [
    {"num_beams": 3},
    {"num_beams": 4, "early_stopping": True, "length_penalty": 0.0},
    {"num_beams": 2, "early_stopping": "never", "length_penalty": 1.0, "max_new_tokens": 20},
    {"num_beams": 2, "length_penalty": -1.5, "eos_token_id": [2, 3, 4]},
    {"num_beams": 3, "min_new_tokens": 3, "no_repeat_ngram_size": 2, "max_new_tokens": 12},
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda make: make.__name__)
def model(request):
    set_seed(0)
    return request.param()


def both_ways(model, options, seed=0):
    """The steps with all candidates, and the output of `generate`."""
    options = {"input_ids": texts(1, 5, seed=seed, vocab_size=VOCAB_SIZE), "max_new_tokens": 8, **SPECIAL, **options}
    set_seed(seed)
    steps = list(decoding_steps(model, num_candidates=VOCAB_SIZE, **options))
    set_seed(seed)
    output = model.generate(**options, return_dict_in_generate=True, output_scores=True, output_logits=True)
    return steps, output


def probabilities(hypothesis, name):
    """(vocab_size,) of one hypothesis."""
    by_token = {candidate.token_id: getattr(candidate, name) for candidate in hypothesis.candidates}
    return torch.tensor([by_token[token] for token in range(VOCAB_SIZE)])


def assert_same_probabilities(steps, output):
    """Probabilities of the model and after processing are those of `generate` at each step for each hypothesis."""
    assert [step.number for step in steps] == list(range(1, len(output.logits) + 1))
    for step, logits, scores in zip(steps, output.logits, output.scores):
        for hypothesis, of_model, processed in zip(step.hypotheses, logits, scores):
            assert_close(probabilities(hypothesis, "probability"), of_model.softmax(-1))
            assert_close(probabilities(hypothesis, "kept_probability"), processed.softmax(-1))
            assert [one.kept for one in hypothesis.candidates] == [
                processed[one.token_id].isfinite() for one in hypothesis.candidates
            ]


@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
def test_greedy_and_sampling_are_those_of_generate(model, options):
    steps, output = both_ways(model, options)
    (finished,) = steps[-1].finished
    assert list(finished.token_ids) == output.sequences[0].tolist()
    gained = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
    assert finished.score == pytest.approx(gained.sum().item(), abs=1e-4)
    assert_same_probabilities(steps, output)
    for step in steps:
        (hypothesis,) = step.hypotheses
        assert [*hypothesis.token_ids] == output.sequences[0, : len(hypothesis.token_ids)].tolist()
        assert [one.token_id for one in hypothesis.candidates if one.chosen] == [
            output.sequences[0, len(hypothesis.token_ids)]
        ]


@pytest.mark.parametrize("options", BEAMS, ids=str)
def test_beams_are_those_of_generate(model, options):
    steps, output = both_ways(model, options | {"num_return_sequences": options["num_beams"]})
    finished = steps[-1].finished
    scores = output.sequences_scores[output.sequences_scores > -1e8]  # generate fills the rest with -1e9
    assert_close(torch.tensor([one.score for one in finished]), scores)
    for one, sequence in zip(finished, output.sequences.tolist()):
        assert list(one.token_ids) == sequence[: len(one.token_ids)]
        assert set(sequence[len(one.token_ids) :]) <= {SPECIAL["pad_token_id"], SPECIAL["eos_token_id"]}
    assert_same_probabilities(steps, output)


@pytest.mark.parametrize("options", BEAMS, ids=str)
def test_chosen_candidates_continue_or_end(model, options):
    steps, _ = both_ways(model, options, seed=5)
    for step, following in zip(steps, [*steps[1:], None]):
        chosen = {
            (*hypothesis.token_ids, one.token_id): one.score
            for hypothesis in step.hypotheses
            for one in hypothesis.candidates
            if one.chosen
        }
        running = {one.token_ids: one.score for one in following.hypotheses} if following else {}
        length = len(step.hypotheses[0].token_ids) + 1
        ended = {one.token_ids: one.score for one in step.finished if len(one.token_ids) == length}
        assert chosen.keys() == running.keys() | ended.keys()
        assert {ids: chosen[ids] for ids in running} == pytest.approx(running)
        power = step.number ** options.get("length_penalty", 1.0)
        assert {ids: chosen[ids] / power for ids in ended} == pytest.approx(ended)
    assert len(steps[0].hypotheses) == 1
    assert len(steps[1].hypotheses) == options["num_beams"]


def test_padding_of_a_prompt_is_ignored():
    model, prompt = decoder(), texts(1, 5, vocab_size=VOCAB_SIZE)
    padded = {
        "input_ids": torch.cat([torch.zeros(1, 3, dtype=torch.long), prompt], 1),
        "attention_mask": torch.tensor([[0] * 3 + [1] * 5]),
    }
    plain, masked = ([*decoding_steps(model, **one, max_new_tokens=6)] for one in ({"input_ids": prompt}, padded))
    assert plain[-1].finished[0].token_ids == masked[-1].finished[0].token_ids[3:]


def test_candidates_are_the_most_probable_and_the_chosen_one():
    set_seed(3)
    options = {"do_sample": True, "temperature": 5.0, "max_new_tokens": 20, "eos_token_id": None, "top_k": 0}
    steps = list(decoding_steps(decoder(), texts(1, 5, vocab_size=VOCAB_SIZE), num_candidates=2, **options))
    shown = [step.hypotheses[0].candidates for step in steps]
    assert {len(candidates) for candidates in shown} == {2, 3}
    for candidates in shown:
        assert [one.probability for one in candidates] == sorted((one.probability for one in candidates), reverse=True)
        assert sum(one.chosen for one in candidates) == 1
        assert len(candidates) == 2 or candidates[2].chosen


@pytest.mark.parametrize("options", [{}, {"num_beams": 2}], ids=str)
def test_steps_are_lazy_and_without_gradients(options):
    model, read = decoder(), []
    model.register_forward_hook(lambda *_: read.append(torch.is_grad_enabled()))
    steps = decoding_steps(model, texts(1, 5, vocab_size=VOCAB_SIZE), max_new_tokens=5, **options)
    assert read == []
    next(steps)
    assert read == [False]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("batch", "options", "message"),
    [
        (2, {}, "Found 2 sequences"),
        (2, {"num_beams": 3}, "Found 2 sequences"),
        (1, {"do_sample": True, "num_return_sequences": 2}, "num_return_sequences=1 unless"),
        (1, {"do_sample": True, "num_beams": 2}, "beam_sample; expected one of greedy_search, sample, beam_search"),
        (1, {"num_candidates": 0}, "num_candidates is 0"),
        (1, {"num_beams": 0}, "num_beams is 0"),
        (1, {"temperatura": 2.0}, "temperatura"),
    ],
    ids=str,
)
def test_other_searches_and_inputs_are_refused_at_once(batch, options, message):
    with pytest.raises(ValueError, match=message):
        decoding_steps(decoder(), texts(batch, 5, vocab_size=VOCAB_SIZE), max_new_tokens=3, **options)
