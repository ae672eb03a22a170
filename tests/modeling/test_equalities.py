"""What must not change the output: caches, padding, batching, kernels, checkpoints, packing, chunks, ways of input."""

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, StaticCache

from atenta.modeling import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
)
from support.models import (
    ENCODERS,
    GENERATORS,
    LANGUAGE_MODELS,
    assert_close,
    every_layout,
    inputs_for,
    named,
    pad,
    texts,
    tiny_model,
)

LENGTHS = [9, 5, 2]

every_language_model = pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
every_generator = pytest.mark.parametrize("model_class", named(GENERATORS))
both_sides = pytest.mark.parametrize("side", ["left", "right"])


@torch.no_grad()
def logits(model, ids, mask=None, source=None, source_mask=None, **options):
    """Scores of a text, which a decoder behind an encoder reads as its target."""
    if not model.config.is_encoder_decoder:
        return model(input_ids=ids, attention_mask=mask, **options).logits
    return model(
        input_ids=texts(len(ids), 7, seed=3) if source is None else source,
        attention_mask=source_mask,
        decoder_input_ids=ids,
        decoder_attention_mask=mask,
        **options,
    ).logits


def empty_cache(model, kind, length):
    def one():
        return DynamicCache(config=model.config) if kind == "dynamic" else StaticCache(model.config, length)

    return EncoderDecoderCache(one(), DynamicCache(config=model.config)) if model.config.is_encoder_decoder else one()


@every_layout
@every_generator
@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("steps", [[1] * 9, [4, 3, 2]], ids=["one by one", "in chunks"])
def test_cached_equals_uncached(model_class, layout, kind, steps):
    model, ids = tiny_model(model_class, **layout), texts()
    expected = logits(model, ids, use_cache=False)
    cache = empty_cache(model, kind, ids.shape[1])
    parts = [logits(model, part, past_key_values=cache) for part in ids.split(steps, dim=1)]
    assert_close(torch.cat(parts, dim=1), expected)


@every_layout
@every_generator
@pytest.mark.parametrize("kind", ["dynamic", "static"])
@both_sides
def test_cached_equals_uncached_with_padding(model_class, layout, kind, side):
    """The mask covers the past, from which the positions of this step are counted."""
    model, (ids, mask) = tiny_model(model_class, **layout), pad(texts(), LENGTHS, side)
    expected = logits(model, ids, mask, use_cache=False)
    cache = empty_cache(model, kind, ids.shape[1])
    for end in range(3, 10, 3):
        step = slice(end - 3, end)
        actual = logits(model, ids[:, step], mask[:, :end], past_key_values=cache)
        real = mask[:, step].bool()
        assert_close(actual[real], expected[:, step][real])


@every_layout
@every_language_model
@both_sides
@pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
def test_padded_in_a_batch_equals_unpadded_alone(model_class, layout, side, attn_implementation):
    model = tiny_model(model_class, attn_implementation=attn_implementation, **layout)
    ids, source = texts(), texts(3, 7, seed=3)
    padded, mask = pad(ids, LENGTHS, side)
    padded_source, source_mask = pad(source, [3, 7, 1], side)
    batched = logits(model, padded, mask, padded_source, source_mask)
    for row, (length, source_length) in enumerate(zip(LENGTHS, [3, 7, 1])):
        alone = logits(model, ids[row : row + 1, :length], source=source[row : row + 1, :source_length])
        assert_close(batched[row, mask[row].bool()], alone[0])


@every_layout
@every_language_model
def test_batched_equals_one_by_one(model_class, layout):
    model, ids, source = tiny_model(model_class, **layout), texts(), texts(3, 7, seed=3)
    alone = [logits(model, ids[row : row + 1], source=source[row : row + 1]) for row in range(len(ids))]
    assert_close(logits(model, ids, source=source), torch.cat(alone))


@every_layout
@every_language_model
@both_sides
def test_eager_equals_sdpa(model_class, layout, side):
    model, (ids, mask) = tiny_model(model_class, **layout), pad(texts(), LENGTHS, side)
    outputs = {}
    for implementation in ("eager", "sdpa"):
        model.set_attn_implementation(implementation)
        outputs[implementation] = logits(model, ids, mask)[mask.bool()]
    assert_close(outputs["eager"], outputs["sdpa"])


@every_layout
@every_language_model
def test_inputs_embeds_equal_input_ids(model_class, layout):
    model, inputs = tiny_model(model_class, **layout), inputs_for(model_class)
    embedded = {
        name.replace("input_ids", "inputs_embeds"): side.embeddings.embed_tokens(inputs[name])
        for name, side in zip(
            inputs, (model.get_encoder(), model.get_decoder()) if len(inputs) == 2 else [model.model]
        )
    }
    assert embedded.keys().isdisjoint(inputs)
    with torch.no_grad():
        assert torch.equal(model(**embedded).logits, model(**inputs).logits)


@every_layout
@every_language_model
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradient_checkpointing_changes_neither_loss_nor_gradients(model_class, layout, use_reentrant):
    inputs = inputs_for(model_class)
    labels = inputs.pop("decoder_input_ids", inputs["input_ids"])
    losses, gradients = [], []
    for checkpointing in (False, True):
        model = tiny_model(model_class, **layout).train()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": use_reentrant})
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert_close(*losses)
    assert [name for name, gradient in gradients[0].items() if gradient is None] == []
    assert_close(gradients[1], gradients[0])


@every_layout
@pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])
def test_packed_texts_equal_separate_ones(layout, attn_implementation):
    """Positions that start again part the texts, where there is neither a mask nor a cache."""
    model = tiny_model(AtentaDecoderForCausalLM, attn_implementation=attn_implementation, **layout)
    ids = texts(1, 9)
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])
    packed = logits(model, ids, position_ids=positions, use_cache=False)
    assert_close(packed, torch.cat([logits(model, ids[:, :4]), logits(model, ids[:, 4:])], dim=1))


@every_layout
@every_language_model
def test_position_ids_that_are_given_equal_those_that_are_counted(model_class, layout):
    model, (ids, mask) = tiny_model(model_class, **layout), pad(texts(), LENGTHS, "left")
    name = "decoder_position_ids" if model.config.is_encoder_decoder else "position_ids"
    counted = (mask.cumsum(-1) - 1).clamp(min=0)
    given = logits(model, ids, mask, **{name: counted})
    assert_close(given[mask.bool()], logits(model, ids, mask)[mask.bool()])
    elsewhere = logits(model, ids, mask, **{name: counted * 3 + 1})
    assert not torch.allclose(given, elsewhere, atol=1e-3)


@every_language_model
def test_order_is_seen_through_positions_alone(model_class):
    """Without positions a bidirectional reader would see a bag of characters."""
    model = tiny_model(model_class)
    ids = texts(1, 6)
    swapped = ids[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(logits(model, ids)[:, -1], logits(model, swapped)[:, -1], atol=1e-4)


@every_layout
def test_logits_to_keep(layout):
    model, ids = tiny_model(AtentaDecoderForCausalLM, **layout), texts()
    everything = logits(model, ids)
    assert_close(logits(model, ids, logits_to_keep=2), everything[:, -2:])
    indices = torch.tensor([0, 5])
    assert_close(logits(model, ids, logits_to_keep=indices), everything[:, indices])


@every_layout
def test_pooler_passes_over_padding_on_the_left(layout):
    model = tiny_model(AtentaEncoderForSequenceClassification, num_labels=3, **layout)
    ids = texts()
    padded, mask = pad(ids, LENGTHS, "left")
    batched = logits(model, padded, mask)
    pooled = model.model(padded, attention_mask=mask).pooler_output
    for row, length in enumerate(LENGTHS):
        assert_close(batched[row : row + 1], logits(model, ids[row : row + 1, :length]))
        assert_close(pooled[row], model.model(ids[row : row + 1, :length]).pooler_output[0])


@every_layout
@pytest.mark.parametrize(("side", "masked"), [("left", True), ("right", True), ("right", False)])
def test_the_decoder_classifies_by_the_last_real_token(layout, side, masked):
    """It is found from the mask, or without one from the padding ids at the end."""
    model = tiny_model(AtentaDecoderForSequenceClassification, num_labels=3, **layout)
    ids = texts()
    padded, mask = pad(ids, LENGTHS, side)
    batched = logits(model, padded, mask if masked else None)
    for row, length in enumerate(LENGTHS):
        assert_close(batched[row : row + 1], logits(model, ids[row : row + 1, :length]))


@every_layout
@pytest.mark.parametrize("model_class", named(ENCODERS))
def test_every_encoder_ignores_what_stands_on_padding(model_class, layout):
    model = tiny_model(model_class, **layout)
    padded, mask = pad(texts(), LENGTHS, "right")
    other = torch.where(mask.bool(), padded, texts(seed=9))
    with torch.no_grad():
        outputs = [model(ids, attention_mask=mask).to_tuple() for ids in (padded, other)]
    for one, two in zip(*outputs):
        real = mask.bool() if one.shape[:2] == mask.shape else slice(None)
        assert_close(one[real], two[real])


# Greedy and beam output, exactly.

# No token comes twice: a model with random weights would soon repeat one, whatever stands before it.
GENERATION = {
    "max_new_tokens": 8,
    "min_new_tokens": 8,
    "use_cache": True,
    "no_repeat_ngram_size": 1,
    "suppress_tokens": [0],
}


def generate(model, ids, mask=None, **options):
    options = GENERATION | options
    if options.get("cache_implementation") == "static":
        options["disable_compile"] = True  # the same arithmetic, without minutes of compilation
    new = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids) if mask is None else mask, **options)
    return new if model.config.is_encoder_decoder else new[:, ids.shape[1] :]


@pytest.fixture(params=[1, 3], ids=["greedy", "beam"])
def num_beams(request):
    return request.param


@every_layout
@every_generator
def test_generation_is_the_same_with_every_cache(model_class, layout, num_beams):
    model, (ids, mask) = tiny_model(model_class, **layout), pad(texts(), LENGTHS, "left")
    expected = generate(model, ids, mask, num_beams=num_beams, use_cache=False)
    assert len({tuple(row) for row in expected.tolist()}) == 3
    assert torch.equal(generate(model, ids, mask, num_beams=num_beams), expected)
    static = generate(model, ids, mask, num_beams=num_beams, cache_implementation="static")
    assert torch.equal(static, expected)


@every_layout
@every_generator
def test_generation_is_the_same_padded_and_batched(model_class, layout, num_beams):
    """Padding stands on the left, or for an encoder's source on either side."""
    model, ids = tiny_model(model_class, **layout), texts()
    alone = [
        generate(model, ids[row : row + 1, :length], num_beams=num_beams)[0] for row, length in enumerate(LENGTHS)
    ]
    for side in ["left", "right"] if model.config.is_encoder_decoder else ["left"]:
        for implementation in ("eager", "sdpa"):
            model.set_attn_implementation(implementation)
            assert torch.equal(generate(model, *pad(ids, LENGTHS, side), num_beams=num_beams), torch.stack(alone))


@every_layout
@pytest.mark.parametrize("cache", [{"use_cache": False}, {}, {"cache_implementation": "static"}], ids=str)
def test_prompts_of_the_target_may_be_padded_on_the_left(layout, num_beams, cache):
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, **layout)
    source, prompts = texts(3, 7, seed=3), texts(3, 4, seed=5)
    padded, mask = pad(prompts, [4, 2, 1], "left")
    batched = generate(
        model, source, num_beams=num_beams, decoder_input_ids=padded, decoder_attention_mask=mask, **cache
    )
    for row, length in enumerate([4, 2, 1]):
        alone = generate(
            model,
            source[row : row + 1],
            num_beams=num_beams,
            decoder_input_ids=prompts[row : row + 1, :length],
            decoder_attention_mask=torch.ones(1, length, dtype=torch.long),
            **cache,
        )
        assert torch.equal(batched[row, 4:], alone[0, length:])


@every_layout
def test_generation_is_the_same_from_embeddings_and_from_chunks(layout):
    model, (ids, mask) = tiny_model(AtentaDecoderForCausalLM, **layout), pad(texts(), LENGTHS, "left")
    options = GENERATION | {"no_repeat_ngram_size": 0}  # the prompt's characters are not seen in its embeddings
    expected = generate(model, ids, mask, **options)
    embedded = model.generate(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=mask, **options)
    assert torch.equal(embedded, expected)
    assert torch.equal(generate(model, ids, mask, prefill_chunk_size=4, **options), expected)


@every_layout
def test_generation_goes_on_from_a_cache(layout):
    model, (ids, mask) = tiny_model(AtentaDecoderForCausalLM, **layout), pad(texts(), LENGTHS, "left")
    expected = generate(model, ids, mask)
    options = GENERATION | {"max_new_tokens": 3, "min_new_tokens": 3, "return_dict_in_generate": True}
    first = model.generate(input_ids=ids, attention_mask=mask, **options)
    rest = model.generate(
        input_ids=first.sequences,
        attention_mask=torch.cat([mask, mask.new_ones(3, 3)], dim=1),
        past_key_values=first.past_key_values,
        **(GENERATION | {"max_new_tokens": 5, "min_new_tokens": 5}),
    )
    assert torch.equal(rest[:, 9:], expected)
