"""Saved models whose weights or files are not what was saved: every way to open one refuses it by name."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoModelForTokenClassification, pipeline
from typer.testing import CliRunner

import atenta
from atenta import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForTokenClassification,
    AtentaPairVotesForCausalLM,
    CharacterRestorer,
    load_engine,
)
from atenta.command.main import app
from atenta.engines.kinds import kind_of
from atenta.engines.onnx_export import export_onnx
from atenta.hub.card import make_card
from atenta.recipes.tasks.tagging import TaggingTask
from support.saved import edit_json, save_with_tokenizer
from support.small_models import SMALL_MODELS
from support.taggers import make_restorer

TEXT = "A acao comecou"


def command(*arguments):
    """Run the command, and raise what it was stopped with."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def evaluate(folder, *options):
    test_file = folder.parent / "test.tsv"
    test_file.write_text("acao\tação\n", encoding="utf-8")
    return command("evaluate", folder, "--test_file", test_file, *(options or ("--engine", "torch")))


def test_a_pipe_among_the_files_is_refused(tmp_path):
    """It would be waited for without end."""
    save_with_tokenizer(AtentaEncoderForMaskedLM, tmp_path)
    os.mkfifo(tmp_path / "model-2.safetensors")
    with pytest.raises(ValueError, match=r"model-2\.safetensors is neither a file nor a folder"):
        load_engine(tmp_path, "torch")


TEXT_DOORS: dict[str, Callable[[Path], object]] = {
    "predict": lambda folder: command("predict", folder, TEXT, "--engine", "torch"),
    "ensemble": lambda folder: command(
        *("predict", folder.parent / "good", TEXT, "--engine", "torch", "--ensemble", folder)
    ),
    "evaluate": evaluate,
    "export": lambda folder: command("export", folder),
    "load_engine": lambda folder: load_engine(folder, "torch"),
    "from_pretrained": AutoModelForSeq2SeqLM.from_pretrained,
    "pipeline": lambda folder: pipeline("text2text-generation", str(folder)),
    "show": lambda folder: command("show", "positions", "--model", folder, "--output_dir", folder.parent / "pictures"),
}
CHARACTER_DOORS: dict[str, Callable[[Path], object]] = {
    "predict": lambda folder: command("predict", folder, TEXT, "--engine", "torch"),
    "restore": lambda folder: command("restore", "--model", folder, TEXT),
    "evaluate": evaluate,
    "load_engine": lambda folder: load_engine(folder, "torch"),
    "restorer": lambda folder: CharacterRestorer.from_pretrained(folder, engine="torch"),
    "from_pretrained": AutoModelForTokenClassification.from_pretrained,
    "pipeline": lambda folder: pipeline("character-restoration", str(folder)),
}
DOORS = [
    *(pytest.param("texts", door, id=f"texts-{name}") for name, door in TEXT_DOORS.items()),
    *(pytest.param("characters", door, id=f"characters-{name}") for name, door in CHARACTER_DOORS.items()),
]
OF_TRANSFORMERS = [doors[name] for doors in (TEXT_DOORS, CHARACTER_DOORS) for name in ("from_pretrained", "pipeline")]
NOTHING = torch.zeros(2)
OUTPUT_LAYER = {"texts": "lm_head.weight", "characters": "classifier.weight"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    one_block = {"encoder_layers": 1, "decoder_layers": 1, "initializer_range": 0.5}
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, folder / "texts", **one_block)
    SMALL_MODELS["characters"].save(folder / "characters")
    return folder


@pytest.fixture
def folder_of(saved, tmp_path):
    """Return a function that copies a saved model of a kind, beside a good one."""

    def copy(kind: str) -> Path:
        shutil.copytree(saved / kind, tmp_path / "good")
        return shutil.copytree(saved / kind, tmp_path / "model")

    return copy


def rewrite(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, {"format": "pt"})


def as_pickle(folder, name):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def with_nan(weights, name):
    weights[name].view(-1)[3] = torch.nan


DAMAGES = {
    "missing": lambda folder, name: rewrite(folder, lambda weights: weights.pop(name)),
    r"another\.weight": lambda folder, name: rewrite(
        folder, lambda weights: weights.update({"another.weight": NOTHING})
    ),
    "not finite": lambda folder, name: rewrite(folder, lambda weights: with_nan(weights, name)),
    r"pytorch_model\.bin, a pickle.*save_file": as_pickle,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("kind", "door"), DOORS)
def test_weights_that_are_not_those_of_the_model_are_named(folder_of, kind, door, damage):
    is_of_transformers = door in OF_TRANSFORMERS
    if is_of_transformers and "pickle" in damage:
        pytest.skip("transformers has its own words for a pickle")
    folder, name = folder_of(kind), OUTPUT_LAYER[kind]
    DAMAGES[damage](folder, name)
    with pytest.raises(
        (SystemExit, ValueError), match=name if damage in ("missing", "not finite") else damage
    ) as refused:
        door(folder)
    assert is_of_transformers or "\n" not in str(refused.value)  # its pipeline adds its traceback
    assert not (folder / "onnx").exists()


def test_a_type_that_does_not_fit_the_weights_is_refused(folder_of):
    folder = folder_of("texts")
    edit_json(folder / "config.json", model_type="t5")
    with pytest.raises(SystemExit, match=r"lack decoder\.block"):
        command("predict", folder, TEXT)


def test_a_new_head_on_a_saved_encoder_is_no_missing_weight(tmp_path):
    save_with_tokenizer(AtentaEncoderForMaskedLM, tmp_path)
    AutoModelForTokenClassification.from_pretrained(tmp_path)
    rewrite(tmp_path, lambda weights: weights.pop("model.layers.0.self_attn.q_proj.weight"))
    with pytest.raises(ValueError, match=r"lack model\.layers\.0\.self_attn\.q_proj\.weight"):
        AutoModelForTokenClassification.from_pretrained(tmp_path)


@pytest.mark.parametrize(("kind", "quantization"), [("texts", None), ("characters", "int8")])
def test_exported_files_of_other_weights_are_refused(folder_of, kind, quantization):
    folder, option = folder_of(kind), [] if quantization is None else ["--quantization", quantization]
    export_onnx(folder, quantization)
    before = command("predict", folder, TEXT, *option)
    assert command("predict", folder, TEXT, *option) == before
    if quantization is None:
        assert evaluate(folder, "--engine", "onnx") == evaluate(folder)
    rewrite(folder, lambda weights: weights[OUTPUT_LAYER[kind]].neg_())  # trained again
    doors = [
        lambda: command("predict", folder, TEXT, *option),
        lambda: evaluate(folder, "--engine", "onnx", *option),
        lambda: load_engine(folder, quantization=quantization),
    ]
    if kind == "characters":
        doors += [
            lambda: CharacterRestorer.from_pretrained(folder),
            lambda: command("restore", TEXT, "--model", folder),
        ]
    for door in doors:
        with pytest.raises((SystemExit, ValueError), match="was not made of the weights") as refused:
            door()
        assert str(refused.value).endswith(" ".join(["atenta export", str(folder), *option]))
    command("predict", folder, TEXT, "--engine", "torch")
    rewrite(folder, lambda weights: weights[OUTPUT_LAYER[kind]].neg_())  # as they were
    assert command("predict", folder, TEXT, *option) == before


def test_int8_is_taken_where_it_is_asked_for(folder_of):
    folder = folder_of("characters")
    export_onnx(folder)
    with pytest.raises(SystemExit, match=r"model_int8\.onnx.*--quantization int8"):
        command("predict", folder, TEXT, "--quantization", "int8")
    export_onnx(folder, "int8")
    in_float, in_int8 = (
        command("predict", folder, TEXT, "--format", "jsonl", *option) for option in ([], ["--quantization", "int8"])
    )
    assert in_float != in_int8  # the probabilities


def test_links_to_elsewhere_and_adapters_are_refused(folder_of):
    folder = folder_of("characters")
    secret = folder.parent / "secret.txt"
    secret.write_text("secret\n", encoding="utf-8")
    (folder / "spellings.txt").unlink()
    (folder / "spellings.txt").symlink_to(secret)
    for door in (CHARACTER_DOORS["predict"], CHARACTER_DOORS["restore"], lambda path: command("info", path)):
        with pytest.raises(SystemExit, match=r"spellings\.txt is a link to .*secret\.txt"):
            door(folder)
    (folder / "spellings.txt").unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"adapter_config\.json"):
        atenta.load_engine(folder)


@pytest.mark.parametrize("kind", ["labels", "tags", "questions", "characters", "decoder", "pairs", "masked"])
def test_outputs_that_are_no_numbers_are_no_answers(tmp_path, kind):
    """Of weights that are finite, but so large that what is made of them is not."""
    model, folder = SMALL_MODELS[kind], tmp_path / "model"
    model.save(folder)
    rewrite(folder, lambda weights: [values.mul_(1e30) for values in weights.values()])
    engines = (
        ["torch", "onnx"] if kind in ("labels", "decoder") else ["auto"]
    )  # by one head, and by one that generates
    if "onnx" in engines:
        export_onnx(folder)
    for engine in engines:
        with pytest.raises(SystemExit, match="outputs of the model are not finite"):
            command("predict", folder, model.text, "--engine", engine)
    if kind == "pairs":
        with pytest.raises(ValueError, match="outputs of the model are not finite"):
            pipeline("text2text-generation", str(folder))(model.text)


@pytest.mark.parametrize("name", ["finetuned-letters", 3])
def test_a_kind_that_is_not_known_or_has_no_answer_for_a_line_is_refused_by_name(name, tmp_path):
    """Such a model has a head of other kinds, whose answers would be wrong."""
    save_with_tokenizer(AtentaEncoderForTokenClassification, tmp_path / "model")
    edit_json(tmp_path / "model" / "config.json", task_specific_params={"token-classification": {"kind": name}})
    for door in (CHARACTER_DOORS["predict"], evaluate, make_card):
        with pytest.raises((SystemExit, ValueError), match=f"kind of AtentaEncoderForTokenClassification is {name!r}"):
            door(tmp_path / "model")
    save_with_tokenizer(AtentaPairVotesForCausalLM, tmp_path / "votes")
    with pytest.raises((SystemExit, ValueError), match="of the kind pair-votes, which has no answer"):
        CHARACTER_DOORS["predict"](tmp_path / "votes")


def test_a_tagger_of_words_that_began_as_a_restorer_says_so(tmp_path):
    model = make_restorer().model
    model.config.task_specific_params = TaggingTask().task_specific_params
    assert kind_of(model.config.to_dict(), type(model).__name__).name == "token-classification"
