"""`atenta predict`: every kind of model, lines in and lines out, and what is pointed out."""

import csv
import io
import json
from typing import get_args
from unicodedata import normalize

import pytest
import torch
from transformers import ByT5Tokenizer, T5Config, T5ForConditionalGeneration, pipeline

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    load_engine,
    restore_accents,
)
from atenta.command import served_models, text_lines
from atenta.command.problems import Problems
from atenta.command.served_models import PredictOptions, name_engine
from atenta.engines.choice import ChosenEngine
from atenta.engines.onnx_export import export_onnx
from atenta.phonemization.portuguese_words import PHONES_FOLDER
from atenta.restoration.portuguese import MODEL_FOLDER
from support.command import refusal, run, write_text
from support.saved import save_pairs, save_with_tokenizer

SOURCES = ["ser\tPL", "ver", 'um "dia"']


def rows(printed):
    found = list(csv.reader(io.StringIO(printed), delimiter="\t"))
    assert found[0] == ["text", "output", "score"]
    return [(source, text, float(score)) for source, text, score in found[1:]]


def test_several_outputs_with_source_and_score(folders):
    options = {"num_beams": 4, "num_return_sequences": 3, "return_scores": True}
    expected = pipeline("text2text-generation", str(folders[0]), device="cpu")(SOURCES, **options)
    found = rows(run("predict", folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 3).stdout)
    assert [row[0] for row in found] == [source for source in SOURCES for _ in range(3)]
    flat = [each for ranked in expected for each in ranked]
    assert [row[1] for row in found] == [each["generated_text"] for each in flat]
    assert [row[2] for row in found] == pytest.approx([each["score"] for each in flat], abs=1e-6)


def test_an_ensemble(folders):
    asked = ("predict", folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2)
    alone = run(*asked).stdout
    same, other = (run(*asked, "--ensemble", folder).stdout for folder in folders)
    assert other != alone
    assert [row[:2] for row in rows(same)] == [row[:2] for row in rows(alone)]


def test_an_ensemble_is_scored_by_its_outputs(folders, tmp_path):
    output = run("predict", folders[0], "ser", "ver", "--ensemble", folders[1]).stdout.splitlines()
    pairs = [f"{source}\t{target}" for source, target in zip(("ser", "ver"), [output[0] or "-", "errado"])]
    pairs = write_text(tmp_path / "pairs.tsv", "\n".join(pairs))
    given = ("--test_file", pairs, "--metrics", "exact_match", "--output", tmp_path / "scores.json")
    run("evaluate", folders[0], "--ensemble", folders[1], *given)
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["test"]["model"]
    assert scores["exact_match"] == (0.5 if output[0] else 0.0)


def test_letters_are_kept_on_request(folders):
    assert run("predict", folders[0], "ser", "vê", "--keep_letters").stdout == "ser\nvê\n"


def test_warnings_are_lines_and_those_of_many_are_counted(folders, tmp_path):
    printed = run("predict", folders[0], "z日ser")
    assert "warning: 'z日ser': training did not have 'z', '日', which the model may get wrong\n" in printed.stderr
    assert len(printed.stdout.splitlines()) == 1
    path = write_text(tmp_path / "lines.txt", "z日ser\n" * 600)
    warned = run("predict", folders[0], "--files", path).stderr.splitlines()
    assert sum("training did not have" in line for line in warned) == 2
    assert "in all, 600 lines have characters that training did not have" in warned[-1]


def test_the_engine_that_answers_is_named(tmp_path):
    folder = tmp_path / "model"
    save_with_tokenizer(AtentaEncoderForTokenClassification, folder, num_hidden_layers=1)
    assert name_engine(PredictOptions(str(folder))) == f"torch, with {folder}"
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").touch()  # it is named, not opened
    assert name_engine(PredictOptions(str(folder))) == f"onnxruntime, with {folder / 'onnx' / 'model.onnx'}"
    assert name_engine(PredictOptions(str(folder), engine="torch")) == f"torch, with {folder}"


@pytest.mark.parametrize("engine", get_args(ChosenEngine))
def test_targets_after_a_tab_are_pointed_out(tmp_path, engine):
    """Once for each file, by a model without tags."""
    options = {"encoder_layers": 1, "decoder_layers": 1, "initializer_range": 0.5}
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path, **options)
    if engine == "onnx":
        export_onnx(tmp_path)
    path = write_text(tmp_path / "pairs.tsv", "acao\tação\nnao\tnão\n")
    found = run("predict", tmp_path, "--files", path, "--engine", engine, "--max_new_tokens", 2)
    assert found.stderr.count(f"warning: {path}: ") == found.stderr.count("cut -f1") == 1


@pytest.mark.parametrize("head", [AtentaEncoderForSequenceClassification, AtentaEncoderForTokenClassification])
def test_rows_of_a_table_are_pointed_out(head, tmp_path):
    """Once for each file, by a model that labels or tags texts."""
    save_with_tokenizer(head, tmp_path, num_hidden_layers=1)
    path = write_text(tmp_path / "rows.tsv", "text\tlabel\numa casa\tnome\n")
    assert run("predict", tmp_path, "--files", path).stderr.count(f"warning: {path}: tabs are read") == 1


def test_targets_between_sources_and_tags_are_pointed_out(capsys):
    fields = {"text": "ser\tsou\tV;1;SG", "where": "targets_between.tsv, line 1"}
    assert text_lines.part_tags(fields, has_tags=True) == ("ser\tsou", ["V", "1", "SG"])
    assert "targets_between.tsv" in (printed := capsys.readouterr().err)
    assert "cut -f1,3" in printed


@pytest.mark.parametrize("options", [{}, {"window_length": 9, "length_ratios": [1.0, 1.0]}], ids=["whole", "windows"])
def test_an_engine_has_the_warnings_of_the_pipeline(tmp_path, capsys, options):
    """The first of each kind and how many there are, also where lines are equal; none for blanks that stay."""
    folder = save_pairs(tmp_path, 1, **options)
    texts = ["z日ser", 'um "dia"', "ver", "", "z日ser", "  ver  ser ", "ver ser ver ser", " \t"]
    printed = run("predict", folder, *texts).stderr.splitlines()
    lines = [line for line in printed if line.startswith("warning: ") and "found no tags" not in line]
    assert sum("z日ser" in line for line in lines) >= 1
    assert "2 lines have characters that training did not have" in lines[-1]
    engine = load_engine(folder, "torch")
    capsys.readouterr()  # bars of the model that was saved
    problems = Problems()
    served_models._warn(engine, texts, engine.search_windows(texts), False, problems)
    problems.report()
    assert capsys.readouterr().err.splitlines() == lines


def test_a_model_of_others(tmp_path):
    sizes = {"vocab_size": 384, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    torch.manual_seed(0)
    T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)).save_pretrained(tmp_path)
    ByT5Tokenizer().save_pretrained(tmp_path)
    options = {"num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 5}
    expected = pipeline("text2text-generation", str(tmp_path), device="cpu")(["a", "ção"], **options)
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    printed = run("predict", tmp_path, "a", "ção", *arguments, "--format", "jsonl").stdout
    for line, ranked in zip(printed.splitlines(), expected, strict=True):
        assert [each["text"] for each in json.loads(line)["outputs"]] == [each["generated_text"] for each in ranked]
    for unfit in (["--engine", "onnx"], ["--quantization", "int8"], ["--keep_letters"], ["--min_confidence", "0.9"]):
        assert f"T5ForConditionalGeneration; {unfit[0]} is not for" in refusal("predict", tmp_path, "a", *unfit)
    alone, of_two = (
        run("predict", tmp_path, "a\tb", "--max_new_tokens", 5, *others) for others in ([], ["--ensemble", tmp_path])
    )
    assert alone.stdout == of_two.stdout
    assert "was trained with" not in of_two.stderr  # tags, or other characters


def test_texts_without_the_tags_of_training_are_pointed_out_once(folders, tmp_path):
    """A tab alone says that a text has none."""
    bare, tagged = (
        write_text(tmp_path / name, text) for name, text in (("a", "ser\nver\n"), ("b", "ser\tPL\nver\t\n"))
    )
    warned = run("predict", folders[0], "--files", bare, "--files", tagged).stderr.splitlines()
    assert [line for line in warned if "tags" in line] == [line for line in warned if f"{bare}: found no tags" in line]
    assert sum("tags" in line for line in warned) == 1


@pytest.mark.parametrize(
    ("saved", "read", "shown"), [({}, "{}", "{}"), ({"separator": "\n"}, "{}\n", ""), ({"prompts": True}, "{}\n", "")]
)
def test_a_decoder_continues_texts_or_answers_prompts(tmp_path, saved, read, shown):
    """If it was trained on prompts, what parted them from answers is saved with it."""
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path, task_specific_params={"text-generation": saved})
    prompts = ["Era", "Um"]
    expected = load_engine(tmp_path, "torch").generate(list(map(read.format, prompts)), max_new_tokens=5)
    printed = run("predict", tmp_path, *prompts, "--max_new_tokens", 5, "--format", "jsonl").stdout
    assert [json.loads(line)["outputs"][0]["text"] for line in printed.splitlines()] == [
        shown.format(prompt) + text for prompt, text in zip(prompts, expected)
    ]


def test_labels_are_those_of_transformers_pipeline(tmp_path):
    names = {"id2label": {0: "por", 1: "ita", 2: "fra"}, "label2id": {"por": 0, "ita": 1, "fra": 2}}
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path, **names)
    texts = [{"text": "casa", "text_pair": pair} for pair in ("città", None, "rua")]
    path = write_text(tmp_path / "pairs.jsonl", "".join(json.dumps(each) + "\n" for each in texts))
    classify = pipeline("text-classification", str(tmp_path), device="cpu")
    printed = run("predict", tmp_path, "--json_lines", "--files", path, "--format", "jsonl").stdout
    for line, text in zip(printed.splitlines(), texts, strict=True):
        expected = classify(text)
        assert json.loads(line)["label"] == expected["label"]
        assert json.loads(line)["probabilities"][expected["label"]] == pytest.approx(expected["score"], abs=1e-5)
    assert run("predict", tmp_path, "casa").stdout.strip() == classify("casa")[0]["label"]


@pytest.mark.parametrize(
    "options",
    [{"problem_type": "multi_label_classification"}, {"id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}}],
)
def test_a_classifier_that_does_not_choose_one_label_is_refused(tmp_path, options):
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path, **options)
    assert "expected one that gives a text one of several labels" in refusal("predict", tmp_path, "casa")


def test_letters_that_a_tagger_of_letters_lacks_are_warned_of():
    whole = run("predict", PHONES_FOLDER, "casa\tbr")
    assert not whole.stderr
    less = run("predict", PHONES_FOLDER, "Casa\tbr")
    assert "training did not have 'C', which is left out" in less.stderr
    assert less.stdout != whole.stdout
    composed, decomposed = (run("predict", PHONES_FOLDER, f"{normalize(form, 'não')}\tbr") for form in ("NFC", "NFD"))
    assert composed.stdout == decomposed.stdout
    assert "expected at most" in refusal("predict", PHONES_FOLDER, "a" * 200 + "\tbr")


def test_tags_have_a_line_for_each_word(tmp_path):
    names = {"id2label": {0: "O", 1: "B-LOC"}, "label2id": {"O": 0, "B-LOC": 1}}
    save_with_tokenizer(AtentaEncoderForTokenClassification, tmp_path, **names)
    text = "em São  Paulo 日本 ."
    (found,) = map(json.loads, run("predict", tmp_path, text, "--format", "jsonl").stdout.splitlines())
    assert found["words"] == text.split()
    lines = "".join(f"{word}\t{tag}\n" for word, tag in zip(found["words"], found["tags"], strict=True))
    assert run("predict", tmp_path, text, "").stdout == f"{lines}\n\n"


def test_characters_are_restored(tmp_path):
    text = "A acao comecou amanha, nao e?"
    assert run("predict", MODEL_FOLDER, text).stdout == restore_accents(text) + "\n"
    assert run("predict", MODEL_FOLDER, text, "--min_confidence", 1.0).stdout == text + "\n"
    (found,) = map(json.loads, run("predict", MODEL_FOLDER, text, "--format", "jsonl").stdout.splitlines())
    assert len(found["probabilities"]) == len(found["restored"])


def test_masks_are_filled_in(tmp_path):
    save_with_tokenizer(AtentaEncoderForMaskedLM, tmp_path)
    (best,) = pipeline("fill-mask", str(tmp_path), device="cpu")("Bom d<mask>a", top_k=1)
    (found,) = map(json.loads, run("predict", tmp_path, "Bom d<mask>a", "--format", "jsonl").stdout.splitlines())
    assert found["filled"] == best["sequence"]


def test_questions_are_json_lines(tmp_path):
    save_with_tokenizer(AtentaEncoderForQuestionAnswering, tmp_path)
    row = {"question": "Onde?", "context": "Nasceu no Rio de Janeiro.", "id": 7}
    path = write_text(tmp_path / "questions.jsonl", json.dumps(row) + "\n")
    expected = pipeline("question-answering", str(tmp_path), device="cpu")(question="Onde?", context=row["context"])
    printed = run("predict", tmp_path, "--files", path, "--format", "jsonl").stdout
    assert json.loads(printed) == row | expected
    assert "expected an object with 'context'" in refusal("predict", tmp_path, '{"question": "a"}')
