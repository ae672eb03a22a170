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
    GROUPS,
    LANGUAGE_MODELS,
    LAYOUTS,
    assert_equal,
    double_model,
    every_generator,
    every_language_model,
    every_layout,
    inputs_for,
    layout_name,
    masked,
    pad,
    texts,
)

LENGTHS = [9, 5, 2]
KINDS = [*zip(("encoder", "decoder", "encoder-decoder"), LANGUAGE_MODELS, ({},) * 3)]
KINDS += [("encoder of groups", LANGUAGE_MODELS[0], GROUPS)]

every_kind_and_layout = pytest.mark.parametrize(
    ("model_class", "options"),
    [
        pytest.param(model_class, options | layout, id=f"{kind}-{layout_name(layout)}")
        for kind, model_class, options in KINDS
        for layout in LAYOUTS
    ],
)
both_implementations = pytest.mark.parametrize("attn_implementation", ["eager", "sdpa"])


@torch.no_grad()
def logits(model, ids, mask=None, source=None, source_mask=None, **options):
    """Return the logits of texts, which are the targets of an encoder-decoder."""
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
    """Return a cache of a kind, or `None` for the one that the model makes itself."""
    if kind == "own":
        return None
    cache = DynamicCache(config=model.config) if kind == "dynamic" else StaticCache(model.config, length)
    return EncoderDecoderCache(cache, DynamicCache(config=model.config)) if model.config.is_encoder_decoder else cache


@torch.no_grad()
@every_layout
@every_generator
@pytest.mark.parametrize("kind", ["own", "dynamic", "static"])
@pytest.mark.parametrize("side", [None, "left", "right"])
@both_implementations
def test_cached_equals_uncached(model_class, layout, kind, side, attn_implementation):
    """The mask covers the past, positions go on from its tokens, and no later one is seen (document 3, corrected)."""
    model, ids = double_model(model_class, attn_implementation=attn_implementation, **layout), texts()
    mask, real, source = None, slice(None), texts(3, 7, seed=3)
    if side:
        ids, mask = pad(ids, LENGTHS, side)
        real = mask.bool()
    expected = logits(model, ids, mask, source, use_cache=False)
    cache, parts = empty_cache(model, kind, ids.shape[1]), []
    for start, end in ((0, 4), (4, 7), (7, 8), (8, 9)):
        step = {"input_ids": ids[:, start:end], "attention_mask": mask if mask is None else mask[:, :end]}
        if model.config.is_encoder_decoder:
            step = {"input_ids": source} | {f"decoder_{name}": value for name, value in step.items()}
        outputs = model(**step, past_key_values=cache, use_cache=True)
        cache = outputs.past_key_values
        parts.append(outputs.logits)
    assert_equal(torch.cat(parts, dim=1)[real], expected[real])


@every_kind_and_layout
@pytest.mark.parametrize("side", ["left", "right"])
@both_implementations
def test_padded_in_a_batch_equals_unpadded_alone(model_class, options, side, attn_implementation):
    """Whatever ids the padding has, and also if the longest text has some (documents 3 and 4 have no such mask)."""
    model = double_model(model_class, attn_implementation=attn_implementation, **options)
    ids, source, source_lengths = texts(), texts(3, 7, seed=3), [3, 7, 1]
    alone = [
        logits(model, ids[row : row + 1, :length], source=source[row : row + 1, :source_length])[0]
        for row, (length, source_length) in enumerate(zip(LENGTHS, source_lengths))
    ]
    for longest in (9, 15):
        padded, mask = pad(ids, LENGTHS, side, longest)
        padded_source, source_mask = pad(source, source_lengths, side, longest)
        padded, padded_source = (
            each.where(real.bool(), texts(3, longest, seed=9))
            for each, real in ((padded, mask), (padded_source, source_mask))
        )
        assert_equal(logits(model, padded, mask, padded_source, source_mask)[mask.bool()], torch.cat(alone))


@every_layout
@pytest.mark.parametrize(
    ("model_class", "options", "side", "masked"),
    [
        *((AtentaEncoderForSequenceClassification, {}, side, True) for side in ("left", "right")),
        *((AtentaEncoderForSequenceClassification, GROUPS, side, True) for side in ("left", "right")),
        *((AtentaDecoderForSequenceClassification, {}, side, True) for side in ("left", "right")),
        (AtentaDecoderForSequenceClassification, {}, "right", False),  # <pad> at the end counts as padding
    ],
)
def test_a_padded_text_is_classified_as_unpadded(model_class, options, layout, side, masked):
    """By the first real token of an encoder, and the last of a decoder."""
    model, ids = double_model(model_class, num_labels=3, **options, **layout), texts()
    padded, mask = pad(ids, LENGTHS, side)
    batched = logits(model, padded, mask if masked else None)
    for row, length in enumerate(LENGTHS):
        assert_equal(batched[row : row + 1], logits(model, ids[row : row + 1, :length]))


@every_kind_and_layout
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradient_checkpointing_changes_neither_loss_nor_gradients(model_class, options, use_reentrant):
    """And no weight is without a gradient. What dropout leaves out is left out again."""
    inputs = masked(inputs_for(model_class))
    labels = inputs.pop("decoder_input_ids", inputs["input_ids"])
    losses, gradients = [], []
    for checkpointing in (False, True):
        model = double_model(model_class, dropout=0.1, **options).train()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": use_reentrant})
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert_equal(*losses)
    assert [name for name, gradient in gradients[0].items() if gradient is None or not gradient.any()] == []
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
    assert_equal(logits(model, ids, mask.bool()), logits(model, ids, mask))
    others = logits(model, ids, mask, **{name: counted * 3 + 1})
    assert not torch.allclose(given, others, atol=1e-3)


@every_layout
def test_logits_to_keep(layout):
    model, ids = double_model(AtentaDecoderForCausalLM, **layout), texts()
    everything = logits(model, ids)
    assert_equal(logits(model, ids, logits_to_keep=2), everything[:, -2:])
    indices = torch.tensor([0, 5])
    assert_equal(logits(model, ids, logits_to_keep=indices), everything[:, indices])


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
