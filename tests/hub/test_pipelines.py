"""transformers' pipelines load saved models by task name."""

import pytest
from transformers import pipeline
from transformers.testing_utils import CaptureLogger
from transformers.utils.logging import get_logger

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderModel,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
    character_span,
)
from support.models import named
from support.saved import save_with_tokenizer

PROMPT = "Era uma vez, em São João d'El-Rei, uma"


@pytest.fixture
def load(tmp_path):
    """Save a tiny model and load a pipeline from it; transformers must not log anything meanwhile."""

    def load_pipeline(task, model_class, **options):
        save_with_tokenizer(model_class, tmp_path, **options)
        with CaptureLogger(get_logger("transformers")) as log:
            loaded = pipeline(task, model=str(tmp_path))
        assert "not supported" not in log.out
        assert log.out.replace("Device set to use cpu", "").strip() == ""
        return loaded

    return load_pipeline


every_causal_model = pytest.mark.parametrize(
    "model_class", named([AtentaDecoderForCausalLM, AtentaPairVotesForCausalLM])
)


@every_causal_model
def test_text_generation_continues_a_portuguese_prompt(load, model_class):
    generate = load("text-generation", model_class)
    text = generate(PROMPT, max_new_tokens=12, do_sample=False, eos_token_id=None)[0]["generated_text"]
    assert text.startswith(PROMPT)
    assert len(text) > len(PROMPT)


@every_causal_model
def test_text_generation_in_a_batch_is_as_one_by_one(load, model_class):
    generate = load("text-generation", model_class)
    prompts = [PROMPT, "Ó", "Não há de quê"]
    together = generate(prompts, max_new_tokens=8, do_sample=False, batch_size=3)
    assert together == [generate(prompt, max_new_tokens=8, do_sample=False) for prompt in prompts]


def test_fill_mask(load):
    fill = load("fill-mask", AtentaEncoderForMaskedLM)
    predictions = fill("Bom d<mask>a", top_k=7)
    assert len(predictions) == 7
    for prediction in predictions:
        if len(prediction["token_str"]) == 1 and prediction["token_str"].strip():
            assert prediction["sequence"] == f"Bom d{prediction['token_str']}a"
    scores = [prediction["score"] for prediction in predictions]
    assert scores == sorted(scores, reverse=True)


def test_text_classification(load):
    classify = load("text-classification", AtentaEncoderForSequenceClassification, num_labels=3)
    scores = classify("Gostei muito deste livro.", top_k=None)
    assert {score["label"] for score in scores} == {"LABEL_0", "LABEL_1", "LABEL_2"}
    assert sum(score["score"] for score in scores) == pytest.approx(1, abs=1e-5)


def test_token_classification_has_exact_spans(load):
    tag = load("token-classification", AtentaEncoderForTokenClassification, num_labels=2)
    text = "Vi o José em Belém."
    characters = tag(text)
    assert "".join(text[each["start"] : each["end"]] for each in characters) == text
    assert [each["start"] for each in characters] == list(range(len(text)))


def test_spans_of_emoji_and_of_decomposed_letters_are_those_of_the_text_given(load):
    """The pipeline leaves out the marks that NFC composes with a letter; `character_span` adds them."""
    tag = load("token-classification", AtentaEncoderForTokenClassification, num_labels=2)
    text = "Vi o Jose\u0301 👩🏽‍🚀 em Bele\u0301m, a\u0323\u0301"
    given = [(each["start"], each["end"]) for each in tag(text)]
    assert all(start < end <= len(text) for start, end in given)
    spans = dict.fromkeys(character_span(text, [span], 0, 0) for span in given)
    assert "".join(text[start:end] for start, end in spans) == text


@pytest.mark.parametrize("strategy", ["first", "average", "max"])
def test_strategies_of_token_classification_give_each_word_one_label(load, strategy):
    tag = load("token-classification", AtentaEncoderForTokenClassification, num_labels=2)
    text = "Vi o José em Belém."
    spans = [(each["start"], each["end"]) for each in tag(text, aggregation_strategy=strategy)]
    starts = {0, *(place for place, sign in enumerate(text) if sign in " .")}  # of words, with the space before them
    assert "".join(text[slice(*span)] for span in spans) == text
    assert {start for start, _ in spans} <= starts
    assert {end for _, end in spans} <= starts | {len(text)}


@pytest.mark.parametrize(
    ("model_class", "special"), [(AtentaEncoderModel, ["<bos>", "<eos>"]), (AtentaEncoderDecoderModel, ["<eos>"])]
)
def test_feature_extraction(load, model_class, special):
    extract = load("feature-extraction", model_class)
    vectors = extract("Olá")[0]
    assert len(vectors) == len("Olá") + len(special)
    assert {len(vector) for vector in vectors} == {32}
