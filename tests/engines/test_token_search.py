"""The searches of the engines, compared with `generate` of transformers for each text alone."""

import numpy as np
import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from atenta import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.engines.search_options import SearchOptions
from atenta.engines.token_search import FoundTokens, LetterLock, SearchInputs, search_tokens, stream_tokens
from atenta.tokenization.base_letters import number_base_letters, strip_accents
from support.models import double_model, pad, texts
from support.recomputed import RecomputedModel

VOCAB_SIZE = 12  # small, so that <eos>, with id 2, is generated often
LENGTHS = [7, 3, 5, 1, 6]
GREEDY = [
    {"max_new_tokens": 12},
    {"max_new_tokens": 12, "length_penalty": -1, "eos_token_id": [2, 5]},
    {"max_new_tokens": 1},
    {"max_length": 14},
    {},
]
BEAMS = [
    {"num_beams": 3, "num_return_sequences": 3},
    {"num_beams": 5, "num_return_sequences": 4, "length_penalty": 0.0, "early_stopping": True},
    {"num_beams": 4, "num_return_sequences": 2, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 3, "num_return_sequences": 3, "length_penalty": -1.5, "early_stopping": False},
    {"num_beams": 3, "length_penalty": -1, "early_stopping": "never", "max_new_tokens": 3},
    {"num_beams": 3, "num_return_sequences": 2, "eos_token_id": [2, 5, 7]},
    {"num_beams": 2, "num_return_sequences": 2, "eos_token_id": [*range(2, 10)], "early_stopping": "never"},
    {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 2.0, "early_stopping": True},
    {"num_beams": 2, "num_return_sequences": 2, "eos_token_id": None},
    {"num_beams": 4, "num_return_sequences": 3, "max_length": 9},
]
TOKENIZER = AtentaTokenizer.from_texts(["abceo çãáàâéêíóõÃÉ.,\u0303"], family="encoder-decoder", tags=["<PL>"])
SOURCES = ["a cao", "Nao e b\u0303!", "ÉÃ 日 é", "o"]


def sharp_model(model_class, seed, vocab_size=VOCAB_SIZE):
    """A model whose outputs differ and end at different places."""
    model = double_model(model_class, seed=seed, vocab_size=vocab_size, norm_first=True, initializer_range=0.5)
    with torch.no_grad():
        model.lm_head.weight.mul_(1.5)
        model.lm_head.bias[2] += 1.5
    return model


FAMILIES = (AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration)
# A search does not know of what family its model is, but for the lengths of prompts, which its limits count.
SEARCHES = [(FAMILIES[0], each) for each in GREEDY + BEAMS] + [(FAMILIES[1], each) for each in [*GREEDY, BEAMS[0]]]


@pytest.fixture(scope="module", params=FAMILIES)
def models(request):
    return [sharp_model(request.param, seed) for seed in range(4)]


def batch_for(model, seed=1, lengths=LENGTHS):
    ids = texts(len(lengths), max(lengths), seed=seed, vocab_size=VOCAB_SIZE)
    return pad(ids, lengths, "right" if model.config.is_encoder_decoder else "left")


def search(model, ids, mask, lock=None, **options):
    """The outputs of a search with the options of a call, and the model that was searched."""
    options = SearchOptions.from_saved({"eos_token_id": 2}, **options)
    starts = [1] * len(ids) if model.config.is_encoder_decoder else mask.sum(-1)
    limits = options.new_token_limits(starts)
    if lock is not None:
        limits = np.maximum(limits, lock.lengths)
    recomputed = RecomputedModel(model)
    return search_tokens(recomputed, SearchInputs(ids.numpy(), mask.numpy(), options, limits, lock)), recomputed


def generated(model, ids, **options):
    """Return the output of `generate` for one source, (1, length), without padding."""
    options = {"eos_token_id": 2, "length_penalty": 1.0, **options}
    model.generation_config.max_length = None  # only the options of the call count
    output = model.generate(
        ids, attention_mask=torch.ones_like(ids), return_dict_in_generate=True, output_scores=True, **options
    )
    prompt = 1 if model.config.is_encoder_decoder else ids.shape[1]
    ends = options["eos_token_id"] if isinstance(options["eos_token_id"], list) else [options["eos_token_id"]]
    found = []
    for row, sequence in enumerate(output.sequences[:, prompt:].tolist()):
        length = next((place for place, token in enumerate(sequence) if token in ends), None)
        if "sequences_scores" in output:
            score = output.sequences_scores[row].item()
        else:
            written = sequence if length is None else sequence[: length + 1]
            gains = [scores[row].log_softmax(-1)[token].item() for token, scores in zip(written, output.scores)]
            score = sum(gains) / len(gains) ** options["length_penalty"]
        found.append(FoundTokens(sequence[:length], score, length is not None))
    return found


def assert_found(found, expected):
    assert [(one.token_ids, one.finished) for one in found] == [(one.token_ids, one.finished) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)


@pytest.mark.parametrize(
    ("models", "options"), SEARCHES, indirect=["models"], ids=lambda value: getattr(value, "__name__", str(value))
)
def test_a_batch_finds_what_generate_finds_for_each_text_alone(models, options):
    every = []
    if options.keys() & {"num_beams"} and not options.keys() & {"max_length"}:
        options = {"max_new_tokens": 10, **options}
    for seed, model in enumerate(models):
        ids, mask = batch_for(model, seed)
        found, _ = search(model, ids, mask, **options)
        for row, outputs in enumerate(found):
            assert_found(outputs, generated(model, ids[row][mask[row] > 0][None], **options))
        assert_found(search(model, ids[[1]], mask[[1]], **options)[0][0], found[1])
        every += [(*outputs[0].token_ids, outputs[0].finished) for outputs in found]
    assert len(set(every)) > 3


@pytest.mark.parametrize("options", [{}, {"num_beams": 2, "early_stopping": True}], ids=str)
def test_finished_sources_are_dropped(models, options):
    rows = [search(model, *batch_for(model), max_new_tokens=12, **options)[1].rows for model in models]
    assert all(each == sorted(each, reverse=True) for each in rows)
    assert min(map(min, rows)) < len(LENGTHS)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True}], ids=str)
def test_no_source_is_read_beyond_its_limit(options):
    model = sharp_model(AtentaDecoderForCausalLM, 0)
    _, recomputed = search(model, *batch_for(model), max_length=9, eos_token_id=None, **options)
    assert recomputed.rows == [5, 5, 4, 3, 2, 2, 1, 1]  # for limits of 2, 6, 4, 8 and 3 new tokens
    assert search(model, *batch_for(model, lengths=[2, 2]), max_new_tokens=3, **options)[1].rows[0] == 2


class Flat:
    """A `TokenModel` to which all tokens are equally probable."""

    def start(self, input_ids, attention_mask):
        return np.zeros((len(input_ids), 1, 6), np.float32)

    def step(self, token_ids, parents):
        return np.zeros((*token_ids.shape, 6), np.float32)


def test_equal_logits_are_taken_in_the_order_of_the_ids():
    ids = np.ones((2, 3), np.int64)
    greedy, beams = (
        search_tokens(
            Flat(), SearchInputs(ids, ids, SearchOptions(num_beams=n, num_return_sequences=n), np.array([2, 2]))
        )
        for n in (1, 3)
    )
    assert [one.token_ids for one in greedy[1]] == [[0, 0]]
    assert [one.token_ids for one in beams[1]] == [[0, 0], [0, 1], [0, 2]]
    assert beams[1][2].score == pytest.approx(np.log(1 / 6))


# Sampling


def exact_probabilities(model, ids, **options):
    """The distribution of the first new token by the processors of `generate`."""
    mask = torch.ones_like(ids)
    scores = torch.tensor(RecomputedModel(model).start(ids.numpy(), mask.numpy())[:, 0])
    if "temperature" in options:
        scores = TemperatureLogitsWarper(options["temperature"])(ids, scores)
    if options.get("top_k", 50):
        scores = TopKLogitsWarper(options.get("top_k", 50))(ids, scores)
    if "top_p" in options:
        scores = TopPLogitsWarper(options["top_p"])(ids, scores)
    return scores.softmax(-1)[0].double().numpy()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 0},
        {"top_k": None, "temperature": 0.5},
        {"temperature": 2.0, "top_p": 0.0},
        {"temperature": 4.0, "top_k": 8, "top_p": 0.9},
    ],
    ids=str,
)
def test_tokens_are_drawn_with_their_probabilities(models, options):
    for model in models[:2]:
        ids, _ = batch_for(model, lengths=[5])
        expected = exact_probabilities(model, ids, **options)
        number = 4000
        options = {**options, "do_sample": True, "num_return_sequences": number, "max_new_tokens": 1, "seed": 1}
        ((*found,),), _ = search(model, ids, torch.ones_like(ids), eos_token_id=None, **options)
        counts = np.bincount([one.token_ids[0] for one in found], minlength=VOCAB_SIZE)
        assert not counts[expected == 0].any()
        assert counts[expected > 0.005].all()
        spread = np.sqrt(expected * (1 - expected) / number)
        assert (np.abs(counts / number - expected) <= 4 * spread + 1e-9).all()
        for one in found:
            assert one.score == pytest.approx(np.log(expected[one.token_ids[0]]), abs=1e-4)
        assert [one.score for one in found] == sorted([one.score for one in found], reverse=True)


def test_each_token_is_drawn_given_those_before_it(models):
    model = models[0]
    ids, mask = batch_for(model, lengths=[5])
    options = {"do_sample": True, "temperature": 1.5, "top_k": 0, "eos_token_id": None, "seed": 0, "max_new_tokens": 4}
    (found,), _ = search(model, ids, mask, num_return_sequences=20, **options)
    for one in found:
        recomputed, gains = RecomputedModel(model), []
        logits = recomputed.start(ids.numpy(), mask.numpy())
        for token in one.token_ids:
            gains.append(torch.tensor(logits / 1.5).log_softmax(-1)[0, 0, token].item())
            logits = recomputed.step(np.array([[token]]), np.zeros((1, 1), np.int64))
        assert one.score == pytest.approx(sum(gains) / 4, abs=1e-4)
    assert len({tuple(one.token_ids) for one in found}) > 5


def test_sources_draw_numbers_of_their_own():
    ids = np.array([[3, 4], [3, 5], [3, 4]])
    options = SearchOptions(do_sample=True, seed=0)
    inputs = SearchInputs(ids, np.ones_like(ids), options, options.new_token_limits([1, 1, 1]))
    one, other, same = search_tokens(Flat(), inputs)
    assert one == same
    assert one[0].token_ids != other[0].token_ids


# Streaming


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "temperature": 2.0, "seed": 3}], ids=str)
def test_a_stream_has_the_tokens_of_the_search(models, options):
    for model in models:
        ids, mask = batch_for(model, lengths=[5])
        ((found,),), _ = search(model, ids, mask, max_new_tokens=9, **options)
        recomputed = RecomputedModel(model)
        saved = {"eos_token_id": 2, "max_new_tokens": 9}
        options_of_call = SearchOptions.from_saved(saved, **options)
        stream = stream_tokens(recomputed, SearchInputs(ids.numpy(), mask.numpy(), options_of_call, np.array([9])))
        streamed = []
        for token in stream:
            streamed.append(token)
            assert len(recomputed.rows) == len(streamed)  # nothing is computed ahead
        assert streamed == found.token_ids
        assert all(type(token) is int for token in streamed)


# The letter lock


@pytest.fixture(scope="module")
def locked_models():
    return [sharp_model(AtentaEncoderDecoderForConditionalGeneration, seed, len(TOKENIZER)) for seed in range(3)]


def lock_for(ids):
    tokens = TOKENIZER.convert_ids_to_tokens(range(len(TOKENIZER)))
    return LetterLock(number_base_letters(tokens), TOKENIZER.all_special_ids, TOKENIZER.eos_token_id, ids.numpy())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.5},
        {"num_beams": 3, "early_stopping": True},
        {"max_new_tokens": 2},
    ],
    ids=str,
)
def test_locked_searches_find_what_generate_finds(locked_models, options):
    batch = TOKENIZER(SOURCES, padding=True, return_tensors="pt")
    options = {"max_new_tokens": 25, **options}
    for model in locked_models:
        found, _ = search(model, batch.input_ids, batch.attention_mask, lock_for(batch.input_ids), **options)
        for row, outputs in enumerate(found):
            ids = TOKENIZER(SOURCES[row], return_tensors="pt").input_ids
            theirs = {**options, "max_new_tokens": max(options["max_new_tokens"], ids.shape[1])}
            lock = model.letter_lock(TOKENIZER, ids)
            expected = generated(model, ids, logits_processor=lock, **theirs)
            # Beams beyond the texts that the lock allows repeat a text with a score of about -1e9 in any order.
            real = [one for one in expected if one.score > -1e6]
            assert real
            assert_found(outputs[: len(real)], real)
            for one in outputs:
                assert one.finished
                assert strip_accents(TOKENIZER.decode(one.token_ids)) == strip_accents(SOURCES[row])
    free, _ = search(model, batch.input_ids, batch.attention_mask, **options)
    assert [outputs[0].token_ids for outputs in free] != [outputs[0].token_ids for outputs in found]


def test_a_lock_excludes_what_the_processor_excludes():
    ids = TOKENIZER(SOURCES, padding=True, return_tensors="pt").input_ids
    ids[0, 1] = TOKENIZER.convert_tokens_to_ids("<PL>")
    lock = lock_for(ids)
    theirs = AtentaEncoderDecoderForConditionalGeneration.letter_lock(TOKENIZER, ids)
    scores = torch.randn(len(ids), len(TOKENIZER))
    for place in range(ids.shape[1] + 2):
        target = torch.full((len(ids), place + 1), TOKENIZER.bos_token_id)
        rows = np.array([3, 0, 1])
        locked = lock(scores.numpy()[rows, None], place, rows)
        assert np.array_equal(locked[:, 0], theirs(target, scores).numpy()[rows])
    assert lock.lengths.tolist() == [5, 10, 9, 2]


# Refusals


@pytest.mark.parametrize("num_beams", [1, 2])
def test_an_end_outside_the_vocabulary_is_refused(models, num_beams):
    with pytest.raises(ValueError, match=r"eos_token_id=\[2, 12\].* 12 "):
        search(models[0], *batch_for(models[0]), eos_token_id=[2, 12], num_beams=num_beams)
