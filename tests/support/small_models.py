"""A small saved model of each kind, what asks it for an answer, and rows to score it on, for the fuzz tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForPreTraining,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    AtentaPairVotesForCausalLM,
    Spellings,
)
from atenta.engines.onnx_export import export_onnx
from support.exported import save_head, save_lively
from support.saved import save_with_tokenizer
from support.taggers import BASES, make_restorer

_QUESTION = {"question": "ce", "context": "a ceo b"}
_ANSWER = {**_QUESTION, "id": "1", "answers": {"text": ["ceo"], "answer_start": [2]}}
_SIZES = {"hidden_size": 16, "intermediate_size": 24}


class SmallModel(NamedTuple):
    """The making and the use of a kind of model.

    Attributes:
        save: saves it in a folder.
        auto_class: the class of transformers that loads it.
        task: its pipeline.
        text: what it is asked, on the command line.
        rows: what it is scored on: the name and the content of a file; `None` if it has no scores.
        onnx: whether it is exported.
    """

    save: Callable[[Path], Any]
    auto_class: str
    task: str | None
    text: str
    rows: tuple[str, str] | None
    onnx: bool = False


def _head(model_class: Any, auto_class: str, task: str | None, text: str, rows: Any, **more: Any) -> SmallModel:
    options = {} if model_class is AtentaEncoderForTokenClassification else {"num_attention_heads": 2}
    if auto_class == "AutoModelForSequenceClassification" and "Encoder" in model_class.__name__:
        options["type_vocab_size"] = 2  # which the pipeline of transformers needs
    return SmallModel(
        lambda folder: save_head(model_class, folder, **_SIZES, **options), auto_class, task, text, rows, **more
    )


def _save_tagger_of_characters(folder: Path) -> None:
    spellings = Spellings(BASES, {"acao": ("ação",), "esta": ("está", "esta")})
    make_restorer(spellings=spellings, num_hidden_layers=1, **_SIZES).save_pretrained(folder)


_LABELS = ("test.tsv", "abc\tLABEL_0\nceo\tLABEL_1\n")
_TAGS = ("test.conll", "abc LABEL_0\nce LABEL_1\n\nceo LABEL_2\n")
_GENERATOR = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
SMALL_MODELS = {
    "encoder": _head(AtentaEncoderModel, "AutoModel", "feature-extraction", "abc", None),
    "masked": _head(AtentaEncoderForMaskedLM, "AutoModelForMaskedLM", None, "a<mask>c", None),
    "pretraining": _head(AtentaEncoderForPreTraining, "AutoModelForPreTraining", None, "a<mask>c", None),
    "next_sentence": _head(
        AtentaEncoderForNextSentencePrediction, "AutoModelForNextSentencePrediction", None, "abc", None
    ),
    "labels": _head(
        AtentaEncoderForSequenceClassification,
        "AutoModelForSequenceClassification",
        "text-classification",
        "abc",
        _LABELS,
        onnx=True,
    ),
    "tags": _head(
        AtentaEncoderForTokenClassification, "AutoModelForTokenClassification", "token-classification", "abc ce", _TAGS
    ),
    "questions": _head(
        AtentaEncoderForQuestionAnswering,
        "AutoModelForQuestionAnswering",
        "question-answering",
        json.dumps(_QUESTION),
        ("test.jsonl", json.dumps(_ANSWER) + "\n"),
    ),
    "characters": SmallModel(
        _save_tagger_of_characters,
        "AutoModelForTokenClassification",
        "character-restoration",
        "esta acao e cara",
        ("test.tsv", "acao\tação\nesta\testá\n"),
        onnx=True,
    ),
    "labels_of_decoder": _head(
        AtentaDecoderForSequenceClassification,
        "AutoModelForSequenceClassification",
        "text-classification",
        "abc",
        _LABELS,
    ),
    "decoder": SmallModel(
        lambda folder: save_lively(AtentaDecoderForCausalLM, folder, num_hidden_layers=1, **_GENERATOR),
        "AutoModelForCausalLM",
        "text-generation",
        "abc",
        ("test.txt", "abc\nceo\n"),
        onnx=True,
    ),
    "pairs": SmallModel(
        lambda folder: save_lively(
            AtentaEncoderDecoderForConditionalGeneration, folder, encoder_layers=1, decoder_layers=1, **_GENERATOR
        ),
        "AutoModelForSeq2SeqLM",
        "text2text-generation",
        "abc",
        ("test.tsv", "abc\tábc\nceo\tceo\n"),
        onnx=True,
    ),
    "pair_votes": SmallModel(
        lambda folder: save_with_tokenizer(AtentaPairVotesForCausalLM, folder),
        "AutoModelForCausalLM",
        "text-generation",
        "abc",
        ("test.txt", "abc\nceo\n"),
    ),
}


def save_small_model(kind: str, folder: Path) -> None:
    """Save a model of a kind, with its ONNX files if it has some, and the file that it is scored on beside it."""
    model = SMALL_MODELS[kind]
    model.save(folder)
    if model.onnx:
        export_onnx(folder)
    if model.rows:
        name, content = model.rows
        (folder.parent / name).write_text(content, encoding="utf-8")
