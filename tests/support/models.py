"""Tiny models of each family and inputs for them."""

from itertools import product

import pytest
import torch
from transformers import set_seed

from atenta import (
    AtentaDecoderConfig,
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderConfig,
    AtentaEncoderDecoderConfig,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaPairVotesConfig,
    AtentaPairVotesForCausalLM,
)

ENCODERS = (
    AtentaEncoderModel,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderForQuestionAnswering,
)
DECODERS = (AtentaDecoderModel, AtentaDecoderForCausalLM, AtentaDecoderForSequenceClassification)
ENCODER_DECODERS = (AtentaEncoderDecoderModel, AtentaEncoderDecoderForConditionalGeneration)
# One class of each family, with an output layer over the vocabulary.
LANGUAGE_MODELS = (AtentaEncoderForMaskedLM, AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration)
GENERATORS = (AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration)

CONFIGS = (AtentaEncoderConfig, AtentaDecoderConfig, AtentaEncoderDecoderConfig)
DEPTHS = {
    AtentaEncoderConfig: {"num_hidden_layers": 2},
    AtentaDecoderConfig: {"num_hidden_layers": 2},
    AtentaEncoderDecoderConfig: {"encoder_layers": 3, "decoder_layers": 2},  # two depths, so that a mix-up shows
}

ALL_LAYOUTS = [
    {"position_embedding_type": positions, "norm_first": norm_first}
    for positions, norm_first in product(("sinusoidal", "learned", "rotary"), (False, True))
]
# Every kind of positions and both places of LayerNorm, for tests in which the two do not meet.
LAYOUTS = [ALL_LAYOUTS[0], ALL_LAYOUTS[3], ALL_LAYOUTS[5]]
# Options of an encoder with deep blocks that read groups of characters.
GROUPS = {"downsampling_rate": 4, "downsampling_size": 24, "downsampling_heads": 2, "downsampling_layers": 2}


def layout_name(layout):
    return f"{layout['position_embedding_type']}-{'pre' if layout['norm_first'] else 'post'}_norm"


every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=layout_name)


def named(model_classes, marks=()):
    """Return the classes as parameters of a test, with their names as ids."""
    return [pytest.param(each, id=each.__name__.removeprefix("Atenta"), marks=marks) for each in model_classes]


every_model = pytest.mark.parametrize("model_class", named([*ENCODERS, *DECODERS, *ENCODER_DECODERS]))
# Those whose parts are all in others are slow: to trace a model takes seconds.
every_traced_model = pytest.mark.parametrize(
    "model_class",
    [
        *named([*ENCODERS[2:5:2], *ENCODERS[6:], *DECODERS[1:], *ENCODER_DECODERS[1:]]),
        *named([*ENCODERS[:2], *ENCODERS[3:6:2], DECODERS[0], ENCODER_DECODERS[0]], marks=pytest.mark.slow),
    ],
)
every_language_model = pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
every_generator = pytest.mark.parametrize("model_class", named(GENERATORS))


def tiny_config(config_class, **options):
    """Return a small configuration. Weights start larger than usual so that attention is not almost uniform."""
    if config_class is AtentaPairVotesConfig:
        return config_class(**({"vocab_size": 40} | options))
    sizes = {
        "vocab_size": 40,
        "hidden_size": 32,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
        "dropout": 0.0,
    }
    return config_class(**(sizes | DEPTHS[config_class] | options))


def tiny_model(model_class, seed=0, **options):
    """Return a small model in evaluation mode, with the same weights at every call.

    Biases and norms, which start at 0 and 1, get random values, so that leaving one out changes the output. Votes are
    counted on random texts.
    """
    set_seed(seed)
    model = model_class(tiny_config(model_class.config_class, **options)).eval()
    if model_class is AtentaPairVotesForCausalLM:
        return model.fit(texts(batch=50, length=20, seed=seed, vocab_size=model.config.vocab_size))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def double_model(model_class, seed=0, **options):
    """Return a [`tiny_model`] in float64, in which rounding stays far below the tolerance of [`assert_equal`]."""
    return tiny_model(model_class, seed, **options).double()


def texts(batch=3, length=9, seed=1, vocab_size=40):
    """Return (batch, length) ids of characters, none of them special."""
    return torch.randint(3, vocab_size, (batch, length), generator=torch.Generator().manual_seed(seed))


def nats_at_once(model, documents):
    """Return the sum of the library's own loss, which is a mean, of each document by itself."""
    ids = [torch.tensor([document]) for document in documents]
    return sum(model(one, labels=one).loss.item() * (one.shape[1] - 1) for one in ids)


def pad(ids, lengths, side, longest=None):
    """Cut each row to its length and fill it up with `<pad>` on one side.

    Returns:
        Ids and attention mask, both (batch, longest); by default, the longest row has no padding.
    """
    longest = longest or max(lengths)
    padded, mask = torch.zeros(len(ids), longest, dtype=torch.long), torch.zeros(len(ids), longest, dtype=torch.long)
    for row, length in enumerate(lengths):
        place = slice(longest - length, longest) if side == "left" else slice(0, length)
        padded[row, place], mask[row, place] = ids[row, :length], 1
    return padded, mask


def inputs_for(model_class, batch=3, length=9):
    """Return the inputs of a model of this class, without labels."""
    inputs = {"input_ids": texts(batch, length)}
    if model_class.config_class is AtentaEncoderDecoderConfig:
        inputs["decoder_input_ids"] = texts(batch, length - 2, seed=2)
    return inputs


def assert_close(actual, expected, tolerance=1e-5):
    """Check that tensors are equal up to `tolerance`, absolute and relative."""
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)


def assert_equal(actual, expected):
    """Check that tensors, or dictionaries of tensors, are equal up to rounding: 1e-9 in float64, 1e-5 in float32."""
    first = next(iter(actual.values())) if isinstance(actual, dict) else actual
    assert_close(actual, expected, {torch.float64: 1e-9, torch.float32: 1e-5}[first.dtype])


# Every option differs from its default, for a second run of the suites.
OTHER_LAYOUT = {
    "position_embedding_type": "rotary",
    "norm_first": True,
    "tie_word_embeddings": True,
    "attention_bias": True,
    "hidden_act": "gelu",
    "head_dim": 6,
}


class SuiteModelTester:
    """The sizes and inputs of a family, under the names that Hugging Face's model suites read."""

    batch_size = 5
    seq_length = 7
    hidden_size = 32
    num_hidden_layers = 2
    num_attention_heads = 4
    is_training = True

    def __init__(self, model_class, **options):
        self.causal_lm_class = model_class  # the training suite trains this one
        self.config_class = model_class.config_class
        self.options = options

    def get_config(self):
        depths = dict.fromkeys(DEPTHS[self.config_class], self.num_hidden_layers)
        return tiny_config(self.config_class, initializer_range=0.02, num_labels=3, **depths, **self.options)

    def prepare_config_and_inputs_for_common(self):
        mask = torch.ones(self.batch_size, self.seq_length, dtype=torch.long)
        mask[1:, -2:] = 0
        inputs = {"input_ids": texts(self.batch_size, self.seq_length), "attention_mask": mask}
        if self.config_class is AtentaEncoderDecoderConfig:
            inputs |= {
                "decoder_input_ids": texts(self.batch_size, self.seq_length, seed=2),
                "decoder_attention_mask": mask.clone(),
            }
        return self.get_config(), inputs


def one_block(model_class, **options):
    """Return a model with one block in each stack. Further blocks would repeat its graph."""
    depths = dict.fromkeys(DEPTHS[model_class.config_class], 1)
    return double_model(model_class, **depths, **options)


def masked(inputs):
    """Add masks with padding on the left of every text but the first."""
    for name in list(inputs):
        mask = torch.ones_like(inputs[name])
        mask[1:, :2] = 0
        inputs[name.replace("input_ids", "attention_mask")] = mask
    return inputs
