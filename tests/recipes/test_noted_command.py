"""The files of a run have no secrets and no places of its machine."""

import io
import json
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml

from atenta.hub.card_command import is_secret
from atenta.recipes.option_annotations import Mark, options_of
from atenta.recipes.training.options import Seq2SeqRecipeArguments
from support.command import run as run_command
from support.recipes import read_metrics, run_here, tiny, write_lines

TOKEN, TOKEN_OF_FILE = "hf_" + "Zy9" * 11, "hf_" + "Xw8" * 11
PUSHED = (
    "README.md",
    "metrics.json",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run with tokens: its folder, and what it printed."""
    place = tmp_path_factory.mktemp("place_of_ana")
    text = write_lines(place / "verse.txt", *["Ora direis ouvir estrelas", ""] * 8)
    config = {"prompt": "Ora", "sample_length": 5, "hub_token": TOKEN_OF_FILE}
    (place / "my options.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    files = dict.fromkeys(("train_file", "validation_file", "test_file"), text)
    folder = place / "the model"
    words = tiny("pretrain_causal", **files, max_length=64, max_steps=2, output_dir=folder, model_name_or_path="null")
    words += ["--config", str(place / "my options.yaml"), "--hub-token", TOKEN]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.chdir(place)
        patch.setenv("HF_TOKEN", TOKEN)
        run_here("pretrain_causal", place, *words)
    return folder, printed.getvalue()


def test_no_file_has_the_token(run):
    folder, printed = run
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"options.yaml", "README.md", "trainer_state.json"} <= {path.name for path in files}
    for token in (TOKEN, TOKEN_OF_FILE):
        assert not [path for path in files if token.encode() in path.read_bytes()]
        assert token not in printed


def test_what_is_pushed_has_no_places(run):
    folder, _ = run
    for name in (*PUSHED, "learning_curve.png"):
        content = (folder / name).read_bytes()
        assert str(folder.parent).encode() not in content, name
        assert str(Path.home()).encode() not in content, name


def test_the_name_of_an_abbreviated_secret_is_refused_without_its_value(tmp_path, capsys):
    for given in (["--hub_tok", TOKEN], [f"--hub_tok={TOKEN}"]):
        with pytest.raises(SystemExit):
            run_here("pretrain_causal", tmp_path, "--output_dir", tmp_path / "x", *given)
        printed = capsys.readouterr()
        assert "--hub_tok; did you mean hub_token?" in printed.err
        assert TOKEN not in printed.err + printed.out


def test_every_secret_option_of_training_is_kept_out_of_the_options_of_a_run():
    secrets = {name: option for name, option in options_of(Seq2SeqRecipeArguments).items() if is_secret(name)}
    assert "hub_token" in secrets
    assert all(Mark.INCIDENTAL in option.marks for option in secrets.values())


def test_info_tells_neither_secrets_nor_places_of_an_earlier_run(run, tmp_path):
    folder = tmp_path / "earlier"
    shutil.copytree(run[0], folder)
    metrics = read_metrics(folder)
    metrics["run"]["command"] = f"seq2seq.py --hub_token {TOKEN} --seed 3 --output_dir /home/ana/outputs/x"
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    for options in ([], ["--json"]):
        done = run_command("info", folder, *options)
        assert "python -m atenta.recipes.seq2seq --seed 3 --output_dir x" in done.output
        assert TOKEN not in done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "shown"),
    [
        ([str(Path(sys.executable).parent / "accelerate"), "launch"], "accelerate launch"),
        (["-m", "torch.distributed.run"], "python -m torch.distributed.run"),
    ],
)
def test_the_command_of_a_launcher(launcher, shown, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys\nfrom atenta.recipes.training.results import describe_run\n"
        "print('command:', describe_run()['command'], file=sys.stderr)\n",
        encoding="utf-8",
    )
    options = ["--rdzv-endpoint", "localhost:0"] if "torch.distributed.run" in launcher else ["--cpu"]
    words = [sys.executable, *launcher, *options, str(script), "--hub_token", TOKEN, "--title", "a b"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    (command,) = (line.removeprefix("command: ") for line in printed.splitlines() if line.startswith("command: "))
    kept = "--cpu " if "--cpu" in options else ""
    assert command == f"{shown} {kept}mine.py --title 'a b'"
