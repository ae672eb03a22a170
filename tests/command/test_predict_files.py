"""The lines that `atenta predict` reads and writes: of any text, refused by their number, and resumed."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from transformers import pipeline

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForQuestionAnswering,
    AtentaEncoderForSequenceClassification,
    AtentaEncoderForTokenClassification,
)
from atenta.command import predict, text_lines
from atenta.command.predictors import TextPredictor
from atenta.restoration.portuguese import MODEL_FOLDER
from support.command import refusal, run, write_text
from support.saved import save_pairs, save_with_tokenizer


def test_each_line_gives_a_line(folders, tmp_path):
    path = write_text(tmp_path / "lines.txt", "ser\tPL\n\nver\u2028m\x0bi\r\n\r\nser")
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


def test_json_lines_hold_any_text(folders, tmp_path):
    given = ["ser", {"text": "ver\nser\x00", "tags": "PL"}, {"text": "ser", "id": 3}]
    path = write_text(tmp_path / "lines.jsonl", "".join(json.dumps(each) + "\n" for each in given))
    printed = run("predict", folders[0], "--files", path, "--json_lines", "--format", "jsonl").stdout
    found = [json.loads(line) for line in printed.splitlines()]
    assert [each["text"] for each in found] == ["ser", "ver\nser\x00", "ser"]
    assert found[2]["id"] == 3
    expected = pipeline("text2text-generation", str(folders[0]), device="cpu")(["ser", "ver\nser\x00\tPL", "ser"])
    assert [each["outputs"][0]["text"] for each in found] == [each["generated_text"] for each in expected]
    texts = run("predict", folders[0], "--files", path, "--json_lines").stdout
    assert [json.loads(line) for line in texts.splitlines()] == [each["generated_text"] for each in expected]


def test_bytes_that_are_not_utf_8_are_named_by_file_and_line(folders, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("a\ncão\n".encode("latin-1"))
    found = refusal("predict", folders[0], "--files", path)
    assert "lines.txt, line 2: found byte 0xE3; expected a text in UTF-8" in found
    assert "iconv" in found
    path.write_bytes("\ufeffa\n".encode() + "cão".encode("latin-1"))
    assert "lines.txt, line 2: found byte 0xE3" in refusal("restore", "--files", path)


@pytest.mark.parametrize(
    "line",
    [
        *('{"source": "ser"}', "3", "[" * 100_000, "1" * 5_000, '"\\ud800"'),
        *(
            '{"text": "ser", "text": "ver"}',
            '{"text": "ser", "share": NaN}',
            '{"text": "ser", "share": 1e999}',
        ),  # something would be lost
    ],
)
def test_other_json_lines_are_refused(folders, tmp_path, line):
    path = write_text(tmp_path / "lines.jsonl", f'"a"\n{line}\n')
    found = refusal("predict", folders[0], "--json_lines", "--files", path)
    assert "lines.jsonl, line 2: found" in found
    assert ("a field occurs twice" in found) == line.startswith('{"text": "ser", "text"')
    assert len(found) < 300


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("tags", value) for value in (5, [None], ["PL", 5], "\ud800")),
        *(("words", value) for value in ("ab", [""], [["a"]])),
        ("text_pair", ["a"]),
        ("id", {"a": ["\ud800"]}),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_named(folders, tmp_path, name, value):
    path = write_text(tmp_path / "lines.jsonl", json.dumps({"text": "a", name: value}))
    found = refusal("predict", folders[0], "--json_lines", "--files", path)
    assert "lines.jsonl, line 1: found " in found
    assert ("surrogate" if "\\ud800" in path.read_text(encoding="utf-8") else name) in found


def short(model_class):
    """Options of a model that generates, for a short text."""
    return ("--max_new_tokens", 2) if model_class.can_generate() else ()


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
        write_text(tmp_path / "lines.jsonl", f"{json.dumps(good)}\n{json.dumps({**good, name: 'GOLD'})}")
        output = tmp_path / f"{name}.jsonl"
        reason = refusal(*arguments, "--format", "jsonl", "--output", output)
        assert f"lines.jsonl, line 2: found the field '{name}' ('GOLD')" in reason
        found = json.loads(output.read_text(encoding="utf-8"))
        assert {key: found[key] for key in good} == good
        assert name in found


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
    path = write_text(tmp_path / "lines.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    reason = refusal("predict", tmp_path, "--json_lines", "--files", path, *short(model_class))
    assert reason.startswith(f"{path}, line 2: found the text_pair 'rua'")


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
    path = write_text(tmp_path / "lines.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    reason = refusal("predict", tmp_path, "--json_lines", "--files", path, *short(model_class))
    assert reason.startswith(f"{path}, line 3: ")
    assert reason.count(str(path)) == 1


def test_a_reader_that_has_enough_ends_the_command_quietly(folders, tmp_path):
    path = write_text(tmp_path / "lines.txt", "ser\n" * 100_000)
    command = f"'{sys.executable}' -m atenta predict '{MODEL_FOLDER}' --files '{path}' | head -n 2"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert done.stdout == "ser\nser\n"
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.parametrize(("format", "chunk", "stop_after"), [("text", 2, 3), ("tsv", 1, 3), ("jsonl", 2, 3)], ids=str)
def test_an_interrupted_output_goes_on(folders, tmp_path, monkeypatch, format, chunk, stop_after):
    path = write_text(tmp_path / "lines.txt", "ser\tPL\n\nver\r\nser ver\n" * 2)
    arguments = ("predict", folders[0], "--files", path, "--format", format, "--num_beams", 2)
    monkeypatch.setattr(predict, "_CHUNK", chunk)
    whole = run(*arguments).stdout_bytes
    output = tmp_path / "output"
    calls = []
    write = text_lines.LineWriter.write

    def stop(writer, text, *last):
        if len(calls) == stop_after:
            writer._file.write(text.encode()[:2])  # half a line
            raise KeyboardInterrupt
        calls.append(text)
        write(writer, text, *last)

    monkeypatch.setattr(text_lines.LineWriter, "write", stop)
    run(*arguments, "--output", output, code=130)
    monkeypatch.setattr(text_lines.LineWriter, "write", write)
    assert output.with_name("output.progress").exists()
    run(*arguments, "--output", output, "--resume")
    assert output.read_bytes() == whole
    assert not output.with_name("output.progress").exists()


def test_lines_before_one_that_is_refused_are_written(folders, tmp_path):
    """Also to a file, which then goes on once the line is mended."""
    good = ["ser", "ver", '{"text": "mudar", "tags": "PL"}', "a", "b", "c"]
    lines = [line if line[0] == "{" else json.dumps(line) for line in good]
    whole = run("predict", folders[0], "--json_lines", "--files", write_text(tmp_path / "whole", "\n".join(lines)))
    path, output = tmp_path / "lines.jsonl", tmp_path / "output"
    arguments = ("predict", folders[0], "--json_lines", "--files", path, "--output", output)
    for place, bad in ((2, '{"text": "mudar", "tags": "SG"}'), (4, "{")):
        write_text(path, "\n".join([*lines[:place], bad, *lines[place + 1 :]]))
        assert f"lines.jsonl, line {place + 1}: " in refusal(*arguments, "--resume")
        assert output.read_bytes() == b"".join(whole.stdout_bytes.splitlines(keepends=True)[:place])
    write_text(path, "\n".join(lines))
    run(*arguments, "--resume")
    assert output.read_bytes() == whole.stdout_bytes


def test_results_in_the_folder_of_a_model_are_no_part_of_it(folders, tmp_path):
    model = shutil.copytree(folders[0], tmp_path / "model")
    digest = predict._digest(str(model), model / "answers.txt")
    write_text(model / "answers.txt", "a")
    assert predict._digest(str(model), model / "answers.txt") == digest != predict._digest(str(model), tmp_path / "b")


def test_an_output_is_not_mixed(folders, tmp_path):
    path, output = write_text(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
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


def test_an_output_that_cannot_be_is_refused_before_the_model_is_loaded(tmp_path, monkeypatch):
    there = write_text(tmp_path / "there", "")
    assert f"{there} exists" in refusal("predict", "nowhere", "a", "--output", there)
    for name in ("uv.lock", "uv.progress"):  # files of other programs
        other = write_text(tmp_path / name, "a")
        assert f"{other}, which" in refusal("predict", "nowhere", "a", "--output", tmp_path / "uv")
        other.unlink()
    for resume in ((), ("--resume",)):
        missing = tmp_path / "folder" / "output"
        assert "found no folder" in refusal("predict", "nowhere", "a", "--output", missing, *resume)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert f"{tmp_path} cannot be written to" in refusal("predict", "nowhere", "a", "--output", tmp_path / "new")


def failing_after(count, predict):
    calls = []

    def call(predictor, fields):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(fields)
        return predict(predictor, fields)

    return call


def test_an_output_without_results_does_not_seem_complete(folders, tmp_path, monkeypatch):
    path, output = write_text(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    with monkeypatch.context() as patch:
        patch.setattr(TextPredictor, "predict_in_parts", failing_after(0, None))
        run("predict", folders[0], "--files", path, "--output", output, code=130)
    assert "give --resume" in refusal("predict", folders[0], "--files", path, "--output", output)
    run("predict", folders[0], "--files", path, "--output", output, "--resume")
    assert output.read_text(encoding="utf-8") == run("predict", folders[0], "--files", path).stdout
    assert not (tmp_path / "output.progress").exists()


def test_a_file_to_read_is_no_output_and_a_link_to_nothing_is_not_followed(folders, tmp_path):
    path = write_text(tmp_path / "lines.txt", "ser\n")
    assert "would be lost" in refusal("predict", folders[0], "--files", path, "--output", path)
    output = tmp_path / "output"
    output.symlink_to(tmp_path / "elsewhere")
    assert str(output) in refusal("predict", folders[0], "ser", "--output", output)
    assert {each.name for each in tmp_path.iterdir()} == {"lines.txt", "output"}


def test_an_output_in_use_is_refused(folders, tmp_path, monkeypatch):
    path, output = write_text(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
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
    path, output = write_text(tmp_path / "lines.txt", "ser\nver\n"), tmp_path / "output"
    arguments = ("predict", folder, "--files", path, "--output", output)
    with monkeypatch.context() as patch:
        patch.setattr(predict, "_CHUNK", 1)
        patch.setattr(TextPredictor, "predict_in_parts", failing_after(1, TextPredictor.predict_in_parts))
        run(*arguments, code=130)
    write_text(path, "sem\nver\n")
    assert "The first 1 lines are not those that the output was made from" in refusal(*arguments, "--resume")
    save_pairs(folder, 2)
    assert "was begun with files of the models=" in refusal(*arguments, "--resume")
