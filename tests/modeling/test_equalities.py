"""Changes that must leave the output as it is: caches, padding, batching, kernels, checkpointing, packing, chunks."""

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache, StaticCache

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
)
from support.models import (
    ENCODERS,
    GENERATORS,
    LANGUAGE_MODELS,
    all_layouts,
    assert_equal,
    double_model,
    every_layout,
    inputs_for,
    named,
    pad,
    texts,
)

LENGTHS = [9, 5, 2]

every_language_model = pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
every_generator = pytest.mark.parametrize("model_class", named(GENERATORS))
both_sides = pytest.mark.parametrize("side", ["left", "right"])
both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])


@torch.no_grad()
def logits(model, ids, mask=None, source=None, source_mask=None, **options):
    """Return the logits of a text, which is the target for an encoder-decoder."""
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


@all_layouts
@every_generator
@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("steps", [[1] * 9, [4, 3, 2]], ids=["one by one", "in chunks"])
def test_cached_equals_uncached(model_class, layout, kind, steps):
    model, ids = double_model(model_class, **layout), texts()
    expected = logits(model, ids, use_cache=False)
    cache = empty_cache(model, kind, ids.shape[1])
    parts = [logits(model, part, past_key_values=cache) for part in ids.split(steps, dim=1)]
    assert_equal(torch.cat(parts, dim=1), expected)


@every_layout
@every_generator
@pytest.mark.parametrize("kind", ["dynamic", "static"])
@both_sides
@both_implementations
def test_cached_equals_uncached_with_padding(model_class, layout, kind, side, attn_implementation):
    """The mask covers the past, and positions continue from the tokens counted there."""
    model = double_model(model_class, attn_implementation=attn_implementation, **layout)
    ids, mask = pad(texts(), LENGTHS, side)
    expected = logits(model, ids, mask, use_cache=False)
    cache = empty_cache(model, kind, ids.shape[1])
    for end in range(3, 10, 3):
        step = slice(end - 3, end)
        actual = logits(model, ids[:, step], mask[:, :end], past_key_values=cache)
        real = mask[:, step].bool()
        assert_equal(actual[real], expected[:, step][real])


@every_layout
@every_language_model
@both_sides
@both_implementations
def test_padded_in_a_batch_equals_unpadded_alone(model_class, layout, side, attn_implementation):
    model = double_model(model_class, attn_implementation=attn_implementation, **layout)
    ids, source = texts(), texts(3, 7, seed=3)
    padded, mask = pad(ids, LENGTHS, side)
    padded_source, source_mask = pad(source, [3, 7, 1], side)
    batched = logits(model, padded, mask, padded_source, source_mask)
    for row, (length, source_length) in enumerate(zip(LENGTHS, [3, 7, 1])):
        alone = logits(model, ids[row : row + 1, :length], source=source[row : row + 1, :source_length])
        assert_equal(batched[row, mask[row].bool()], alone[0])


@every_layout
@every_language_model
def test_batched_equals_one_by_one(model_class, layout):
    model, ids, source = double_model(model_class, **layout), texts(), texts(3, 7, seed=3)
    alone = [logits(model, ids[row : row + 1], source=source[row : row + 1]) for row in range(len(ids))]
    assert_equal(logits(model, ids, source=source), torch.cat(alone))


@every_layout
@every_language_model
@both_sides
def test_eager_equals_sdpa(model_class, layout, side):
    ids, mask = pad(texts(), LENGTHS, side)
    eager, sdpa = (
        logits(double_model(model_class, attn_implementation=implementation, **layout), ids, mask)[mask.bool()]
        for implementation in ("eager", "sdpa")
    )
    assert_equal(eager, sdpa.to(eager.dtype))


@every_layout
@every_language_model
def test_inputs_embeds_equal_input_ids(model_class, layout):
    model, inputs = double_model(model_class, **layout), inputs_for(model_class)
    embedded = {
        name.replace("input_ids", "inputs_embeds"): side.embeddings.embed_tokens(inputs[name])
        for name, side in zip(
            inputs, (model.get_encoder(), model.get_decoder()) if len(inputs) == 2 else [model.model]
        )
    }
    assert embedded.keys().isdisjoint(inputs)
    with torch.no_grad():
        assert_equal(model(**embedded).logits, model(**inputs).logits)


@every_layout
@every_language_model
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradient_checkpointing_changes_neither_loss_nor_gradients(model_class, layout, use_reentrant):
    inputs = inputs_for(model_class)
    labels = inputs.pop("decoder_input_ids", inputs["input_ids"])
    losses, gradients = [], []
    for checkpointing in (False, True):
        model = double_model(model_class, **layout).train()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": use_reentrant})
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert_equal(*losses)
    assert [name for name, gradient in gradients[0].items() if gradient is None] == []
    assert_equal(*gradients)


@every_layout
@both_implementations
@pytest.mark.parametrize("use_cache", [False, True])
def test_packed_texts_equal_separate_ones(layout, attn_implementation, use_cache):
    """If neither a mask nor a cache is given, a text begins wherever positions start again."""
    model = double_model(AtentaDecoderForCausalLM, attn_implementation=attn_implementation, **layout)
    ids = texts(1, 9)
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])
    packed = logits(model, ids, position_ids=positions, use_cache=use_cache)
    assert_equal(packed, torch.cat([logits(model, ids[:, :4]), logits(model, ids[:, 4:])], dim=1))


@every_layout
@every_language_model
def test_given_position_ids_equal_counted_ones(model_class, layout):
    model, (ids, mask) = double_model(model_class, **layout), pad(texts(), LENGTHS, "left")
    name = "decoder_position_ids" if model.config.is_encoder_decoder else "position_ids"
    counted = (mask.cumsum(-1) - 1).clamp(min=0)
    given = logits(model, ids, mask, **{name: counted})
    assert_equal(given[mask.bool()], logits(model, ids, mask)[mask.bool()])
    others = logits(model, ids, mask, **{name: counted * 3 + 1})
    assert not torch.allclose(given, others, atol=1e-3)


@every_language_model
def test_order_is_seen_through_positions_alone(model_class):
    """Without positions, attention to both sides would see a set of characters."""
    model = double_model(model_class)
    ids = texts(1, 6)
    swapped = ids[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(logits(model, ids)[:, -1], logits(model, swapped)[:, -1], atol=1e-4)


@every_layout
def test_logits_to_keep(layout):
    model, ids = double_model(AtentaDecoderForCausalLM, **layout), texts()
    everything = logits(model, ids)
    assert_equal(logits(model, ids, logits_to_keep=2), everything[:, -2:])
    indices = torch.tensor([0, 5])
    assert_equal(logits(model, ids, logits_to_keep=indices), everything[:, indices])


@every_layout
def test_pooler_skips_padding_on_the_left(layout):
    model = double_model(AtentaEncoderForSequenceClassification, num_labels=3, **layout)
    ids = texts()
    padded, mask = pad(ids, LENGTHS, "left")
    batched = logits(model, padded, mask)
    pooled = model.model(padded, attention_mask=mask).pooler_output
    for row, length in enumerate(LENGTHS):
        assert_equal(batched[row : row + 1], logits(model, ids[row : row + 1, :length]))
        assert_equal(pooled[row], model.model(ids[row : row + 1, :length]).pooler_output[0])


@every_layout
@pytest.mark.parametrize(("side", "masked"), [("left", True), ("right", True), ("right", False)])
def test_the_decoder_classifies_by_the_last_real_token(layout, side, masked):
    """The last token is found from the mask, or without a mask from the padding ids at the end."""
    model = double_model(AtentaDecoderForSequenceClassification, num_labels=3, **layout)
    ids = texts()
    padded, mask = pad(ids, LENGTHS, side)
    batched = logits(model, padded, mask if masked else None)
    for row, length in enumerate(LENGTHS):
        assert_equal(batched[row : row + 1], logits(model, ids[row : row + 1, :length]))


@every_layout
@pytest.mark.parametrize("model_class", named(ENCODERS))
def test_encoders_ignore_ids_on_padding(model_class, layout):
    model = double_model(model_class, **layout)
    padded, mask = pad(texts(), LENGTHS, "right")
    other = torch.where(mask.bool(), padded, texts(seed=9))
    with torch.no_grad():
        outputs = [model(ids, attention_mask=mask).to_tuple() for ids in (padded, other)]
    for one, two in zip(*outputs):
        real = mask.bool() if one.shape[:2] == mask.shape else slice(None)
        assert_equal(one[real], two[real])


# Equal tokens from greedy decoding and beam search.

# No token is produced twice, because a model with random weights would soon repeat one whatever precedes it.
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
        options["disable_compile"] = True  # the same arithmetic without minutes of compilation
    new = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids) if mask is None else mask, **options)
    return new if model.config.is_encoder_decoder else new[:, ids.shape[1] :]


@pytest.fixture(params=[1, 3], ids=["greedy", "beam"])
def num_beams(request):
    return request.param


@every_layout
@every_generator
def test_generation_is_the_same_with_every_cache(model_class, layout, num_beams):
    model, (ids, mask) = double_model(model_class, **layout), pad(texts(), LENGTHS, "left")
    expected = generate(model, ids, mask, num_beams=num_beams, use_cache=False)
    assert len({tuple(row) for row in expected.tolist()}) == 3
    assert torch.equal(generate(model, ids, mask, num_beams=num_beams), expected)
    static = generate(model, ids, mask, num_beams=num_beams, cache_implementation="static")
    assert torch.equal(static, expected)


@every_layout
@every_generator
def test_generation_is_the_same_padded_and_batched(model_class, layout, num_beams):
    """Padding is on the left, or on either side of an encoder's source."""
    model, ids = double_model(model_class, **layout), texts()
    alone = [
        generate(model, ids[row : row + 1, :length], num_beams=num_beams)[0] for row, length in enumerate(LENGTHS)
    ]
    for side in ["left", "right"] if model.config.is_encoder_decoder else ["left"]:
        assert torch.equal(generate(model, *pad(ids, LENGTHS, side), num_beams=num_beams), torch.stack(alone))


@every_layout
@pytest.mark.parametrize("cache", [{"use_cache": False}, {}, {"cache_implementation": "static"}], ids=str)
def test_prompts_of_the_target_may_be_padded_on_the_left(layout, num_beams, cache):
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, **layout)
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
    model, (ids, mask) = double_model(AtentaDecoderForCausalLM, **layout), pad(texts(), LENGTHS, "left")
    options = GENERATION | {"no_repeat_ngram_size": 0}  # the prompt's characters cannot be read from its embeddings
    expected = generate(model, ids, mask, **options)
    embedded = model.generate(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=mask, **options)
    assert torch.equal(embedded, expected)
    assert torch.equal(generate(model, ids, mask, prefill_chunk_size=4, **options), expected)


@every_layout
def test_generation_continues_from_a_cache(layout):
    model, (ids, mask) = double_model(AtentaDecoderForCausalLM, **layout), pad(texts(), LENGTHS, "left")
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
