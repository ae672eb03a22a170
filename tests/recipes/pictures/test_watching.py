"""What is watched is what transformers records, and the model stays as it was."""

import copy

import pytest
import torch

from atenta import AtentaTokenizer
from atenta.modeling import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderModel,
)
from atenta.recipes.pictures.watching import watch_attention
from support.models import assert_close, named, tiny_model

TEXTS = ["casa", "o rei"]
FAMILIES = {
    AtentaEncoderModel: "encoder",
    AtentaDecoderForCausalLM: "decoder",
    AtentaEncoderDecoderForConditionalGeneration: "encoder-decoder",
}
every_family = pytest.mark.parametrize("model_class", named(FAMILIES))


def make(model_class):
    tokenizer = AtentaTokenizer.from_texts(TEXTS, family=FAMILIES.get(model_class, "encoder-decoder"))
    return tiny_model(model_class, vocab_size=len(tokenizer)), tokenizer


def recorded(model, inputs):
    """The weights that transformers records, by our names, from a copy: its hooks stay."""
    model = copy.deepcopy(model)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    if not model.config.is_encoder_decoder:
        return {"self-attention": output.attentions}
    return {
        "encoder self-attention": output.encoder_attentions,
        "decoder self-attention": output.decoder_attentions,
        "cross-attention": output.cross_attentions,
    }


@every_family
def test_the_weights_are_those_that_transformers_records(model_class):
    model, tokenizer = make(model_class)
    targets = ["rei", "casa"] if model.config.is_encoder_decoder else None
    watched = watch_attention(model, tokenizer, TEXTS, targets)
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    if targets:
        labels = tokenizer(targets, padding=True, return_tensors="pt").input_ids
        inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels)
    expected = recorded(model, inputs)
    assert [one.name for one in watched] == list(expected)
    for one in watched:
        assert_close(one.weights, torch.stack(expected[one.name], dim=1))
        assert one.weights.shape[-2:] == (one.query_ids.shape[1], one.key_ids.shape[1])
        assert not one.weights[~one.visible[:, None, None].expand_as(one.weights) & _sees(one)].any()


def _sees(one):
    """Where the query sees anything: padding before a text sees nothing, and its weights mean nothing."""
    return one.visible.any(-1)[:, None, None, :, None].expand_as(one.weights)


@every_family
def test_the_model_stays_as_it_was(model_class):
    model, tokenizer = make(model_class)
    model.train()
    hooks = {name: len(module._forward_hooks) for name, module in model.named_modules()}
    watch_attention(model, tokenizer, TEXTS)
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    assert {name: len(module._forward_hooks) for name, module in model.named_modules()} == hooks


def test_the_model_stays_as_it_was_where_reading_fails():
    model, tokenizer = make(AtentaEncoderModel)
    model.embeddings.forward = None
    with pytest.raises(TypeError):
        watch_attention(model, tokenizer, TEXTS)
    assert model.config._attn_implementation == "sdpa"
    assert not any(module._forward_hooks for module in model.modules())


def test_what_is_generated_is_read_where_no_target_is_given():
    model, tokenizer = make(AtentaEncoderDecoderForConditionalGeneration)
    model.generation_config.max_length = 7
    *_, cross = watch_attention(model, tokenizer, TEXTS[:1])
    written = model.generate(**tokenizer(TEXTS[:1], return_tensors="pt"))
    assert cross.query_ids.tolist() == written[:, :-1].tolist()
    assert cross.key_ids.tolist() == tokenizer(TEXTS[:1]).input_ids


@pytest.mark.parametrize(
    ("model_class", "targets", "message"),
    [
        (AtentaEncoderModel, ["rei", "rei"], "reads no target"),
        (AtentaEncoderDecoderForConditionalGeneration, ["rei"], r"1 target\(s\) were given for 2 text"),
        (AtentaEncoderDecoderModel, None, "cannot generate"),
    ],
    ids=["an encoder", "too few", "no output layer"],
)
def test_targets_that_do_not_fit_are_refused(model_class, targets, message):
    with pytest.raises(ValueError, match=message):
        watch_attention(*make(model_class), TEXTS, targets)


def test_a_model_without_our_attention_is_refused():
    class Other(torch.nn.Module):
        pass

    with pytest.raises(ValueError, match="Other has no attention layer of atenta"):
        watch_attention(Other(), None, TEXTS)
