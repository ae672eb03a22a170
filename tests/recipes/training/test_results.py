"""The output folder of a finished run, tables, and the push to a Hub that is simulated here."""

import csv
import json
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from transformers import AutoTokenizer

from atenta import AtentaDecoderForCausalLM
from atenta.recipes.training import results
from atenta.recipes.training.results import (
    compare_by_group,
    compare_by_length,
    push_run,
    save_run,
    table,
    write_metrics,
    write_predictions,
)
from support.recipes import assert_picture
from support.saved import save_with_tokenizer

SCORES = {"uniform characters": {"bits_per_character": 5.0}, "model": {"bits_per_character": 2.5}}
ABOUT = {"data": "tales", "language": "pt", "licence": "apache-2.0"}


@pytest.fixture
def trainer(tmp_path):
    """The parts of a trained `RecipeTrainer` that `save_run` uses."""
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "saved")
    model.config.use_cache = False
    folder = tmp_path / "model"

    def save_model():
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tmp_path / "saved").save_pretrained(folder)

    history = [
        {"step": 1, "epoch": 0.5, "loss": 3.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 2.0, "eval_bits_per_character": 3.0, "eval_runtime": 9.0},
    ]
    arguments = SimpleNamespace(
        output_dir=str(folder),
        metric_for_best_model="bits_per_character",
        hub_model_id=None,
        hub_token="hf_secret",
        hub_private_repo=True,
    )
    return SimpleNamespace(
        model=model,
        save_model=save_model,
        args=arguments,
        state=SimpleNamespace(log_history=history),
        accelerator=SimpleNamespace(unwrap_model=lambda model: model),
        is_world_process_zero=lambda: True,
        push_when_finished=False,
        run=SimpleNamespace(end=lambda: None),
    )


def test_the_folder_of_a_run(trainer, capsys):
    save_run(trainer, scores=SCORES, predictions={"text": ["a"], "output": ["b"]}, about=ABOUT)
    folder = Path(trainer.args.output_dir)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["test"] == SCORES
    assert metrics["training"] == [
        {"step": 1, "epoch": 0.5, "loss": 3.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 2.0, "eval_bits_per_character": 3.0},
    ]
    assert "uniform characters              5.0000" in capsys.readouterr().out
    assert (folder / "predictions.tsv").read_text(encoding="utf-8") == "text\toutput\na\tb\n"
    assert_picture(folder / "learning_curve.png")
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["use_cache"] is True


def test_the_card_has_scores_and_data(trainer):
    save_run(trainer, scores=SCORES, about=ABOUT)
    folder = Path(trainer.args.output_dir)
    assert not (folder / "predictions.tsv").exists()
    metadata = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert (metadata["language"], metadata["license"]) == ("pt", "apache-2.0")
    (result,) = metadata["model-index"][0]["results"]
    assert result["dataset"]["name"] == "tales"
    assert [(metric["type"], metric["value"]) for metric in result["metrics"]] == [("bits_per_character", 2.5)]


def test_other_processes_save_only_their_part_of_the_model(trainer, capsys):
    trainer.is_world_process_zero = lambda: False
    save_run(trainer, scores=SCORES, predictions={"text": ["a"]}, about=ABOUT)
    names = {path.name for path in Path(trainer.args.output_dir).iterdir()}
    assert "model.safetensors" in names
    assert not {"metrics.json", "predictions.tsv", "learning_curve.png"} & names
    assert capsys.readouterr().out == ""


@pytest.fixture
def hub_calls(monkeypatch):
    """The calls of `huggingface_hub.HfApi`, which is replaced."""
    calls = {}

    class Hub:
        def __init__(self, token):
            calls["token"] = token

        def create_repo(self, name, **options):
            calls["create_repo"] = {"name": name, **options}
            return SimpleNamespace(repo_id=f"someone/{name}")

        def upload_folder(self, **options):
            calls["upload_folder"] = options

    monkeypatch.setattr(results, "HfApi", Hub)
    return calls


def test_the_folder_is_pushed_without_pickles(trainer, hub_calls):
    save_run(trainer, scores=SCORES, about=ABOUT)
    assert not hub_calls
    trainer.push_when_finished = True
    save_run(trainer, scores=SCORES, about=ABOUT)
    assert hub_calls["token"] == "hf_secret"
    assert hub_calls["create_repo"] == {"name": "model", "private": True, "exist_ok": True}
    upload = hub_calls["upload_folder"]
    assert upload["repo_id"] == "someone/model"
    assert {"checkpoint-*", "*.bin", "*.pt", ".lock"} <= set(upload["ignore_patterns"])
    assert "someone/model" in Path(trainer.args.output_dir, "README.md").read_text(encoding="utf-8")


def test_the_name_on_the_hub_is_an_option(trainer, hub_calls):
    trainer.save_model()
    trainer.args.hub_model_id = "accents"
    push_run(trainer, {"scores": SCORES["model"], **ABOUT})
    assert hub_calls["create_repo"]["name"] == "accents"


def test_a_table():
    lines = table(
        {"left as it is": {"f1": 0.5}, "model": {"f1": 0.98765, "a_long_name": 1234567.8, "loss": 999.5}}
    ).splitlines()
    assert [line.split() for line in lines] == [
        ["f1", "a", "long", "name", "loss"],
        ["left", "as", "it", "is", "0.5000", "-", "-"],
        ["model", "0.9877", "1,234,568", "999.5000"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_metrics_describe_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["somewhere/recipes/seq2seq.py", "--seed", "3"])
    path = tmp_path / "metrics.json"
    write_metrics(path, {"ação": {"score": 0.25}})
    assert "ação" in path.read_text(encoding="utf-8")
    metrics = json.loads(path.read_text(encoding="utf-8"))
    run = metrics.pop("run")
    assert metrics == {"ação": {"score": 0.25}}
    assert run["command"] == "seq2seq.py --seed 3"
    assert run["date"] == date.today().isoformat()
    assert run["versions"]["transformers"] == version("transformers")
    assert run["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "cores" in run["machine"]


def test_predictions_keep_tabs_quotes_and_line_ends(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(path, {"source": ["a\tb", 'c "d"', '"'], "output": ["é\nx", "", "e\u0301\r\n"]})
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows == [["source", "output"], ["a\tb", "é\nx"], ['c "d"', ""], ['"', "e\u0301\r\n"]]


def test_columns_of_two_lengths_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="longer than argument"):
        write_predictions(tmp_path / "predictions.tsv", {"source": ["a"], "output": ["b", "c"]})


def _share_right(rows, answers):
    return {"accuracy": sum(row["target"] == answer for row, answer in zip(rows, answers, strict=True)) / len(rows)}


GROUPED = [{"source": "a" * length, "target": str(length)} for length in (30, 1, 10, 11)]
ANSWERS = {"model": ["30", "1", "2", "3"], "nothing": [""] * 4}


def test_scores_by_length_are_of_ranges_that_double():
    assert compare_by_length(_share_right, GROUPED, ANSWERS) == {
        "1–10": {"texts": 2, "model": {"accuracy": 0.5}, "nothing": {"accuracy": 0.0}},
        "11–20": {"texts": 1, "model": {"accuracy": 0.0}, "nothing": {"accuracy": 0.0}},
        "21–40": {"texts": 1, "model": {"accuracy": 1.0}, "nothing": {"accuracy": 0.0}},
    }


def test_scores_by_group_are_in_the_order_of_the_rows():
    compared = compare_by_group(_share_right, GROUPED, {"model": ANSWERS["model"]}, ["law", "news", "law", "news"])
    assert list(compared) == ["law", "news"]
    assert compared["law"] == {"texts": 2, "model": {"accuracy": 0.5}}
