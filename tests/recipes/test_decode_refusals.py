"""What the decoding command refuses, each with one line: options, inputs, models, and what the terminal gets."""

import io
import json
import os
import shutil
import sys

import pytest

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderDecoderModel,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
)
from atenta.recipes import decode
from support.models import tiny_model
from support.saved import save_with_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a tiny model with the tags PL and SG."""
    folder = tmp_path_factory.mktemp("models") / "good"
    tokenizer = AtentaTokenizer.from_texts(["abcdefg "], family="encoder-decoder", tags=["<PL>", "<SG>"])
    tiny_model(AtentaEncoderDecoderForConditionalGeneration, vocab_size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def refusal(monkeypatch, capsys):
    """Return a function that runs the command in this process and returns the line with which it was refused."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["decode.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as refused:
            decode.main()
        line = refused.value.code
        if line == 2:  # of argparse, below the usage
            line = capsys.readouterr().err.splitlines()[-1]
        assert "\n" not in line
        return line

    return run


@pytest.mark.parametrize("option", ["batch_size", "num_beams", "num_return_sequences"])
def test_numbers_below_one_are_refused_before_the_model_is_loaded(refusal, option):
    assert f"--{option} is 0; expected 1 or more" in refusal("nowhere", "a", f"--{option}", 0)


def test_an_unknown_tag_is_named_with_those_of_training(refusal, folder):
    assert refusal(folder, "a\tPL", "b\tPL;\x1b") == "source 2, 'b\\tPL;\\x1b': found tag '\\x1b'; expected PL, SG"
    assert "found tag 'eos'" in refusal(folder, "a\teos")


def write(path, content):
    path.write_bytes(content)
    return path


def test_bytes_that_are_not_utf_8_are_named_by_file_and_line(refusal, folder, tmp_path, monkeypatch):
    lines = write(tmp_path / "lines.txt", "a\ncão\n".encode("latin-1"))
    message = "lines.txt, line 2: found byte 0xE3; expected a text in UTF-8"
    assert refusal(folder, "--files", lines).endswith(message)
    with lines.open() as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        assert refusal(folder) == message.replace("lines.txt", "standard input")
    assert refusal(folder, "a", os.fsdecode(b"c\xe3o")) == message.replace("lines.txt, line", "text")


@pytest.mark.parametrize(
    "line", ["", "{", "[" * 100_000, "1" * 5_000, '"\\ud800"'], ids=lambda line: line[:9] or "blank"
)
def test_lines_that_are_not_json_are_named(refusal, folder, tmp_path, line):
    lines = write(tmp_path / "lines.jsonl", f'"a"\n{line}\n"b"\n'.encode())
    found = refusal(folder, "--json_lines", "--files", lines)
    assert "lines.jsonl, line 2: " in found
    assert len(found) < 300


@pytest.mark.parametrize(
    "model_class",
    [AtentaEncoderForTokenClassification, AtentaDecoderForCausalLM, AtentaEncoderDecoderModel],
    ids=["tagger", "decoder", "without head"],
)
def test_models_of_other_kinds_are_named(refusal, tmp_path, model_class):
    save_with_tokenizer(model_class, tmp_path)
    found = refusal(tmp_path, "a")
    assert f"found {model_class.__name__}; expected an encoder-decoder that generates" in found


@pytest.mark.parametrize(
    ("file", "damage", "part"),
    [
        ("config.json", lambda content: content[:50], "config.json"),
        ("config.json", lambda _: b"[]", "config.json"),
        ("config.json", lambda content: json.dumps(json.loads(content) | {"hidden_size": 64}).encode(), "model"),
        ("model.safetensors", lambda content: content[:-100], "model"),
        ("model.safetensors", lambda _: b"", "model"),
        ("tokenizer.json", lambda content: content[:100], "tokenizer"),
        ("tokenizer.json", lambda _: b"{}", "tokenizer"),
    ],
)
def test_damaged_files_are_named(refusal, folder, tmp_path, file, damage, part):
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    write(damaged / file, damage((folder / file).read_bytes()))
    found = refusal(damaged, "a")
    assert found.startswith(f"{damaged}: cannot load the {part} (")
    assert found.endswith("); expected an encoder-decoder as it was saved")


def test_pickled_weights_are_not_read(refusal, folder, tmp_path):
    pickled = shutil.copytree(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    assert "cannot load the model" in refusal(pickled, "a")


@pytest.mark.parametrize("name", ["outputs/acents", "./acents", "/acents", "a/b/c", "here/acents"])
def test_a_misspelt_folder_is_not_looked_for_on_the_hub(refusal, tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(decode, "file_exists", lambda *_: pytest.fail("the Hub was asked"))
    assert refusal(name, "a").startswith(f"{name}: found no config.json there; expected the folder of a model")


def test_a_name_on_the_hub_is_asked_for_once(refusal, monkeypatch):
    found = refusal("nobody/nothing", "a")  # the tests are offline
    assert found.startswith("nobody/nothing: found no such folder here, and the Hub cannot be reached (Offline")
    asked = []
    monkeypatch.setattr(decode, "file_exists", lambda *name: asked.append(name))
    assert refusal("nobody/nothing", "a") == "nobody/nothing: found no such folder here, and no such model on the Hub"
    assert asked == [("nobody/nothing", "config.json")]


# Standard output


def terminal(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    stream.isatty = lambda: True
    return stream


def decode_to(monkeypatch, stream, *lines):
    monkeypatch.setattr(decode, "_decode_lines", lambda _: iter(lines))
    monkeypatch.setattr(sys, "argv", ["decode.py", "model", "a"])
    monkeypatch.setattr(sys, "stdout", stream)
    decode.main()
    return stream.buffer.getvalue().decode()


def test_output_is_utf_8_whatever_the_locale(monkeypatch):
    assert decode_to(monkeypatch, io.TextIOWrapper(io.BytesIO(), encoding="ascii"), "ção 日") == "ção 日\n"


def test_a_terminal_gets_no_commands_from_outputs(monkeypatch):
    line = "a\x1b[31mb\x9b1mc\t\u200dd\r1\r"
    assert decode_to(monkeypatch, terminal("utf-8"), line) == "a\\x1b[31mb\\x9b1mc\t\u200dd\\r1\r\n"
    assert decode_to(monkeypatch, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), line) == f"{line}\n"


def test_a_reader_that_has_enough_ends_the_command_quietly(monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(SystemExit) as ended:
        decode_to(monkeypatch, os.fdopen(writer, "w"), "a" * 100_000)
    assert ended.value.code == 1
    assert capsys.readouterr().err == ""


def test_an_interruption_is_one_line(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(decode, "_decode_lines", interrupted)
    monkeypatch.setattr(sys, "argv", ["decode.py", "model", "a"])
    with pytest.raises(SystemExit) as stopped:
        decode.main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "Stopped. The output is incomplete.\n"


def test_the_help_says_that_the_code_of_a_model_is_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["decode.py", "--help"])
    with pytest.raises(SystemExit):
        decode.main()
    printed = " ".join(capsys.readouterr().out.split())
    assert "Python code in it is run, whatever it does (transformers' trust_remote_code=True)" in printed
