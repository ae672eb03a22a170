"""`torch.export` with any number of texts of any length."""

import pytest
import torch
from torch.export import Dim, export
from transformers import DynamicCache
from transformers.integrations.executorch import register_dynamic_cache_export_support

from support.models import (
    ENCODERS,
    GENERATORS,
    GROUPS,
    LANGUAGE_MODELS,
    LAYOUTS,
    assert_equal,
    every_language_model,
    every_layout,
    every_traced_model,
    inputs_for,
    masked,
    one_block,
    texts,
)

ANY_TEXTS = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
register_dynamic_cache_export_support()
ANY_CACHE = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC}  # (batch, heads, length, head_dim)


def assert_exports(model, example, *others, **options):
    """Export a model with one input, and compare it with the model at inputs of other sizes, 1 text among them.

    Args:
        example: the tensors to export with; each may have any batch and length.
        others: tensors of other batches and other lengths.
        options: arguments that are no tensors.
    """
    shapes = dict.fromkeys(example, ANY_TEXTS) | dict.fromkeys(options)
    exported = export(model, (), {**example, **options}, dynamic_shapes=shapes).module()
    for inputs in (*others, {name: tensor[:1] for name, tensor in others[0].items()}):
        assert_equal(exported(**inputs, **options)[0], model(**inputs, **options)[0])


def assert_model_exports(model_class, with_masks, sizes=((3, 9), (4, 13)), **layout):
    model = one_block(model_class, **layout).requires_grad_(False)
    inputs = [inputs_for(model_class, *size) for size in sizes]
    options = {} if model_class in ENCODERS else {"use_cache": False}
    assert_exports(model, *(map(masked, inputs) if with_masks else inputs), **options)


@every_traced_model
def test_every_model(model_class):
    assert_model_exports(model_class, with_masks=True)


@pytest.mark.parametrize("with_masks", [False, True])
def test_groups_of_characters(with_masks):
    """At lengths that are multiples of the rate, and at others."""
    sizes = ((3, 13), (3, 16), (2, 9), (1, 31), (2, 8))
    assert_model_exports(LANGUAGE_MODELS[0], with_masks, sizes, **GROUPS, **LAYOUTS[2])


@pytest.mark.slow
@every_layout
@every_language_model
def test_every_layout_without_masks(model_class, layout):
    assert_model_exports(model_class, with_masks=False, **layout)


@pytest.mark.slow
def test_the_two_stacks_of_an_encoder_decoder():
    model = one_block(GENERATORS[1], position_embedding_type="rotary").requires_grad_(False).model
    assert_exports(model.encoder, *(masked({"input_ids": texts(*size)}) for size in ((3, 9), (4, 13))))
    inputs = []
    for batch, source_length, length in ((3, 9, 7), (4, 13, 5)):
        source = masked({"input_ids": texts(batch, source_length)})
        inputs.append(
            {
                "input_ids": texts(batch, length, seed=2),
                "encoder_hidden_states": model.encoder(**source).last_hidden_state,
                "encoder_attention_mask": source["attention_mask"],
            }
        )
    assert_exports(model.decoder, *inputs, use_cache=False)


def test_a_decoding_step_in_a_given_cache():
    """The cache is the caller's, which the model has filled with the prompt."""
    model = one_block(GENERATORS[0], position_embedding_type="rotary").requires_grad_(False)

    def step(batch, length):
        cache = DynamicCache(config=model.config)
        model(input_ids=texts(batch, length), past_key_values=cache)
        mask = torch.ones(batch, length + 1, dtype=torch.long)
        return {"input_ids": texts(batch, 1), "attention_mask": mask, "past_key_values": cache}

    shapes = {"input_ids": {0: Dim.DYNAMIC}, "attention_mask": ANY_TEXTS, "past_key_values": [[ANY_CACHE]] * 2}
    exported = export(model, (), step(3, 8), dynamic_shapes=shapes).module()
    assert_equal(exported(**step(4, 12)).logits, model(**step(4, 12)).logits)


def test_a_cache_that_an_exported_model_makes():
    model = one_block(GENERATORS[0]).requires_grad_(False)
    inputs = [inputs_for(GENERATORS[0], *size) for size in ((3, 9), (4, 13))]
    exported = export(
        model, (), {**inputs[0], "use_cache": True}, dynamic_shapes={"input_ids": ANY_TEXTS, "use_cache": None}
    )
    actual, expected = exported.module()(**inputs[1], use_cache=True), model(**inputs[1], use_cache=True)
    assert_equal(actual.logits, expected.logits)
    assert_equal(actual.past_key_values.layers[0].keys, expected.past_key_values.layers[0].keys)
