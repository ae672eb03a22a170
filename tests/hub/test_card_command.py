"""The command on a card runs in a shell with the same options, and tells neither secrets nor places."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from atenta import AtentaDecoderForCausalLM
from atenta.hub.card import write_model_card
from atenta.hub.card_command import describe_command
from atenta.hub.card_facts import CardFacts
from support.models import tiny_model

TOKEN = "hf_" + "Ab1" * 11
WORDS = [
    *("a b", "$HOME ${x} $(id)", "`id` ```", "!x !! !", "* ? [a-z] {a,b}", "it's", 'say "a"', "a\\", "\\n", ";&|<>()"),
    *("two\nlines", "\n\n\n```\n\n# a\n", "ação 日 \U0001f600 \U0001f469\u200d\U0001f4bb", "e\u0301", "\t"),
    "\r\n\x1b[31m\x07",
    *("\u202e\u2028\u00a0", "\udcff\udcfe", "", "null", "#c", "~", "=", "$(printf '%b' 'x')", "-1", "a=b", "---"),
]
LONG = ["--a", *WORDS, *(f"--b{index}={word}" for index, word in enumerate(WORDS)), "--c"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model."""
    folder = tmp_path_factory.mktemp("command") / "model"
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(folder)
    return folder


def on_card(folder: Path, command: str) -> str:
    """Return the command as it is on the card, which is read from the file."""
    path = write_model_card(folder, CardFacts(run={"command": command}))
    blocks = MarkdownIt("commonmark").parse(ModelCard.load(path).text)
    (found,) = (each.content for each in blocks if each.type == "fence" and each.info == "sh")
    return found


def run_in_shell(command: str, program: str, folder: Path, shell: str = "sh") -> list[bytes]:
    """Return the words that a shell gives a program."""
    stub = folder / "bin" / program
    stub.parent.mkdir(exist_ok=True)
    stub.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n", encoding="utf-8")
    stub.chmod(0o755)
    environment = {"PATH": f"{stub.parent}:{os.environ['PATH']}", "HOME": "/home/ana"}
    done = subprocess.run([shell, "-c", command], env=environment, capture_output=True, check=True, cwd=folder)
    return done.stdout.split(b"\0")[:-1]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_gives_the_recipe_the_same_words(shell, folder, tmp_path):
    saved = describe_command("atenta train seq2seq", LONG)
    assert saved.encode("utf-8")  # JSON can hold it
    for command in (saved, on_card(folder, saved)):
        words = run_in_shell(command, "atenta", tmp_path, shell)
        assert words == [b"train", b"seq2seq", *map(os.fsencode, LONG)]


def test_a_long_command_has_a_line_for_each_option(folder, tmp_path):
    options = ["--train_file", "a.tsv", "b.tsv", *(f"--option{number}" for number in range(9)), "--title", "A b"]
    shown = on_card(folder, describe_command("recipes/pretrain_causal.py", options))
    first, *lines = shown.removesuffix("\n").split(" \\\n")
    assert first == "python -m atenta.recipes.pretrain_causal"
    assert [line for line in lines if not line.startswith("  --option")] == [
        "  --train_file a.tsv b.tsv",
        "  --title 'A b'",
    ]
    assert run_in_shell(shown, "python", tmp_path)[2:] == list(map(os.fsencode, options))


@pytest.mark.parametrize(
    "secret",
    [
        *(["--hub_token", TOKEN], ["--hub-token", TOKEN], [f"--hub_token={TOKEN}"], [f"--hub-token={TOKEN}"]),
        *(["--hub_token", "my own"], ["--api-key=my own"], ["--hub_token="], ["--hub_token", ""]),
    ],
)
def test_a_secret_is_left_out_with_its_option(secret, folder):
    saved = describe_command("seq2seq.py", ["--seed", "3", *secret, "--bf16", "--max_steps=2"])
    assert saved == "python -m atenta.recipes.seq2seq --seed 3 --bf16 --max_steps=2"
    earlier = shlex.join(
        ["seq2seq.py", "--seed", "3", *secret, "--bf16", "--max_steps=2"]
    )  # of a run before this rule
    assert on_card(folder, earlier) == f"{saved}\n"


def test_a_token_within_another_value_is_left_out():
    saved = describe_command("seq2seq.py", ["--model_name_or_path", f"https://ana:{TOKEN}@huggingface.co/ana/x"])
    assert TOKEN not in saved
    assert "huggingface.co/ana/x" in saved


def test_paths_do_not_tell_where_they_are(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {
        **{"--train_file": tmp_path / "data" / "train.tsv", "--output_dir": "/home/ana/my models/accents"},
        **{"--config": "my.yaml", "--model_name_or_path": "ana/accents", "--test_file": r"C:\Users\ana\test.tsv"},
        **{"--deepspeed": f'{{"path": "{Path.home()}/x", "here": "{tmp_path}/y"}}', "--prompt": "/", "--title": "/ b"},
    }
    saved = describe_command("seq2seq.py", [str(each) for pair in options.items() for each in pair])
    found = shlex.split(saved)[3:]
    assert dict(zip(found[::2], found[1::2])) == {
        **{"--train_file": "data/train.tsv", "--output_dir": "accents", "--config": "my.yaml"},
        **{"--model_name_or_path": "ana/accents", "--test_file": "test.tsv"},
        **{"--deepspeed": '{"path": "x", "here": "y"}', "--prompt": "/", "--title": "/ b"},
    }
    monkeypatch.setattr(Path, "cwd", lambda: Path("/data"))
    relative = ["raw/data/x.tsv", "../data/x.tsv", "/data-2", "/data/x.tsv"]
    assert shlex.split(describe_command("seq2seq.py", relative))[3:] == [*relative[:3], "x.tsv"]
    assert shlex.split(describe_command("seq2seq.py", ["--output_dir=/home/ana/x"]))[-1] == "--output_dir=x"
    assert "/home" not in on_card(folder, shlex.join(["seq2seq.py", "--output_dir", "/home/ana/my models/accents"]))


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("/home/ana/atenta/recipes/seq2seq.py", "python -m atenta.recipes.seq2seq"),
        ("atenta train seq2seq", "atenta train seq2seq"),
        ("/home/ana/my.py", "python my.py"),
    ],
)
def test_the_program(program, shown, folder):
    assert describe_command(program, []) == shown
    assert on_card(folder, describe_command(program, ["--seed", "3"])) == f"{shown} --seed 3\n"


def test_the_launcher_is_stated_with_its_options():
    options = ["--num_processes", "2", "--main_process_ip", "10.0.0.7", "--main_process_port=2"]
    shown = "accelerate launch --num_processes 2 --main_process_port=2 -m atenta.recipes.seq2seq --seed 3"
    for program in ("/home/ana/recipes/seq2seq.py", "atenta train seq2seq"):
        assert describe_command(program, ["--seed", "3"], ["accelerate", "launch", *options]) == shown


@pytest.mark.parametrize("command", ["a 'b", 'a "b', "a \\"])
def test_what_is_no_command_is_named(command, folder):
    with pytest.raises(ValueError, match=r"expected a command for a shell"):
        on_card(folder, command)


def test_a_hostile_command_runs_nothing_and_ends_no_block(folder, tmp_path):
    hostile = "atenta; touch x `touch x` $(touch x) '\n```\n<b>' \"$(printf '%b' '\\0141'; touch x)\" > x"
    run_in_shell(on_card(folder, hostile).replace("atenta;", "atenta", 1), "atenta", tmp_path)
    assert not (tmp_path / "x").exists()
