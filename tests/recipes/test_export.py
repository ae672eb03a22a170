"""Tests of recipes/export.py: the files, the comparison with torch, and refusals."""

import re
import shutil
from types import SimpleNamespace

import pytest
from transformers import AutoModelForCausalLM

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
)
from atenta.engines.engine import load_engine
from atenta.engines.onnx_models import weights_digest
from atenta.recipes import export
from support.models import tiny_model
from support.recipes import write_lines
from support.saved import save_with_tokenizer
from support.taggers import make_restorer

MODELS = {"tagger": AtentaEncoderForTokenClassification, "decoder": AtentaDecoderForCausalLM}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a tiny model that generates, with learned positions, and one that does not."""
    folder = tmp_path_factory.mktemp("models")
    for name, model_class in MODELS.items():
        save_with_tokenizer(model_class, folder / name, num_hidden_layers=1, position_embedding_type="learned")
    return folder


@pytest.fixture
def run(capsys):
    """A function that runs the command, and returns the lines that it prints."""

    def run(*arguments):
        capsys.readouterr()  # the bar of a model that the test has saved
        export.main([*map(str, arguments)])
        printed = capsys.readouterr()
        assert not printed.err
        return printed.out.splitlines()

    return run


def figures(lines):
    """The table after the two lines of progress, and the decimal places of its numbers as one."""
    return [re.sub(r"[\d.]+e-\d+|\d+\.\d+", "N", " ".join(line.split())) for line in lines[2:]]


def test_a_model_that_generates_is_compared_by_its_answers(models, run):
    folder = models / "decoder"
    lines = run(folder)
    assert lines[0] == f"Exporting {folder}"
    assert re.fullmatch(r"Comparing onnxruntime with torch on 100 texts, max_new_tokens \d+", lines[1])
    assert figures(lines) == [
        "decoder_model.onnx N MB",
        "same answer 100 of 100",
        "onnxruntime, per text N ms",
        "torch, per text N ms",
    ]
    assert load_engine(folder).name == "onnx"


def test_the_texts_that_a_recipe_has_tested_are_compared(models, run, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(models / "decoder", folder, ignore=shutil.ignore_patterns("onnx"))
    write_lines(folder / "predictions.tsv", "source\tgold\toutput 1", "a casa\tA\tB", '"uma ""casa"""\tA\tB')
    assert run(folder)[1] == "Comparing onnxruntime with torch on 2 texts of predictions.tsv, max_new_tokens 40"
    assert export.own_texts(folder) == ["a casa", 'uma "casa"']
    long = "uma casa " * 20_000
    write_lines(folder / "predictions.tsv", "source\tgold", f"{long}\tA")
    assert export.own_texts(folder) == [long]
    write_lines(folder / "predictions.tsv", "source\ttags\tgold", "ser\t<V> <3> <PL>\tsão", "ser\t\tser")
    assert export.own_texts(folder) == ["ser\tV;3;PL", "ser"]


def test_the_answers_are_those_of_the_beams_and_the_length_that_a_model_is_saved_with(tmp_path, run, monkeypatch):
    options = {"encoder_layers": 1, "decoder_layers": 1, "initializer_range": 0.5}
    model = save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path, **options)
    model.generation_config.update(num_beams=3, max_length=9)
    model.save_pretrained(tmp_path)
    answers, answer = [], export._answer
    monkeypatch.setattr(export, "_answer", lambda *words: answers.append(answer(*words)) or answers[-1])
    lines = run(tmp_path, "--texts", write_lines(tmp_path / "texts.txt", "a acao", "cao"))
    assert lines[1] == "Comparing onnxruntime with torch on 2 texts, num_beams 3, max_length 9"
    assert "same answer 2 of 2" in figures(lines)
    tokenizer = AtentaTokenizer.from_pretrained(tmp_path)
    generated = model.eval().generate(**tokenizer(["a acao", "cao"], padding=True, return_tensors="pt"))
    assert answers[-1] == tokenizer.batch_decode(generated, skip_special_tokens=True)


@pytest.mark.parametrize(
    ("saved", "config", "expected"),
    [
        ({"num_beams": 4, "max_length": 30}, {"is_encoder_decoder": True}, {"num_beams": 4, "max_length": 30}),
        ({}, {"is_encoder_decoder": True}, {"max_new_tokens": 45}),
        ({"num_beams": 2, "max_length": 512}, {}, {"num_beams": 2, "max_new_tokens": 40}),  # it would never end
        ({"max_length": 512}, {"task_specific_params": {"text-generation": {"separator": "\n"}}}, {"max_length": 512}),
        (
            {"num_beams": 2, "max_length": 30},
            {"is_encoder_decoder": True, "position_embedding_type": "learned", "max_position_embeddings": 21},
            {"num_beams": 2, "max_new_tokens": 20},
        ),
    ],
)
def test_lengths_of_answers_that_are_compared(saved, config, expected):
    tokenizer = SimpleNamespace(encode=lambda texts: [[0] * len(text) for text in texts])
    engine = SimpleNamespace(can_generate=True, tokenizer=tokenizer, config=config)
    assert export.choose_search(engine, saved, ["abc", "abcde"]) == expected


def test_the_tags_of_a_text_follow_it_after_a_tab():
    read = []

    def n_best(texts, *, tags):
        read.append((texts, tags))
        return [[SimpleNamespace(text=text)] for text in texts]

    tokenizer = SimpleNamespace(tags={"V", "PL"}, encode=lambda texts: [[0] * len(text) for text in texts])
    engine = SimpleNamespace(
        can_generate=True, tokenizer=tokenizer, n_best=n_best, config={"is_encoder_decoder": True}
    )
    assert export.compare({"first": engine, "second": engine}, ["ser\tV;PL", "ir"])["same answer"].split()[0] == "2"
    assert read[-1] == (["ser", "ir"], [["V", "PL"], []])


def test_another_model_is_compared_by_its_outputs_and_files_of_other_weights_are_deleted(models, run, tmp_path):
    folder, texts = models / "tagger", write_lines(tmp_path / "texts.txt", "ação", "", "a b")
    lines = run(folder, "--quantization", "int8", "--texts", texts)
    assert lines[:2] == [f"Exporting {folder}, calibrated with 3 texts", "Comparing onnxruntime with torch on 3 texts"]
    engines = [load_engine(folder, "onnx", quantization="int8"), load_engine(folder, "torch")]
    rounded, exact = (engine.predict(["ação", "", "a b"]) for engine in engines)
    classes = [[each["logits"].argmax(-1).tolist() for each in found] for found in (rounded, exact)]
    assert figures(lines) == [
        "model_int8.onnx N MB",
        f"same answer {sum(ours == theirs for ours, theirs in zip(*classes))} of 3",
        "largest difference of logits N",
        "onnxruntime, per text N ms",
        "torch, per text N ms",
    ]
    (difference,) = (float(line.split()[-1]) for line in lines if "difference" in line)
    largest = max(abs(ours["logits"] - theirs["logits"]).max() for ours, theirs in zip(rounded, exact))
    assert difference == pytest.approx(largest, rel=0.05)
    assert difference > 1e-3

    path = folder / "onnx" / "model_int8.onnx"
    path.write_bytes(path.read_bytes().replace(weights_digest(folder).encode(), b"0" * 64))  # as of other weights
    lines = run(folder)
    assert lines[1] == "Deleted model_int8.onnx, which was made of other weights: export it again"
    assert [path.name for path in (folder / "onnx").iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("labels", [1, 2])
def test_classes_that_differ_are_counted(labels, tmp_path, monkeypatch):
    """As if one engine were sure of the other class; a score alone is no class."""
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path, num_hidden_layers=1, num_labels=labels)
    engine, other = (load_engine(tmp_path, "torch") for _ in range(2))
    predict = other.predict
    monkeypatch.setattr(other, "predict", lambda texts: [{"logits": -each["logits"]} for each in predict(texts)])
    compared = export.compare({"first": engine, "second": other}, ["a", "b"])
    assert compared.get("same answer", "").split() == (["0", "of", "2"] if labels > 1 else [])


@pytest.mark.parametrize("of_pairs", [False, True])
def test_single_texts_do_not_calibrate_a_model_of_pairs(of_pairs, tmp_path):
    saved = {"task_specific_params": {"text-classification": {"text_pairs": of_pairs}}}
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path, num_hidden_layers=1, **saved)
    found = export.calibration_inputs(tmp_path, load_engine(tmp_path, "torch"), ["a", "b"])
    assert len(found) == (0 if of_pairs else 2)


def test_a_model_of_the_hub_is_to_be_fetched_first(models, monkeypatch):
    monkeypatch.setattr(export, "find_model", lambda name: models / "tagger")  # its files in the cache of the Hub
    with pytest.raises(SystemExit, match=r"^ana/accents is on the Hub.*hf download ana/accents"):
        export.main(["ana/accents"])


def test_answers_that_differ_are_counted(models, monkeypatch):
    """As if every second answer of one engine were another."""
    engine, other = (load_engine(models / "decoder", "torch") for _ in range(2))
    find = other.n_best

    def find_others(texts, **options):
        return [[one._replace(text="?" * (at % 2) or one.text)] for at, (one,) in enumerate(find(texts, **options))]

    monkeypatch.setattr(other, "n_best", find_others)
    compared = export.compare({"first": engine, "second": other}, ["a", "b", "c", "d", "e"])
    assert compared["same answer"].split() == ["3", "of", "5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: found no such folder here"),
        (["{models}/decoder", "--texts", "{models}/empty.txt"], "empty.txt is empty; expected one text in each line"),
        (["{models}/decoder", "--texts", "{models}/latin.txt"], "latin.txt is not a text in UTF-8; expected one"),
        (["{models}/decoder", "--texts", "{models}/long.txt"], "A text has 101 tokens; expected at most the 64 posit"),
        (["{models}/bare"], "bare has no tokenizer.json; expected"),
        (["{models}/tagger", "--to", "transformers", "{models}/copy"], "found norm_first=False, expected True"),
        (["nowhere", "--to", "transformers", "{models}/copy"], "nowhere: found no such folder here"),
    ],
)
def test_refusals_are_one_line(arguments, message, models):
    (models / "empty.txt").write_bytes(b"")
    (models / "latin.txt").write_bytes("ação".encode("latin-1"))
    (models / "long.txt").write_bytes(b"a" * 100)
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(models / "bare")
    with pytest.raises(SystemExit) as stopped:
        export.main([argument.format(models=models) for argument in arguments])
    assert message in stopped.value.code
    assert "\n" not in stopped.value.code


def test_a_folder_for_transformers_is_compared_by_its_outputs(models, run, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None)  # it needs none of the packages of ONNX
    first, second, third = run(models / "decoder", "--to", "transformers", tmp_path / "copy")
    assert first == f"Exporting {models / 'decoder'}"
    assert second == f"{tmp_path / 'copy'}: OPTForCausalLM, which opens without trust_remote_code"
    name, difference = third.rsplit(maxsplit=1)
    assert name == "largest difference of logits"
    assert 0 < float(difference) < 1e-4
    assert type(AutoModelForCausalLM.from_pretrained(tmp_path / "copy")).__name__ == "OPTForCausalLM"
    with pytest.raises(SystemExit, match="copy: found a folder with files; expected a new folder"):
        export.main([str(models / "decoder"), "--to", "transformers", str(tmp_path / "copy")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "onnx", "copy"], "argument --to: found 'onnx'; expected transformers and a folder"),
        (["--to", "transformers"], "argument --to: expected 2 arguments"),
        (["--to", "transformers", "copy", "--quantization", "int8"], "--quantization and --texts are for ONNX files"),
    ],
)
def test_options_of_one_format_are_refused_with_the_other(options, message, models, capsys):
    with pytest.raises(SystemExit) as stopped:
        export.main([str(models / "decoder"), *options])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_packages_are_named(models, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None if name.startswith("onnx") else name)
    with pytest.raises(SystemExit) as stopped:
        export.main([str(models / "decoder")])
    assert stopped.value.code == 'Exporting needs onnx, onnxruntime, onnxscript: pip install "atenta[export]"'


def test_a_restorer_is_calibrated_with_what_it_reads_of_texts(run, tmp_path):
    make_restorer().save_pretrained(tmp_path / "model")
    texts = write_lines(tmp_path / "texts.txt", "acao", "a b")
    inputs = export.calibration_inputs(tmp_path / "model", load_engine(tmp_path / "model", "torch"), ["acao", "a b"])
    assert [sorted(each) for each in inputs] == 2 * [["attention_mask", "input_ids", "token_type_ids"]]
    lines = run(tmp_path / "model", "--quantization", "int8", "--texts", texts)
    assert lines[0] == f"Exporting {tmp_path / 'model'}, calibrated with 2 texts"
