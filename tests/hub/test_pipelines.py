"""transformers' pipelines load saved models by task name."""

import json

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
from support.phones import make_letter_tagger
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


def test_a_model_of_letters_restores_nothing(tmp_path):
    make_letter_tagger().save_pretrained(tmp_path)
    assert "custom_pipelines" not in json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="does not restore characters"):
        pipeline("character-restoration", model=str(tmp_path))


every_causal_model = pytest.mark.parametrize(
    "model_class", named([AtentaDecoderForCausalLM, AtentaPairVotesForCausalLM])
)


@every_causal_model
def test_text_generation_in_a_batch_is_as_one_by_one(load, model_class):
    generate = load("text-generation", model_class)
    prompts = [PROMPT, "Ó", "Não há de quê"]
    options = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None}
    together = generate(prompts, batch_size=3, **options)
    assert together == [generate(prompt, **options) for prompt in prompts]
    for prompt, (found,) in zip(prompts, together):
        assert len(found["generated_text"].removeprefix(prompt)) == len(found["generated_text"]) - len(prompt) > 0


@pytest.mark.parametrize(
    ("task", "model_class", "text"),
    [
        ("fill-mask", AtentaEncoderForMaskedLM, "Bom d<mask>a"),
        ("text-classification", AtentaEncoderForSequenceClassification, "Gostei muito deste livro."),
    ],
)
def test_other_tasks_load_without_a_warning(load, task, model_class, text):
    scores = [each["score"] for each in load(task, model_class)(text, top_k=2)]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


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
