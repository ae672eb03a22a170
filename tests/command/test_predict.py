"""`atenta predict`: every kind of model, lines in and lines out, formats, resuming, and what is refused."""

import csv
import io
import json
import shutil
import subprocess
import sys

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    ByT5Tokenizer,
    T5Config,
    T5ForConditionalGeneration,
    pipeline,
)
from typer.testing import CliRunner

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForNextSentencePrediction,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
    AtentaEncoderModel,
    load_engine,
    restore_accents,
)
from atenta.command import predict, predictors, text_lines
from atenta.command.main import app
from atenta.command.predictors import PredictOptions, TextPredictor, name_engine
from atenta.command.problems import Problems
from atenta.engines.onnx_export import export_onnx
from atenta.restoration.portuguese import MODEL_FOLDER
from support.exported import save_lively
from support.saved import save_pairs, save_with_tokenizer

SOURCES = ["ser\tPL", "ver", 'um "dia"']


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [save_pairs(folder / "first", 1), save_pairs(folder / "second", 2, hidden_size=24)]


def run(*arguments, code=0):
    """Run the command in this process and return its result; standard output and error are apart."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def refusal(*arguments, code=1):
    """Return the line with which the command was refused."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    line = str(result.exception) if code == 1 else " ".join(result.output.replace("│", "").split())
    assert "\n" not in line
    return line


def rows(printed):
    found = list(csv.reader(io.StringIO(printed), delimiter="\t"))
    assert found[0] == ["text", "output", "score"]
    return [(source, text, float(score)) for source, text, score in found[1:]]


def lines_of(path, text):
    path.write_bytes(text.encode())
    return path


def test_several_outputs_with_source_and_score(folders):
    options = {"num_beams": 4, "num_return_sequences": 3, "return_scores": True}
    expected = pipeline("text2text-generation", str(folders[0]), device="cpu")(SOURCES, **options)
    found = rows(run("predict", folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 3).stdout)
    assert [row[0] for row in found] == [source for source in SOURCES for _ in range(3)]
    flat = [each for ranked in expected for each in ranked]
    assert [row[1] for row in found] == [each["generated_text"] for each in flat]
    assert [row[2] for row in found] == pytest.approx([each["score"] for each in flat], abs=1e-6)


def test_json_lines_hold_any_text(folders, tmp_path):
    given = ["ser", {"text": "ver\nser\x00", "tags": "PL"}, {"text": "ser", "id": 3}]
    path = lines_of(tmp_path / "lines.jsonl", "".join(json.dumps(each) + "\n" for each in given))
    printed = run("predict", folders[0], "--files", path, "--json_lines", "--format", "jsonl").stdout
    found = [json.loads(line) for line in printed.splitlines()]
    assert [each["text"] for each in found] == ["ser", "ver\nser\x00", "ser"]
    assert found[2]["id"] == 3
    expected = pipeline("text2text-generation", str(folders[0]), device="cpu")(["ser", "ver\nser\x00\tPL", "ser"])
    assert [each["outputs"][0]["text"] for each in found] == [each["generated_text"] for each in expected]
    texts = run("predict", folders[0], "--files", path, "--json_lines").stdout
    assert [json.loads(line) for line in texts.splitlines()] == [each["generated_text"] for each in expected]


def test_each_line_gives_a_line(folders, tmp_path):
    path = lines_of(tmp_path / "lines.txt", "ser\tPL\n\nver\u2028m\x0bi\r\n\r\nser")
    printed = run("predict", folders[0], "--files", path, "--files", path).stdout_bytes.decode()
    expected = (
        run("predict", folders[0], "ser\tPL", "", "ver\u2028m\x0bi", "", "ser").stdout_bytes.decode().split("\n")
    )
    assert expected[1] == expected[3] == ""
    ends = ["\n", "\n", "\r\n", "\r\n", "\n"]
    assert printed == "".join(line + end for line, end in zip(expected, ends)) * 2


def test_a_byte_order_mark_is_no_part_of_the_first_line(folders, tmp_path):
    lines = ["ser\tPL", "\ufeffver"]
    plain, marked, empty = (tmp_path / name for name in ("plain", "marked", "empty"))
    plain.write_text("\n".join(lines), encoding="utf-8")
    marked.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    empty.write_text("\ufeff", encoding="utf-8")
    expected = run("predict", folders[0], *lines).stdout
    assert run("predict", folders[0], "--files", plain).stdout == expected
    assert run("predict", folders[0], "--files", empty, "--files", marked).stdout == expected
    (tmp_path / "json").write_text('\ufeff{"text": "ver"}\n', encoding="utf-8")
    assert len(run("predict", folders[0], "--files", tmp_path / "json", "--json_lines").stdout.splitlines()) == 1


def test_an_ensemble(folders):
    alone = run("predict", folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2).stdout
    together = run(
        "predict", folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2, "--ensemble", folders[1]
    ).stdout
    assert together != alone
    same = run(
        "predict", folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2, "--ensemble", folders[0]
    )
    assert [row[:2] for row in rows(same.stdout)] == [row[:2] for row in rows(alone)]


def test_an_ensemble_is_scored_by_its_outputs(folders, tmp_path):
    output = run("predict", folders[0], "ser", "ver", "--ensemble", folders[1]).stdout.splitlines()
    pairs = [f"{source}\t{target}" for source, target in zip(("ser", "ver"), [output[0] or "-", "errado"])]
    pairs = lines_of(tmp_path / "pairs.tsv", "\n".join(pairs))
    given = ("--test_file", pairs, "--metrics", "exact_match", "--output", tmp_path / "scores.json")
    run("evaluate", folders[0], "--ensemble", folders[1], *given)
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["test"]["model"]
    assert scores["exact_match"] == (0.5 if output[0] else 0.0)


def test_members_with_other_vocabularies_are_refused(folders, tmp_path):
    other = save_pairs(tmp_path / "other", 1, alphabet='abcdefimrsuw "')
    assert "id of the token" in refusal("predict", folders[0], "ser", "--ensemble", other)


def test_letters_are_kept_on_request(folders):
    assert run("predict", folders[0], "ser", "vê", "--keep_letters").stdout == "ser\nvê\n"


def test_warnings_are_lines(folders):
    printed = run("predict", folders[0], "z日ser")
    assert "warning: 'z日ser': training did not have 'z', '日', which the model may get wrong\n" in printed.stderr
    assert len(printed.stdout.splitlines()) == 1


def test_problems_of_many_lines_are_counted(folders, tmp_path):
    path = lines_of(tmp_path / "lines.txt", "z日ser\n" * 600)
    warned = run("predict", folders[0], "--files", path).stderr.splitlines()
    assert sum("training did not have" in line for line in warned) == 2
    assert "in all, 600 lines have characters that training did not have" in warned[-1]


def test_the_engine_that_answers_is_named(tmp_path):
    folder = tmp_path / "model"
    save_with_tokenizer(AtentaEncoderForTokenClassification, folder, num_hidden_layers=1)
    assert name_engine(PredictOptions(str(folder))) == f"torch, with {folder}"
    export_onnx(folder)
    assert name_engine(PredictOptions(str(folder))) == f"onnxruntime, with {folder / 'onnx' / 'model.onnx'}"
    assert name_engine(PredictOptions(str(folder), engine="torch")) == f"torch, with {folder}"


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_targets_after_a_tab_are_pointed_out(tmp_path, engine):
    """Once for each file, by a model without tags."""
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path, encoder_layers=1, decoder_layers=1)
    if engine == "onnx":
        export_onnx(tmp_path)
    path = lines_of(tmp_path / "pairs.tsv", "acao\tação\nnao\tnão\n")
    found = run("predict", tmp_path, "--files", path, "--engine", engine, "--max_new_tokens", 2)
    assert found.stderr.count(f"warning: {path}: ") == found.stderr.count("cut -f1") == 1


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
    predictors._warn(engine, texts, engine.search_windows(texts), False, problems)
    problems.report()
    assert capsys.readouterr().err.splitlines() == lines


@pytest.mark.parametrize(
    ("format", "chunk", "stop_after"),
    [("text", 2, 3), ("tsv", 1, 3), ("jsonl", 2, 3)],
    ids=str,
)
def test_an_interrupted_output_goes_on(folders, tmp_path, monkeypatch, format, chunk, stop_after):
    path = lines_of(tmp_path / "lines.txt", "ser\tPL\n\nver\r\nser ver\n" * 2)
    arguments = ("predict", folders[0], "--files", path, "--format", format, "--num_beams", 2)
    whole = run(*arguments).stdout_bytes
    output = tmp_path / "output"
    monkeypatch.setattr(predict, "_CHUNK", chunk)
    calls = []
    write = text_lines.LineWriter.write

    def stop(writer, text, *last):
        if len(calls) == stop_after:
            writer._file.write(text.encode()[:2])  # half a line
            raise KeyboardInterrupt
        calls.append(text)
        write(writer, text, *last)

    monkeypatch.setattr(text_lines.LineWriter, "write", stop)
    ended = CliRunner().invoke(app, [*map(str, arguments), "--output", str(output)])
    monkeypatch.setattr(text_lines.LineWriter, "write", write)
    assert ended.exit_code == 130
    assert output.with_name("output.progress").exists()
    run(*arguments, "--output", output, "--resume")
    assert output.read_bytes() == whole
    assert not output.with_name("output.progress").exists()


def test_lines_before_one_that_is_refused_are_written(folders, tmp_path):
    """Also to a file, which then goes on once the line is mended."""
    good = ["ser", "ver", '{"text": "mudar", "tags": "PL"}', "a", "b", "c"]
    lines = [line if line[0] == "{" else json.dumps(line) for line in good]
    whole = run("predict", folders[0], "--json_lines", "--files", lines_of(tmp_path / "whole", "\n".join(lines)))
    path, output = tmp_path / "lines.jsonl", tmp_path / "output"
    arguments = ("predict", folders[0], "--json_lines", "--files", path, "--output", output)
    for place, bad in ((2, '{"text": "mudar", "tags": "SG"}'), (4, "{")):
        lines_of(path, "\n".join([*lines[:place], bad, *lines[place + 1 :]]))
        assert f"lines.jsonl, line {place + 1}: " in refusal(*arguments, "--resume")
        assert output.read_bytes() == b"".join(whole.stdout_bytes.splitlines(keepends=True)[:place])
    lines_of(path, "\n".join(lines))
    run(*arguments, "--resume")
    assert output.read_bytes() == whole.stdout_bytes


def test_an_output_is_not_mixed(folders, tmp_path):
    path, output = lines_of(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    arguments = ("predict", folders[0], "--files", path, "--output", output)
    run(*arguments)
    assert f"{output} exists: remove it, or give another --output" in refusal(*arguments)
    assert "output.progress beside it: it is complete" in refusal(*arguments, "--resume")
    digest = "0" * 64
    about = {"model": str(folders[0])}
    progress = output.with_name("output.progress")
    progress.write_text(json.dumps({"about": about, "lines": 1, "digest": digest, "bytes": 1}), encoding="utf-8")
    assert f"{output} exists: give --resume to go on with it" in refusal(*arguments)
    assert "was begun with" in refusal(*arguments, "--resume")
    progress.write_text("{", encoding="utf-8")
    assert "is damaged: remove it" in refusal(*arguments, "--resume")


def test_an_output_that_cannot_be_is_refused_before_the_model_is_loaded(tmp_path):
    there = lines_of(tmp_path / "there", "")
    assert f"{there} exists" in refusal("predict", "nowhere", "a", "--output", there)
    for resume in ((), ("--resume",)):
        missing = tmp_path / "folder" / "output"
        assert "found no folder" in refusal("predict", "nowhere", "a", "--output", missing, *resume)


def test_an_output_without_results_does_not_seem_complete(folders, tmp_path, monkeypatch):
    path, output = lines_of(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    with monkeypatch.context() as patch:
        patch.setattr(TextPredictor, "predict_in_parts", failing_after(0, None))
        run("predict", folders[0], "--files", path, "--output", output, code=130)
    assert "give --resume" in refusal("predict", folders[0], "--files", path, "--output", output)
    run("predict", folders[0], "--files", path, "--output", output, "--resume")
    assert output.read_text(encoding="utf-8") == run("predict", folders[0], "--files", path).stdout
    assert not (tmp_path / "output.progress").exists()


def test_an_output_that_is_a_link_to_nothing_is_not_followed(folders, tmp_path):
    output = tmp_path / "output"
    output.symlink_to(tmp_path / "elsewhere")
    assert str(output) in refusal("predict", folders[0], "ser", "--output", output)
    assert [each.name for each in tmp_path.iterdir()] == ["output"]


def test_an_output_in_use_is_refused(folders, tmp_path, monkeypatch):
    path, output = lines_of(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    arguments = ("predict", folders[0], "--files", path, "--output", output, "--resume")
    write, found = text_lines.LineWriter.write, []

    def write_twice(writer, *written):
        if not found:
            found.append("")
            found[0] = refusal(*arguments)
        write(writer, *written)

    monkeypatch.setattr(text_lines.LineWriter, "write", write_twice)
    run(*arguments)
    assert str(output) in found[0]
    assert "in use by another process" in found[0]
    assert output.read_text(encoding="utf-8") == run("predict", folders[0], "--files", path).stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["lines.txt", "output"]


def test_other_lines_or_another_model_are_noticed_when_it_goes_on(tmp_path, monkeypatch):
    folder = save_pairs(tmp_path / "model", 1)
    path, output = lines_of(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    arguments = ("predict", folder, "--files", path, "--output", output)
    with monkeypatch.context() as patch:
        patch.setattr(predict, "_CHUNK", 1)
        patch.setattr(TextPredictor, "predict_in_parts", failing_after(1, TextPredictor.predict_in_parts))
        run(*arguments, code=130)
    lines_of(path, "sem\nver\n")
    assert "The first 1 lines are not those that the output was made from" in refusal(*arguments, "--resume")
    save_pairs(folder, 2)
    assert "was begun with files of the models=" in refusal(*arguments, "--resume")


def failing_after(count, predict):
    calls = []

    def call(predictor, fields):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(fields)
        return predict(predictor, fields)

    return call


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
    assert "runs in torch: leave out the engine" in refusal("predict", tmp_path, "a", "--engine", "onnx")
    assert "keep_letters=True needs a model of atenta" in refusal("predict", tmp_path, "a", "--keep_letters")


def test_texts_without_the_tags_of_training_are_pointed_out_once(folders, tmp_path):
    """A tab alone says that a text has none."""
    bare, tagged = (lines_of(tmp_path / name, text) for name, text in (("a", "ser\nver\n"), ("b", "ser\tPL\nver\t\n")))
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
    path = lines_of(tmp_path / "pairs.jsonl", "".join(json.dumps(each) + "\n" for each in texts))
    classify = pipeline("text-classification", str(tmp_path), device="cpu")
    printed = run("predict", tmp_path, "--json_lines", "--files", path, "--format", "jsonl").stdout
    for line, text in zip(printed.splitlines(), texts, strict=True):
        expected = classify(text)
        assert json.loads(line)["label"] == expected["label"]
        assert json.loads(line)["probabilities"][expected["label"]] == pytest.approx(expected["score"], abs=1e-5)
    assert run("predict", tmp_path, "casa").stdout.strip() == classify("casa")[0]["label"]


def short(model_class):
    """Options of a model that generates, for a short text."""
    return ("--max_new_tokens", 2) if model_class.can_generate() else ()


@pytest.mark.parametrize(
    ("model_class", "fields"),
    [
        (AtentaEncoderForTokenClassification, {"text": "a"}),
        (AtentaEncoderForQuestionAnswering, {"question": "a", "context": "b"}),
        (AtentaEncoderForSequenceClassification, {"text": "a"}),
    ],
)
def test_a_pair_for_a_model_of_single_texts_is_named(tmp_path, model_class, fields):
    single = {"task_specific_params": {"text-classification": {"text_pairs": False}}}
    save_with_tokenizer(model_class, tmp_path, **single)
    lines = [fields, {**fields, "text_pair": "rua"}]
    path = lines_of(tmp_path / "lines.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    reason = refusal("predict", tmp_path, "--json_lines", "--files", path, *short(model_class))
    assert reason.startswith(f"{path}, line 2: found the text_pair 'rua'")


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
    path = lines_of(tmp_path / "questions.jsonl", json.dumps(row) + "\n")
    expected = pipeline("question-answering", str(tmp_path), device="cpu")(question="Onde?", context=row["context"])
    printed = run("predict", tmp_path, "--files", path, "--format", "jsonl").stdout
    assert json.loads(printed) == row | expected
    assert "expected an object with 'context'" in refusal("predict", tmp_path, '{"question": "a"}')


LEARNED = {"position_embedding_type": "learned", "max_position_embeddings": 8}


@pytest.mark.parametrize(
    ("model_class", "options", "good", "bad"),
    [
        (AtentaEncoderForSequenceClassification, LEARNED, {"text": "a"}, {"text": "a" * 9}),
        (AtentaDecoderForCausalLM, LEARNED, {"text": "a"}, {"text": "a" * 9}),
        (AtentaEncoderDecoderForConditionalGeneration, LEARNED, {"text": "a"}, {"text": "a" * 9}),
        (AtentaEncoderForQuestionAnswering, {}, {"question": "a", "context": "b"}, {"question": " ", "context": "b"}),
        (
            *(AtentaEncoderForQuestionAnswering, {}),
            *({"question": "a", "context": "b"}, {"question": "a" * 500, "context": "b"}),
        ),
    ],
)
def test_a_text_that_the_model_cannot_read_is_named_by_its_line(tmp_path, model_class, options, good, bad):
    save_with_tokenizer(model_class, tmp_path, **options)
    lines = [good, good, bad, good, bad]
    path = lines_of(tmp_path / "lines.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    reason = refusal("predict", tmp_path, "--json_lines", "--files", path, *short(model_class))
    assert reason.startswith(f"{path}, line 3: ")
    assert reason.count(str(path)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ser", "--files", __file__], "found texts and --files; expected one of them"),
        (["--files", "nowhere.txt"], "nowhere.txt: found no such file"),
        (["ser", "--num_return_sequences", "3"], "--num_return_sequences 3 is more than --num_beams 1 finds"),
        (["ser", "--resume"], "--resume needs the --output"),
        (["ser", "--batch_size", "0"], "batch_size"),
        (
            ["ser", "--format", "text", "--num_beams", "2", "--num_return_sequences", "2"],
            "--format text has one result",
        ),
        (["ser", "--engine", "torch", "--quantization", "int8"], "--quantization int8, which is of onnxruntime"),
        (["ser", "--engine", "onnx", "--ensemble", "b"], "--engine onnx, which is of onnxruntime, and --ensemble"),
        (["ser", "--quantization", "int8", "--device", "cpu"], "and --device, of torch"),
    ],
)
def test_unclear_options_are_refused_before_the_model_is_loaded(arguments, message):
    assert message in refusal("predict", "nowhere", *arguments, code=2)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--do_sample", "--top_p", "2"], "top_p is 2.0; expected a number from 0 to 1"),
        (["--do_sample", "--num_beams", "2"], "do_sample=True with num_beams=2"),
        (["--temperature", ".5"], "temperature=0.5 has no effect without sampling"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)
def test_options_of_generation_are_refused_whatever_the_engine(folders, engine, arguments, message):
    assert message in refusal("predict", folders[0], "ser", "--engine", engine, *arguments)


def save_options(folder, **options):
    """Change options of generation in a saved model."""
    file = folder / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | options), encoding="utf-8")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Folders of an encoder-decoder and a decoder with ONNX files."""
    folder = tmp_path_factory.mktemp("exported")
    save_lively(AtentaEncoderDecoderForConditionalGeneration, folder / "pairs", encoder_layers=1, decoder_layers=1)
    save_lively(AtentaDecoderForCausalLM, folder / "decoder", num_hidden_layers=1)
    for kind in ("pairs", "decoder"):
        export_onnx(folder / kind)
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
    save_options(folder, **{name: value})
    auto_class = AutoModelForSeq2SeqLM if kind == "pairs" else AutoModelForCausalLM
    lines = [refusal("predict", folder, "abc", "--engine", engine) for engine in ("torch", "onnx")]
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
    save_options(folder, **{"max_length": 40, **options})
    texts = ("abc", "cabeça", "a e o.")
    by_torch, by_onnx = (run("predict", folder, *texts, "--engine", name).stdout for name in ("torch", "onnx"))
    assert by_torch == by_onnx
    assert all(by_torch.splitlines())
    if "max_length" in options:
        assert max(map(len, by_torch.splitlines())) > 21  # what `generate` writes by default


def test_the_model_may_sample_by_itself(tmp_path):
    folder = save_pairs(tmp_path, 1)
    save_options(folder, do_sample=True)
    run("predict", folder, "ser", "--temperature", ".5")
    assert "do_sample=True with num_beams=2" in refusal("predict", folder, "ser", "--num_beams", 2)


@pytest.mark.parametrize("name", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(folders, name):
    for command in (("predict", "nowhere", "a"), ("evaluate", folders[0], "--test_file", __file__)):
        assert refusal(*command, "--device", name).startswith(f"--device {name} cannot be used; expected cpu")


@pytest.mark.parametrize("line", ['{"source": "ser"}', "3", "[" * 100_000, "1" * 5_000, '"\\ud800"'])
def test_other_json_lines_are_refused(folders, tmp_path, line):
    path = lines_of(tmp_path / "lines.jsonl", f'"a"\n{line}\n')
    found = refusal("predict", folders[0], "--json_lines", "--files", path)
    assert "lines.jsonl, line 2: found" in found
    assert len(found) < 300


@pytest.mark.parametrize(
    ("model_class", "names"),
    [
        (AtentaEncoderForSequenceClassification, ["label", "probabilities"]),
        (AtentaEncoderForTokenClassification, ["tags"]),
        (AtentaEncoderForQuestionAnswering, ["score"]),
        (AtentaEncoderDecoderForConditionalGeneration, ["outputs"]),
        (None, ["restored"]),
    ],
)
def test_no_field_of_a_line_is_overwritten(tmp_path, model_class, names):
    """Those that no result is written in are all there."""
    folder = tmp_path if model_class else MODEL_FOLDER
    if model_class:
        save_with_tokenizer(model_class, folder)
    good = {"text": "a<mask>", "question": "a", "context": "b", "where": "here", "id": 3}
    arguments = ("predict", folder, "--json_lines", "--files", tmp_path / "lines.jsonl")
    arguments += short(model_class) if model_class else ()
    for name in names:
        lines_of(tmp_path / "lines.jsonl", f"{json.dumps(good)}\n{json.dumps({**good, name: 'GOLD'})}")
        output = tmp_path / f"{name}.jsonl"
        reason = refusal(*arguments, "--format", "jsonl", "--output", output)
        assert f"lines.jsonl, line 2: found the field '{name}' ('GOLD')" in reason
        found = json.loads(output.read_text(encoding="utf-8"))
        assert {key: found[key] for key in good} == good
        assert name in found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("tags", value) for value in (5, [None], ["PL", 5], "\ud800")),
        *(("words", value) for value in ("ab", [""], [["a"]])),
        ("text_pair", ["a"]),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_named(folders, tmp_path, name, value):
    path = lines_of(tmp_path / "lines.jsonl", json.dumps({"text": "a", name: value}))
    found = refusal("predict", folders[0], "--json_lines", "--files", path)
    assert "lines.jsonl, line 1: found " in found
    assert ("surrogate" if value == "\ud800" else name) in found


def test_bytes_that_are_not_utf_8_are_named_by_file_and_line(folders, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("a\ncão\n".encode("latin-1"))
    found = refusal("predict", folders[0], "--files", path)
    assert "lines.txt, line 2: found byte 0xE3; expected a text in UTF-8" in found
    assert "iconv" in found


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
        assert f"is {model_class.__name__}, which has no answer" in refusal(
            "predict", tmp_path / model_class.__name__, "a"
        )
    assert "Found tag 'SG'" in refusal("predict", folders[0], "ser\tSG")
    assert "no model.onnx" in refusal("predict", folders[0], "ser", "--engine", "onnx")
    damaged = shutil.copytree(folders[0], tmp_path / "damaged")
    (damaged / "config.json").write_text("{", encoding="utf-8")
    assert "config.json is damaged" in refusal("predict", damaged, "a")


def test_a_reader_that_has_enough_ends_the_command_quietly(folders, tmp_path):
    path = lines_of(tmp_path / "lines.txt", "ser\n" * 100_000)
    command = f"'{sys.executable}' -m atenta predict '{MODEL_FOLDER}' --files '{path}' | head -n 2"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert done.stdout == "ser\nser\n"
    assert done.stderr == ""
    assert done.returncode == 1
