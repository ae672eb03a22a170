"""Token embeddings and segments: tying, saving and resizing."""

import pytest
import torch
from safetensors import safe_open

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
    AtentaEncoderModel,
)
from support.models import assert_equal, double_model, inputs_for, named, texts, tiny_model

WITH_OUTPUT_LAYER = (
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
)
every_output_layer = pytest.mark.parametrize("model_class", named(WITH_OUTPUT_LAYER))
tied_or_not = pytest.mark.parametrize("tie_word_embeddings", [False, True], ids=["untied", "tied"])


def matrices(model):
    """Return every matrix with one row per token."""
    tables = {"input": model.get_input_embeddings().weight, "output": model.get_output_embeddings().weight}
    if model.config.is_encoder_decoder:
        tables["decoder's input"] = model.get_decoder().embeddings.embed_tokens.weight
    return tables


@torch.no_grad()
def scores(model, inputs):
    outputs = model(**inputs)
    return outputs.prediction_logits if isinstance(model, AtentaEncoderForPreTraining) else outputs.logits


@every_output_layer
@tied_or_not
def test_tied_embeddings_are_one_tensor_saved_once(model_class, tie_word_embeddings, tmp_path):
    model = double_model(model_class, tie_word_embeddings=tie_word_embeddings)
    tables = matrices(model)
    assert len({id(table) for table in tables.values()}) == (1 if tie_word_embeddings else len(tables))

    model.save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as saved:
        shapes = [saved.get_slice(name).get_shape() for name in saved.keys()]  # noqa: SIM118 (not a dictionary)
    assert shapes.count([40, 32]) == (1 if tie_word_embeddings else len(tables))

    loaded = model_class.from_pretrained(tmp_path)
    assert len({id(table) for table in matrices(loaded).values()}) == (1 if tie_word_embeddings else len(tables))
    inputs = inputs_for(model_class)
    assert_equal(scores(loaded, inputs), scores(model, inputs))


@every_output_layer
def test_the_output_layer_has_a_row_and_a_bias_for_every_token(model_class):
    """Document 3, corrected: without logits for `<eos>` no text could end."""
    layer = tiny_model(model_class).get_output_embeddings()
    assert layer.weight.shape == (40, 32)
    assert layer.bias.shape == (40,)


@every_output_layer
@tied_or_not
@pytest.mark.parametrize("size", [50, 30])
def test_resizing_keeps_the_scores_of_old_ids(model_class, tie_word_embeddings, size):
    model = double_model(model_class, tie_word_embeddings=tie_word_embeddings)
    inputs = {name: ids % 27 + 3 for name, ids in inputs_for(model_class).items()}  # below 30
    before = scores(model, inputs)
    tensors = len({id(table) for table in matrices(model).values()})

    model.resize_token_embeddings(size)
    assert model.config.vocab_size == size
    assert {tuple(table.shape) for table in matrices(model).values()} == {(size, 32)}
    assert len({id(table) for table in matrices(model).values()}) == tensors
    assert model.get_output_embeddings().bias.shape == (size,)
    after = scores(model, inputs)
    assert after.shape[-1] == size
    kept = min(size, 40)
    assert_equal(after[..., :kept], before[..., :kept])


def test_resizing_keeps_frozen_embeddings_frozen():
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration)
    for side in (model.get_encoder(), model.get_decoder()):
        side.embeddings.embed_tokens.requires_grad_(False)
    model.resize_token_embeddings(50)
    for side in (model.get_encoder(), model.get_decoder()):
        assert not side.embeddings.embed_tokens.weight.requires_grad


def test_segments_change_the_output():
    model, ids = double_model(AtentaEncoderModel), texts()
    second = torch.zeros_like(ids)
    second[:, 5:] = 1
    with torch.no_grad():
        plain = model(ids).last_hidden_state
        assert_equal(model(ids, token_type_ids=torch.zeros_like(ids)).last_hidden_state, plain)
        assert not torch.allclose(model(ids, token_type_ids=second).last_hidden_state, plain, atol=1e-3)


def test_a_model_without_segments_refuses_them():
    model, ids = tiny_model(AtentaEncoderModel, type_vocab_size=0), texts()
    assert model.embeddings.embed_segments is None
    assert model(ids).last_hidden_state.shape == (3, 9, 32)
    with pytest.raises(ValueError, match="type_vocab_size=0"):
        model(ids, token_type_ids=torch.zeros_like(ids))


def test_embeddings_of_padding_stay_zero():
    model = tiny_model(AtentaEncoderModel)
    assert (model.embeddings.embed_tokens.weight[0] == 0).all()
    ids = texts()
    ids[:, -1] = 0
    model(ids).last_hidden_state.sum().backward()
    assert (model.embeddings.embed_tokens.weight.grad[0] == 0).all()
