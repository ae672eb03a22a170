"""The output folder of a finished run, tables, and the push to a Hub that is simulated here."""

import json
import sys
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from transformers import SchedulerType

from atenta import AtentaDecoderForCausalLM
from atenta.hub.publishing import PushError
from atenta.recipes.option_annotations import Mark, options_of
from atenta.recipes.reading.splits import DataArguments
from atenta.recipes.training import results
from atenta.recipes.training.options import RecipeArguments, StackArguments
from atenta.recipes.training.results import (
    compare_by_group,
    compare_by_length,
    describe_training,
    push_run,
    save_run,
    say_if_equalled,
    table,
    write_metrics,
)
from atenta.recipes.training.runs import Run, start_run
from support.trainers import random_texts, tiny, trainer_of

SCORES = {"uniform characters": {"bits_per_character": 5.0}, "model": {"bits_per_character": 2.5}}
ABOUT = {"data": "tales", "language": "pt", "licence": "apache-2.0"}


@pytest.fixture
def trainer(tmp_path):
    """A `RecipeTrainer` that has not trained, and its history."""
    rows = {"train": random_texts([3, 4]), "validation": random_texts([5])}
    options = {"metric_for_best_model": "bits_per_character", "max_steps": 2, "hub_token": "hf_secret"}
    made = trainer_of(tmp_path / "model", rows, tiny(AtentaDecoderForCausalLM), eval_strategy="epoch", **options)
    made.run = Run(made.args, {}, options_of(DataArguments, StackArguments, RecipeArguments))
    made.model.config.use_cache = False
    made.state.global_step = 2
    made.state.log_history = [
        {"step": 1, "epoch": 0.5, "loss": 3.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 2.0, "eval_bits_per_character": 3.0, "eval_runtime": 9.0},
    ]
    made.cost.minutes = 1.5
    return made


def test_the_folder_of_a_run(trainer, capsys):
    save_run(trainer, scores=SCORES, predictions={"text": ["a"], "output": ["b"]}, about=ABOUT)
    folder = Path(trainer.args.output_dir)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["test"] == SCORES
    training = {
        "title": None,
        "card_language": "en",
        "base_model": None,
        "options": {"trained_steps": 2},
        "cost": {"minutes": 1.5},
    }
    assert metrics["card"] == {**ABOUT, **training}
    assert metrics["training"] == [
        {"step": 1, "epoch": 0.5, "loss": 3.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 2.0, "eval_bits_per_character": 3.0},
    ]
    assert "uniform characters              5.0000" in capsys.readouterr().out
    assert (folder / "predictions.tsv").read_text(encoding="utf-8") == "text\toutput\na\tb\n"
    metadata = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert (metadata["language"], metadata["license"]) == ("pt", "apache-2.0")
    assert metadata["model-index"][0]["results"][0]["dataset"]["name"] == "tales"


def test_other_processes_save_only_their_part_of_the_model(trainer, capsys):
    trainer.is_world_process_zero = lambda: False
    save_run(trainer, scores=SCORES, predictions={"text": ["a"]}, about=ABOUT)
    names = {path.name for path in Path(trainer.args.output_dir).iterdir()}
    assert "model.safetensors" in names
    assert not {"metrics.json", "predictions.tsv", "learning_curve.png"} & names
    assert capsys.readouterr().out == ""


@pytest.fixture
def pushes(monkeypatch):
    """The arguments of `push_folder`, which is replaced."""
    calls = []

    def push(folder, repo_id, **options):
        calls.append((folder, repo_id, options))
        return f"https://hub/{repo_id}"

    monkeypatch.setattr(results, "push_folder", push)
    return calls


def test_the_folder_is_pushed_once_it_is_complete(trainer, pushes, capsys):
    save_run(trainer, scores=SCORES, about=ABOUT)
    assert not pushes
    trainer.push_when_finished = True
    save_run(trainer, scores=SCORES, about=ABOUT)
    trainer.args.hub_model_id, trainer.args.hub_private_repo, trainer.args.replace_on_hub = "ana/accents", False, True
    push_run(trainer)
    folder = Path(trainer.args.output_dir)
    assert pushes == [
        (folder, "model", {"private": True, "replace": False, "token": "hf_secret"}),
        (folder, "ana/accents", {"private": False, "replace": True, "token": "hf_secret"}),
    ]
    assert "Pushed to https://hub/model" in capsys.readouterr().out


def test_a_push_that_fails_says_how_to_go_on(trainer, monkeypatch):
    def refuse(*arguments, **options):
        raise PushError("The Hub refuses the token (401).")

    monkeypatch.setattr(results, "push_folder", refuse)
    with pytest.raises(SystemExit, match=r"not pushed: The Hub refuses the token \(401\)\. `atenta push"):
        push_run(trainer)


def test_the_card_has_the_options_that_matter(trainer, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["recipe.py", "--weight_decay=0", "--hidden_size", "8", "--train_file", "/home/a"]
    )
    options = {
        **{"optim": "adamw_torch_fused", "learning_rate": None, "max_steps": 2, "num_train_epochs": 3.0, "seed": 42},
        **{"gradient_accumulation_steps": 1, "muon_learning_rate": 0.02, "weight_decay": 0.0, "hidden_size": 8},
        **{"train_file": ["/home/a"], "lr_scheduler_type": "SchedulerType.LINEAR", "bf16": False, "dropout": 0.1},
    }
    trainer.run.values = options
    trainer.args.learning_rate, trainer.args.lr_scheduler_type = 0.5, SchedulerType.LINEAR
    trainer.args.optim = "adamw_torch_fused"
    assert describe_training(trainer)["options"] == {
        **{"optim": "adamw_torch_fused", "learning_rate": 0.5, "lr_scheduler_type": "linear", "max_steps": 2},
        **{"dropout": 0.1, "seed": 42, "weight_decay": 0, "trained_steps": 2},
    }

    for start, stated in (("ana/pretrained", "ana/pretrained"), (None, None), (".", None)):
        trainer.run.values = {"model_name_or_path": start}
        assert describe_training(trainer)["base_model"] == stated


@dataclass
class CardOptions:
    """Options without effect on training, of which a card states one."""

    stated: Annotated[int, Mark.INCIDENTAL, Mark.ON_CARD] = 4
    unstated: Annotated[int, Mark.INCIDENTAL] = 5


def test_an_incidental_option_is_on_the_card_by_its_mark_alone_and_is_not_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["recipe.py", "--unstated", "6"])
    rows = {"train": random_texts([3, 4]), "validation": random_texts([5])}
    trainer = trainer_of(tmp_path / "model", rows, tiny(AtentaDecoderForCausalLM), max_steps=1)
    trainer.fit(start_run(CardOptions(unstated=6), trainer.args))
    trainer.run.end()
    described = describe_training(trainer)["options"]
    assert described["stated"] == 4
    assert "unstated" not in described
    recorded = yaml.safe_load((tmp_path / "model" / "options.yaml").read_text(encoding="utf-8"))
    assert "seed" in recorded
    assert not {"stated", "unstated"} & recorded.keys()


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


def test_columns_are_as_wide_as_their_numbers():
    rows = {"a": {"loss": 12345678901, "f1": 12.345}, "model": {"loss": float("inf"), "f1": 0.5}}
    head, *lines = table(rows).splitlines()
    assert {len(head)} == {*map(len, lines)}
    for name, cells in (("loss", ("12,345,678,901", "inf")), ("f1", ("12.3450", "0.5000"))):
        ends = {line.index(cell) + len(cell) for line, cell in zip(lines, cells)}
        assert ends == {head.index(name) + len(name)}


@pytest.mark.parametrize(
    ("name", "worse", "best", "model", "is_said"),
    [
        ("exact_match", 0.1, 0.83, 0.79, True),
        ("exact_match", 0.1, 0.79, 0.83, False),
        ("exact_match", 0.1, 0.5, 0.5, True),
        ("character_error_rate", 0.4, 0.02, 0.1, True),
        ("character_error_rate", 0.4, 0.1, 0.02, False),
        ("bits_per_character", 6.0, 2.1, 2.0, False),
    ],
)
def test_what_is_as_good_as_a_model_is_said(name, worse, best, model, is_said):
    """By the first score."""
    baselines = {"left as it is": {name: worse}, "letters in context": {name: best}}
    line = say_if_equalled({**baselines, "model": {name: model, "letters_kept": 0.5}}, 300)
    parts = ["letters in context", f"{best:.4f}", f"{model:.4f}", "--max_steps 600"]
    assert [part in (line or "") for part in parts] == [is_said] * 4


def test_a_test_that_both_pass_asks_for_a_harder_one_and_a_model_whose_letters_are_kept_counts():
    for name, perfect in (("exact_match", 1.0), ("chrf", 100.0), ("phone_error_rate", 0.0)):
        both = {"letters in context": {name: perfect}, "model": {name: perfect}}
        assert "harder" in say_if_equalled(both, 300)
        assert "--max_steps" not in say_if_equalled(both, 300)
    scores = {"left as it is": {"exact_match": 0.5}, "model": {"exact_match": 0.4}}
    assert "left as it is" in say_if_equalled(scores, 3)
    assert say_if_equalled({**scores, "model, letters kept": {"exact_match": 0.6}}, 3) is None
    assert say_if_equalled({"model": {"exact_match": 0.4}}, 3) is None


def test_metrics_describe_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["somewhere/recipes/seq2seq.py", "--seed", "3"])
    path = tmp_path / "metrics.json"
    write_metrics(path, {"ação": {"score": 0.25, "perplexity": float("inf"), "texts": 2}})
    assert "ação" in path.read_text(encoding="utf-8")
    metrics = json.loads(path.read_text(encoding="utf-8"))
    run = metrics.pop("run")
    assert metrics == {"ação": {"score": 0.25, "perplexity": None, "texts": 2}}  # JSON has no infinity
    assert run["command"] == "python -m atenta.recipes.seq2seq --seed 3"
    assert run["date"] == date.today().isoformat()
    assert run["versions"]["transformers"] == version("transformers")
    assert run["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "cores" in run["machine"]


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
