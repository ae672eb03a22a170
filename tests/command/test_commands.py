"""The commands besides `predict`: help, recipes, accents, scores, descriptions, pictures, exports and pushes."""

import io
import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForSequenceClassification,
    restore_accents,
    restore_text,
)
from atenta.command.main import app, main
from atenta.command.recipe_commands import RECIPES
from atenta.restoration.portuguese import MODEL_FOLDER, SPEECH_FOLDER
from support.command import refusal, run
from support.local_hub import used_hub
from support.saved import save_with_tokenizer

COMMANDS = ["train", "predict", "restore", "check", "phonemize", "evaluate", "info", "show", "export", "push"]


def run_process(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "atenta", *map(str, arguments)], capture_output=True, **options)


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["atenta"])
    for name in [each for each in sys.modules if each.startswith("atenta.recipes.pictures")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)  # an import of it fails
    refused = run("show", "positions", "--model", "m", "--output_dir", tmp_path, code=1)
    assert str(refused.exception) == 'This needs matplotlib.axes: pip install "atenta[recipes]"'


@pytest.mark.parametrize("columns", [50, 80])
@pytest.mark.parametrize(
    "command", [[], *([each] for each in ("predict", "restore", "check", "phonemize", "evaluate", "info", "push"))]
)
def test_help_fits_the_terminal(monkeypatch, columns, command):
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = CliRunner().invoke(app, [*command, "--help"], terminal_width=columns).stdout
    assert "--help" in printed
    assert max(map(len, printed.splitlines())) <= columns
    assert "..." not in re.sub(r"(?i)\b(texts|args|paths)[\]}]?\.\.\.", "", printed)
    if not command:
        assert all(f" {name} " in printed for name in COMMANDS)
    if command == ["predict"]:
        assert "--num_return_sequences " in printed


def test_the_list_of_recipes_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    listed = run("train").stdout
    assert all(f"  {name} " in listed for name in RECIPES)
    assert max(map(len, listed.splitlines())) <= 50


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("atenta tr", ["train"]),
        ("atenta train pre", ["pretrain_causal", "pretrain_masked", "pretrain_denoising"]),
        ("atenta train seq2seq --num_b", ["--num_beams"]),
        ("atenta predict --num_b", ["--num_beams"]),
    ],
)
def test_the_shell_completes_names_and_options(words, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["atenta"])
    environment = {"_ATENTA_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment |= {"COMP_CWORD": str(len(words.split()) - 1)}
    assert CliRunner().invoke(app, prog_name="atenta", env=environment).stdout.split() == expected


LIGHT = [["--help"], ["--version"], ["train"], ["restore", "A acao"]]
LIGHT += [[command, "--help"] for command in COMMANDS if command not in ("show", "export")]
LIGHT += [["train", "seq2seq", "--config", "hebrew.yaml", "--help"], ["show", "decoding", "--help"]]
TOLD = [  # with the exit status, or the line that ends the command, and what it says
    (["train", "finetune_classification", "--help"], "0", "usage: atenta train finetune_classification"),
    (["show", "--help"], "0", "usage: atenta show"),
    (["export", "--help"], "0", "usage: atenta export"),
    (["train", "seq2sec"], "2", "did you mean seq2seq?"),
    (["train", "seq2seq", "--max_stepz", "3"], "2", "unknown option --max_stepz; did you mean max_steps?"),
    (["train", "seq2seq", "--denoising"], "2", "pretrain_denoising.py"),
    (["train", "pairs", "pairs.tsv"], "2", "expected --train_file pairs.tsv"),
    (["show", "attention", "--text", "a"], "2", "--model"),
    (["evaluate", str(MODEL_FOLDER), "--test_file", "nowhere.tsv"], "", "nowhere.tsv: found no such file"),
    (["evaluate", "./nowhere", "--test_file", __file__], "", "nowhere: found no config.json"),
    (["export", "./nowhere"], "", "nowhere: found no such folder"),
    (["push", "nowhere", "ana/model"], "", "nowhere: found no such folder"),
]


def test_light_commands_and_wrong_options_import_neither_torch_nor_transformers():
    given = [*((words, "0", "") for words in LIGHT), *TOLD]
    script = (
        "import sys\nfrom atenta.command.main import main\nsys.stderr = sys.stdout\n"
        f"for arguments in {[words for words, *_ in given]}:\n"
        "    sys.argv, code = ['atenta', *arguments], 0\n"
        "    try:\n        main()\n    except SystemExit as ended:\n        code = ended.code or 0\n"
        "    assert not {'torch', 'transformers', 'datasets', 'matplotlib'} & sys.modules.keys(), arguments\n"
        "    print(code, end='\\0')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, _ = done.stdout.split("\0")
    for (words, status, message), text in zip(given, printed, strict=True):
        assert text.endswith(status), words
        assert len(text) > len(status), words
        assert message in " ".join(text.split()), words


@pytest.mark.parametrize(
    ("command", "status", "printed"),
    [
        ("--help >/dev/full", 1, "Standard output cannot be written: No space left on device."),
        ("info MODEL >/dev/full", 1, "No space left on device"),
        ("restore a >/dev/full", 1, "No space left on device: 'standard output'"),
        ("restore a >&-", 1, "Standard output is closed"),
        ("restore <&-", 1, "Standard input is closed: give texts or --files."),
        ("restore a 2>&-", 0, ""),
        ("info MODEL >/dev/null", 0, ""),  # of which "→" is not in ASCII
    ],
)
def test_streams_that_are_closed_full_or_in_ascii(command, status, printed):
    command = f"'{sys.executable}' -m atenta {command.replace('MODEL', str(MODEL_FOLDER))}"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stderr
    assert printed in done.stderr
    assert done.stderr.count("\n") == status  # lines


@pytest.fixture
def pipe_of():
    """A function that returns the path of a pipe with a content."""
    opened = []

    def pipe_of(content):
        read, write = os.pipe()
        os.write(write, content.encode())
        os.close(write)
        opened.append(read)
        return f"/dev/fd/{read}"

    yield pipe_of
    for each in opened:
        os.close(each)


def test_pipes_are_files_in_the_first_format_of_their_rows(pipe_of, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path)
    assert run("evaluate", tmp_path, "--test_file", pipe_of("Era uma vez")).stdout.startswith("1 row of /dev/fd/")
    assert run("restore", "--files", pipe_of("A acao")).stdout == restore_accents("A acao")
    assert run("predict", MODEL_FOLDER, "--files", pipe_of("A acao")).stdout == restore_accents("A acao") + "\n"
    assert run("evaluate", MODEL_FOLDER, "--test_file", pipe_of("A acao\tA ação\n")).stdout.startswith(
        "1 row of /dev/fd/"
    )


def test_scores_are_written_for_a_file_whose_name_is_not_utf_8(tmp_path, monkeypatch):
    file, output = tmp_path / "rows\udcff.tsv", tmp_path / "scores.json"
    try:
        file.write_text("A acao\tA ação\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    words = ["evaluate", str(MODEL_FOLDER), "--test_file", str(file), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["atenta", *words])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(output.read_bytes())["run"]["test_file"] == str(file)


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("lazy_loader", ["train"]),
        ("typer", ["--help"]),
        ("numpy", ["restore", "a"]),
        ("torch", ["predict", MODEL_FOLDER, "a", "--device", "cpu"]),
    ],
)
def test_a_command_is_stopped_while_it_imports(module, arguments):
    script = (
        "import signal, sys\n"
        "class Stopping:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stopping)\n"
        "from atenta_command import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nStopped.\n")


def test_accents_of_lines():
    text = "A acao comecou.\r\n\nE facil\x00: nao?"
    expected = "".join(
        restore_accents(line.removesuffix("\r")) + end
        for line, end in zip(text.split("\n"), ["\r\n", "\n", "\n"], strict=True)
    )
    for mark in ("", "\ufeff"):
        assert run_process("restore", input=(mark + text).encode()).stdout.decode() == mark + expected
    assert run("restore", "Nao e facil", "--min_confidence", 1.0).stdout == "Nao e facil\n"
    assert run("restore", "academico", "--variant", "PT").stdout == "académico\n"
    record = json.loads(run("restore", "Nao e facil", "--probabilities").stdout)
    assert record["restored"] == restore_accents("Nao e facil")
    assert len(record["probabilities"]) == len("Nao e facil")
    unlearnt = refusal("restore", "--model", MODEL_FOLDER, "--capitals", "Nao e facil")
    assert "has not learned to restore capitals" in unlearnt


def test_accents_of_files_are_those_of_the_whole_texts(tmp_path):
    text = "A acao comecou.\r\nEla\nesta em casa, nao e?\n\n"
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, content in zip(paths, (text, "")):
        path.write_bytes(content.encode())
    found = run("restore", "--files", paths[0], "--files", paths[1], "--model", MODEL_FOLDER).stdout_bytes
    assert found.decode() == restore_accents(text)
    records = run("restore", "--files", paths[0], "--files", paths[1], "--probabilities").stdout.splitlines()
    assert [json.loads(record)["restored"] for record in records] == [restore_accents(text), ""]
    paths[1].write_bytes("\ufeffvoce vem".encode())
    spoken = run("restore", "--files", paths[1], "--capitals", "--punctuation").stdout_bytes.decode()
    assert spoken == "\ufeff" + restore_text("voce vem")
    paths[1].write_bytes("não".encode("utf-16"))
    assert "iconv -f utf-16" in refusal("restore", "--files", paths[1])
    paths[1].write_bytes(b"a\n\xe3")
    refused = run("restore", "--files", paths[1], code=1)
    assert "b.txt, line 2: found byte 0xE3; expected a text in UTF-8" in str(refused.exception)
    refused = run("restore", "a", "--model", tmp_path, code=1)
    assert "found no config.json there" in str(refused.exception)


def test_a_terminal_gets_no_commands_from_texts():
    from atenta.command import text_lines

    line = "a\x1b[31mb\x9b1mc\t\u200dd\re\r\n"
    assert text_lines.printable_lines(line) == "a\\x1b[31mb\\x9b1mc\t\u200dd\\re\r\n"


def test_what_is_typed_is_answered_line_by_line():
    typed, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "atenta", "restore"], stdin=terminal, stdout=subprocess.PIPE
    ) as process:
        for line in ("nao sei", "amanha"):
            os.write(typed, f"{line}\n".encode())
            assert process.stdout.readline().decode() == f"{restore_accents(line)}\n"
        os.write(typed, b"\x04")
    assert process.returncode == 0


@pytest.mark.parametrize("command", [("restore",), ("predict", MODEL_FOLDER)])
def test_a_text_that_names_a_file_is_pointed_out(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acao.txt").write_text("acao", encoding="utf-8")
    found = run(*command, "nao", "acao.txt")
    assert len(found.stdout.splitlines()) == 2
    assert found.stderr.count("--files") == 1
    assert "text 2, 'acao.txt'" in found.stderr


def test_a_decoder_is_scored_by_its_probabilities_in_batches_of_any_size(tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    (tmp_path / "test.txt").write_text("Era uma vez.\n\nUm dia\n\nNunca mais, disse ela.", encoding="utf-8")
    found, arguments = [], ("evaluate", tmp_path / "model", "--test_file", tmp_path / "test.txt")
    for batch_size in (1, 32):
        output = tmp_path / f"{batch_size}.json"
        run(*arguments, "--output", output, "--batch_size", batch_size)
        found.append(json.loads(output.read_text(encoding="utf-8"))["test"]["model"])
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert "leave out options of generation" in str(run(*arguments, "--num_beams", 2, code=1).exception)
    assert "is scored in torch" in str(run(*arguments, "--engine", "onnx", code=1).exception)
    assert "--metrics is for pairs" in str(run(*arguments, "--metrics", "bleu", code=1).exception)


def test_a_description_is_from_the_files_alone(tmp_path):
    model = save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path)
    described = json.loads(run("info", tmp_path, "--json").stdout)
    assert described["class"] == "AtentaEncoderDecoderForConditionalGeneration"
    assert described["family"] == "encoder-decoder"
    assert described["parameters"] == model.num_parameters()
    assert "ção" not in described["characters"]
    assert {"ç", "ã", "o"} <= set(described["characters"])
    assert described["files"]["config.json"] == os.path.getsize(tmp_path / "config.json")
    assert "ç" in run("info", tmp_path, "--json").stdout_bytes.decode()
    printed = run("info", MODEL_FOLDER).stdout
    assert "AtentaEncoderForTokenClassification, encoder" in printed
    assert "5,878,312" in printed
    assert "model_int8.onnx" in printed
    assert "'b' → 'b' 'B', " in run("info", SPEECH_FOLDER).stdout
    (tmp_path / "model.safetensors").write_bytes(b"\x00")
    assert "cannot load the model.safetensors" in str(run("info", tmp_path, code=1).exception)


def test_a_push_says_what_it_does_and_asks(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    save_with_tokenizer(AtentaEncoderForSequenceClassification, folder, num_labels=2)
    push = ("push", folder, "tester/labels")
    with used_hub(monkeypatch) as hub:
        assert "tester/labels (new): add " in run(*push).stdout
        assert "model.safetensors" in hub.storage.files("tester/labels")
        config = folder / "config.json"
        config.write_text(config.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        assert "give --replace" in str(run(*push, code=1).exception)
        run(*push, "--replace")
        assert hub.storage.files("tester/labels")["config.json"] == config.read_bytes()


def test_a_push_without_a_network_says_what_it_would_send(tmp_path):
    save_with_tokenizer(AtentaEncoderForSequenceClassification, tmp_path)
    (tmp_path / "notes.txt").touch()
    refused = run("push", tmp_path, "tester/labels", code=1)
    for stated in ("tester/labels", "config.json", "Left out: notes.txt"):
        assert stated in refused.stdout
    assert "HF_HUB_OFFLINE" in str(refused.exception)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 298. GiB"), "The memory is not enough: Unable to allocate 298. GiB."),
        (MemoryError(), "The memory is not enough: give less at once."),
        (
            type("Fail", (Exception,), {"__module__": "onnxruntime.capi"})("no\nmemory"),
            "onnxruntime has failed: no memory",
        ),
    ],
    ids=str,
)
def test_too_little_memory_is_a_line(monkeypatch, error, message):
    def fail(*_):
        raise error

    monkeypatch.setattr("atenta.command.restore.restore_texts", fail)
    assert str(run("restore", "a", code=1).exception) == message
