"""Options of `atenta predict`, given or saved: their effect in both engines, and which are refused."""

import shutil
from typing import get_args

import pytest
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderModel,
    load_engine,
)
from atenta.engines.choice import ChosenEngine
from atenta.engines.onnx_export import export_onnx
from atenta.restoration.portuguese import MODEL_FOLDER
from support.command import refusal, run
from support.exported import save_lively
from support.saved import edit_json, save_pairs, save_with_tokenizer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ser", "--files", __file__], "found texts and --files; expected one of them"),
        (["--files", "nowhere.txt"], "nowhere.txt: found no such file"),
        (["ser", "--resume"], "--resume needs the --output"),
        (["ser", "--batch_size", "0"], "batch_size"),
        (
            ["ser", "--format", "text", "--num_beams", "2", "--num_return_sequences", "2"],
            "--format text has one result",
        ),
        (["ser", "--engine", "torch", "--quantization", "int8"], "--quantization int8, which torch does not run"),
        (["ser", "--engine", "onnx", "--ensemble", "b"], "--engine onnx, which torch does not run, and --ensemble"),
        (["ser", "--quantization", "int8", "--device", "cpu"], "and --device: give one"),
    ],
)
def test_unclear_options_are_refused_before_the_model_is_loaded(arguments, message):
    assert message in refusal("predict", "nowhere", *arguments, code=2)


@pytest.mark.parametrize("engine", get_args(ChosenEngine))
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--do_sample", "--top_p", "2"], "top_p is 2.0; expected a number from 0 to 1"),
        (["--do_sample", "--num_beams", "2"], "do_sample=True with num_beams=2"),
        (["--temperature", ".5"], "temperature=0.5 has no effect without sampling"),
        (["--num_return_sequences", "3"], "num_return_sequences=3"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)
def test_options_of_generation_are_refused_whatever_the_engine(folders, engine, arguments, message):
    assert message in refusal("predict", folders[0], "ser", "--engine", engine, *arguments)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Folders of an encoder-decoder with ONNX files, and of a decoder."""
    folder = tmp_path_factory.mktemp("exported")
    save_lively(AtentaEncoderDecoderForConditionalGeneration, folder / "pairs", encoder_layers=1, decoder_layers=1)
    save_lively(AtentaDecoderForCausalLM, folder / "decoder", num_hidden_layers=1)
    export_onnx(folder / "pairs")
    return folder


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *(("pairs", "length_penalty", value) for value in (1e308, -3)),
        ("pairs", "num_beams", 0),
        ("decoder", "temperature", 1e-45),
        *(("pairs", name, 7) for name in ("decoder_start_token_id", "pad_token_id")),
        *(("decoder", "eos_token_id", value) for value in (99_999, [2, 99_999], [])),
    ],
    ids=str,
)
def test_saved_options_are_refused_at_every_door(exported, tmp_path, kind, name, value):
    folder = shutil.copytree(exported / kind, tmp_path / "model")
    edit_json(folder / "generation_config.json", **{name: value})
    auto_class = AutoModelForSeq2SeqLM if kind == "pairs" else AutoModelForCausalLM
    lines = [refusal("predict", folder, "abc", "--engine", engine) for engine in get_args(ChosenEngine)]
    for door in (load_engine, auto_class.from_pretrained):
        with pytest.raises(ValueError, match=name) as refused:
            door(folder)
        lines.append(str(refused.value))
    assert {*lines} == {lines[0]}
    assert lines[0].startswith(f"{folder / 'generation_config.json'}: {name} is {value}; expected")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eos_token_id": None},
        {"max_length": None, "max_new_tokens": None},
        {"eos_token_id": [2, *range(262, 268)], "num_beams": 2},
        {"length_penalty": -2, "num_beams": 3},
        {"length_penalty": 10, "num_beams": 3},
    ],
    ids=str,
)
def test_saved_options_have_the_same_effect_in_both_engines(exported, tmp_path, options):
    folder = shutil.copytree(exported / "pairs", tmp_path / "model")
    edit_json(folder / "generation_config.json", **{"max_length": 40, **options})
    texts = ("abc", "cabeça", "a e o.")
    by_torch, by_onnx = (run("predict", folder, *texts, "--engine", name).stdout for name in ("torch", "onnx"))
    assert by_torch == by_onnx
    assert all(by_torch.splitlines())
    if "max_length" in options:
        assert max(map(len, by_torch.splitlines())) > 21  # what `generate` writes by default


def test_the_model_may_sample_by_itself(tmp_path):
    folder = save_pairs(tmp_path, 1)
    edit_json(folder / "generation_config.json", do_sample=True)
    run("predict", folder, "ser", "--temperature", ".5")
    assert "do_sample=True with num_beams=2" in refusal("predict", folder, "ser", "--num_beams", 2)


@pytest.mark.parametrize("name", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(folders, name):
    for command in (("predict", "nowhere", "a"), ("evaluate", folders[0], "--test_file", __file__)):
        assert refusal(*command, "--device", name).startswith(f"--device {name} cannot be used; expected cpu")


def test_what_does_not_fit_the_model_is_refused(folders, tmp_path):
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path / "labels", num_labels=2)
    assert "--keep_letters is not for such a model" in refusal("predict", tmp_path / "labels", "a", "--keep_letters")
    assert "an option of generation is not for such" in refusal("predict", tmp_path / "labels", "a", "--num_beams", 2)
    save_with_tokenizer(AtentaEncoderForQuestionAnswering, tmp_path / "questions")
    for option in (("--engine", "onnx"), ("--quantization", "int8")):
        assert option[0] in refusal("predict", tmp_path / "questions", "{}", *option)
    assert "--device is not for such a model" in refusal("predict", MODEL_FOLDER, "a", "--device", "cpu")
    for model_class in (AtentaEncoderModel, AtentaEncoderDecoderModel, AtentaEncoderForNextSentencePrediction):
        save_with_tokenizer(model_class, tmp_path / model_class.__name__)
        refused = refusal("predict", tmp_path / model_class.__name__, "a")
        assert f"is {model_class.__name__}, of the kind " in refused
        assert ", which has no answer " in refused
    assert "Found tag 'SG'" in refusal("predict", folders[0], "ser\tSG")
    assert "no model.onnx" in refusal("predict", folders[0], "ser", "--engine", "onnx")
    damaged = shutil.copytree(folders[0], tmp_path / "damaged")
    (damaged / "config.json").write_text("{", encoding="utf-8")
    assert "config.json is damaged" in refusal("predict", damaged, "a")
    other = save_pairs(tmp_path / "other", 1, alphabet='abcdefimrsuw "')
    assert "id of the token" in refusal("predict", folders[0], "ser", "--ensemble", other)
