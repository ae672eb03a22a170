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
@tied_or_not
@pytest.mark.parametrize("size", [50, 30])
def test_resizing_keeps_the_scores_of_old_ids(model_class, tie_word_embeddings, size):
    """The output layer has a row and a bias for every token (document 3, corrected): without `<eos>` no text ends."""
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


@torch.no_grad()
def test_segments_change_the_output_of_a_model_that_has_them():
    model, ids = double_model(AtentaEncoderModel), texts()
    first, second = torch.zeros_like(ids), torch.zeros_like(ids)
    second[:, 5:] = 1
    plain = model(ids).last_hidden_state
    assert_equal(model(ids, token_type_ids=first).last_hidden_state, plain)
    assert not torch.allclose(model(ids, token_type_ids=second).last_hidden_state, plain, atol=1e-3)
    without = tiny_model(AtentaEncoderModel, type_vocab_size=0)
    assert without(ids).last_hidden_state.shape == (3, 9, 32)
    with pytest.raises(ValueError, match="type_vocab_size=0"):
        without(ids, token_type_ids=first)


def test_embeddings_of_padding_stay_zero():
    model = tiny_model(AtentaEncoderModel)
    assert (model.embeddings.embed_tokens.weight[0] == 0).all()
    ids = texts()
    ids[:, -1] = 0
    model(ids).last_hidden_state.sum().backward()
    assert (model.embeddings.embed_tokens.weight.grad[0] == 0).all()
