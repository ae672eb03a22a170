"""Models of transformers' own classes compared with the models of this package that they were made of."""

import pytest
import torch

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaDecoderModel,
    AtentaEncoderConfig,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
)
from atenta.engines.torch_models import named_outputs
from atenta.engines.transformers_homes import home_of, to_home
from support.models import ALL_LAYOUTS, DECODERS, ENCODERS, double_model, layout_name, pad, texts, tiny_config

SINUSOIDAL_POST, SINUSOIDAL, LEARNED_POST, LEARNED, ROTARY_POST, ROTARY = ALL_LAYOUTS
PAIRS = AtentaEncoderDecoderForConditionalGeneration
# All rows of the table in docs/en/without_torch.md.
ROWS = [
    *[(each, ROTARY, each.__name__.replace("AtentaDecoder", "GPTNeoX")) for each in DECODERS],
    *[
        (each, layout, each.__name__.replace("AtentaDecoder", "OPT"))
        for each in DECODERS
        for layout in (SINUSOIDAL_POST, SINUSOIDAL, LEARNED_POST, LEARNED)
    ],
    (AtentaEncoderForMaskedLM, ROTARY, "EuroBertForMaskedLM"),
    (AtentaEncoderForTokenClassification, ROTARY, "EuroBertForTokenClassification"),
    (AtentaEncoderModel, ROTARY, "EsmModel"),
    (AtentaEncoderForSequenceClassification, ROTARY, "EsmForSequenceClassification"),
    *[
        (each, layout, each.__name__.replace("AtentaEncoder", "MegatronBert"))
        for each in ENCODERS
        for layout in (SINUSOIDAL, LEARNED)
    ],
    (PAIRS, SINUSOIDAL_POST, "MarianMTModel"),
    (PAIRS, SINUSOIDAL, "PegasusForConditionalGeneration"),
    (PAIRS, LEARNED, "PegasusForConditionalGeneration"),
]
NORMALIZED_TWICE = ("MegatronBertForMaskedLM", "MegatronBertForPreTraining")
OTHERS = {"attention_bias": True, "scale_embedding": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
OTHER_OPTIONS = [
    (AtentaDecoderForCausalLM, ROTARY | OTHERS | {"position_embedding_theta": 500.0, "layer_norm_eps": 1e-3}),
    (AtentaDecoderForCausalLM, LEARNED_POST | OTHERS),
    (AtentaEncoderForMaskedLM, ROTARY | OTHERS | {"position_embedding_theta": 500.0, "layer_norm_eps": 1e-3}),
    (AtentaEncoderForTokenClassification, ROTARY | OTHERS | {"head_dim": 6, "hidden_act": "tanh"}),
    (AtentaEncoderModel, ROTARY | OTHERS | {"type_vocab_size": 0, "layer_norm_eps": 1e-3}),
    (AtentaEncoderForMaskedLM, LEARNED | OTHERS | {"type_vocab_size": 0}),
    (PAIRS, SINUSOIDAL_POST | OTHERS),
    (PAIRS, SINUSOIDAL | OTHERS | {"position_embedding_theta": 500.0}),
]


@torch.no_grad()
def assert_same(model, made):
    """Compare the outputs at all real tokens of a padded batch, with two segments if the class has them."""
    side = "left" if model.config.model_type == "atenta_decoder" else "right"
    input_ids, attention_mask = pad(texts(4, 9), (9, 4, 1, 6), side)
    inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = texts(4, 7, seed=2)
    elif getattr(made.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = torch.randint(0, 2, input_ids.shape)
    expected, found = named_outputs(model(**inputs)), named_outputs(made(**inputs))
    names = [name for name in expected if name.endswith(("logits", "_state", "pooler_output"))]
    names = [name for name in names if not name.startswith("encoder_")]  # whose dimensions Marian has in another order
    assert names
    # In float64, of which some classes compute angles, norms or a steep GELU in float32.
    tolerance = 1e-4 if type(made).__name__ in NORMALIZED_TWICE else 1e-6
    for name in names:
        real = attention_mask.bool() if expected[name].shape[:2] == input_ids.shape else ...
        torch.testing.assert_close(found[name][real], expected[name][real], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(
    ("model_class", "layout", "home"), [pytest.param(*row, id=f"{row[2]}-{layout_name(row[1])}") for row in ROWS]
)
def test_a_home_computes_the_same(model_class, layout, home):
    model = double_model(model_class, **layout)
    made = to_home(model)
    assert type(made).__name__ == home
    assert not made.training
    assert_same(model, made)


@pytest.mark.parametrize(("model_class", "options"), OTHER_OPTIONS)
def test_other_options_have_homes_too(model_class, options):
    model = double_model(model_class, **options)
    assert_same(model, to_home(model))


def test_nothing_in_a_home_is_random():
    for model_class, layout in ((AtentaEncoderModel, ROTARY), (PAIRS, SINUSOIDAL)):
        first, second = (to_home(double_model(model_class, **layout)).state_dict() for _ in range(2))
        assert all(torch.equal(first[name], second[name]) for name in first)


RESTORER = {"character_variants": {"a": "aá"}, "id2label": {0: "a", 1: "á"}, "window_length": 9}
HOMELESS = [
    (AtentaEncoderForTokenClassification, ROTARY | {"ngram_sizes": [2, 3]}, ["ngram_sizes=[2, 3]", "null"]),
    (AtentaEncoderForQuestionAnswering, LEARNED | {"shared_ngram_sizes": [3]}, ["shared_ngram_sizes=[3]", "null"]),
    (AtentaEncoderModel, ROTARY | {"conv_kernel_size": 3}, ["conv_kernel_size=3", "null"]),
    (AtentaEncoderForTokenClassification, ROTARY | {"downsampling_rate": 2}, ["downsampling_rate=2", "null"]),
    (AtentaEncoderForTokenClassification, ROTARY | RESTORER, ["character_variants={'a': 'aá'}", "null"]),
    (PAIRS, SINUSOIDAL | {"tag_token_ids": [5]}, ["tag_token_ids=[5]", "null"]),
    (PAIRS, SINUSOIDAL | {"conv_kernel_size": 3}, ["conv_kernel_size=3", "null"]),
    (PAIRS, ROTARY, ["position_embedding_type='rotary'", "'sinusoidal' or 'learned'"]),
    (PAIRS, ROTARY_POST, ["position_embedding_type='rotary'", "'sinusoidal', or 'learned' with norm_first=True"]),
    (PAIRS, LEARNED_POST, ["position_embedding_type='learned'", "'sinusoidal', or 'learned' with norm_first=True"]),
    (PAIRS, SINUSOIDAL_POST | {"position_embedding_theta": 500.0}, ["position_embedding_theta=500.0", "10000"]),
    (AtentaEncoderForMaskedLM, LEARNED_POST, ["norm_first=False", "True"]),
    (AtentaDecoderForCausalLM, ROTARY_POST, ["norm_first=False", "True"]),
    (AtentaDecoderModel, LEARNED | {"layer_norm_eps": 1e-6}, ["layer_norm_eps=1e-06", "1e-5"]),
    (AtentaDecoderForSequenceClassification, LEARNED | {"head_dim": 6}, ["head_dim=6", "4 heads in hidden_size=32"]),
    (AtentaEncoderForQuestionAnswering, ROTARY, ["rotary", "QuestionAnswering", "other positions"]),
    (AtentaEncoderForPreTraining, ROTARY, ["rotary", "PreTraining", "other positions or the head MaskedLM"]),
    (AtentaEncoderModel, ROTARY | {"hidden_act": "silu"}, ["hidden_act='silu'", "'gelu' or 'relu'"]),
    (AtentaEncoderModel, ROTARY | {"position_embedding_theta": 500.0}, ["position_embedding_theta=500.0", "10000"]),
    (AtentaEncoderForMaskedLM, LEARNED | {"hidden_act": "tanh"}, ["hidden_act='tanh'", "'gelu' or 'relu'"]),
]


@pytest.mark.parametrize(("model_class", "options", "named"), HOMELESS)
def test_what_has_no_home_is_named_with_what_would_have_one(model_class, options, named):
    config = tiny_config(model_class.config_class, **options)
    with pytest.raises(ValueError, match=model_class.__name__) as refused:
        home_of(config, model_class.__name__)
    assert [each for each in named if each not in str(refused.value)] == []
    assert str(refused.value).count("; ") == 0


def test_all_that_has_no_home_is_named_at_once():
    config = tiny_config(AtentaEncoderConfig, **LEARNED_POST, ngram_sizes=[2], conv_kernel_size=3)
    with pytest.raises(ValueError, match=r"ngram_sizes=\[2\].*; .*conv_kernel_size=3.*; .*norm_first=False"):
        home_of(config, "AtentaEncoderModel")


def test_a_classifier_of_pairs_keeps_its_segments():
    """A class of rotary positions has none; one of added positions does."""
    saved = {"task_specific_params": {"text-classification": {"text_pairs": True}}}
    name = "AtentaEncoderForSequenceClassification"
    with pytest.raises(ValueError, match="pairs of texts"):
        home_of(tiny_config(AtentaEncoderConfig, **ROTARY, **saved), name)
    found = home_of(tiny_config(AtentaEncoderConfig, **LEARNED, **saved), name)
    assert found == "MegatronBertForSequenceClassification"
