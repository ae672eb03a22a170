"""The output folder of a run that has trained; pushing is held with a Hub on this machine."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from transformers import AutoTokenizer

from atenta.modeling import AtentaDecoderForCausalLM
from atenta.recipes.reporting import results
from atenta.recipes.reporting.results import finish, push
from support.recipes import assert_picture
from support.saved import save_with_tokenizer

SCORES = {"uniform characters": {"bits_per_character": 5.0}, "model": {"bits_per_character": 2.5}}
ABOUT = {"data": "tales", "language": "pt", "licence": "apache-2.0"}


@pytest.fixture
def trainer(tmp_path):
    """Stands for a `RecipeTrainer` that has trained: what `finish` reads of it."""
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "saved")
    model.config.use_cache = False
    folder = tmp_path / "model"

    def save_model():
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tmp_path / "saved").save_pretrained(folder)
        (folder / "training_args.bin").write_bytes(b"a pickle")

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
    )


def test_scores_and_figures_are_kept_and_told(trainer, capsys):
    finish(trainer, scores=SCORES, predictions={"text": ["a"], "output": ["b"]}, about=ABOUT)
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


def test_the_folder_holds_no_pickle_and_a_model_that_caches(trainer):
    finish(trainer, scores=SCORES, about=ABOUT)
    folder = Path(trainer.args.output_dir)
    assert not (folder / "training_args.bin").exists()
    assert not (folder / "predictions.tsv").exists()
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["use_cache"] is True


def test_the_card_tells_the_model_s_scores_and_its_data(trainer):
    finish(trainer, scores=SCORES, about=ABOUT)
    card = Path(trainer.args.output_dir, "README.md").read_text(encoding="utf-8")
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert (metadata["language"], metadata["license"]) == ("pt", "apache-2.0")
    (result,) = metadata["model-index"][0]["results"]
    assert result["dataset"]["name"] == "tales"
    assert [(metric["type"], metric["value"]) for metric in result["metrics"]] == [("bits_per_character", 2.5)]


def test_another_process_than_the_main_one_only_saves_its_part(trainer, capsys):
    trainer.is_world_process_zero = lambda: False
    finish(trainer, scores=SCORES, predictions={"text": ["a"]}, about=ABOUT)
    names = {path.name for path in Path(trainer.args.output_dir).iterdir()}
    assert "model.safetensors" in names
    assert not {"metrics.json", "predictions.tsv", "learning_curve.png"} & names
    assert capsys.readouterr().out == ""


class Hub:
    """Stands for `huggingface_hub.HfApi`, and remembers what it was asked."""

    calls: dict[str, dict] = {}

    def __init__(self, token):
        self.calls["token"] = token

    def create_repo(self, name, **options):
        self.calls["create_repo"] = {"name": name, **options}
        return SimpleNamespace(repo_id=f"someone/{name}")

    def upload_folder(self, **options):
        self.calls["upload_folder"] = options


@pytest.mark.parametrize("asked", [False, True])
def test_it_is_pushed_when_asked_without_pickles_and_under_the_hub_s_name(trainer, monkeypatch, asked):
    monkeypatch.setattr(results, "HfApi", Hub)
    monkeypatch.setattr(Hub, "calls", {})
    trainer.push_when_finished = asked
    finish(trainer, scores=SCORES, about=ABOUT)
    assert bool(Hub.calls) is asked
    if asked:
        assert Hub.calls["token"] == "hf_secret"
        assert Hub.calls["create_repo"] == {"name": "model", "private": True, "exist_ok": True}
        upload = Hub.calls["upload_folder"]
        assert upload["repo_id"] == "someone/model"
        assert {"checkpoint-*", "*.bin", "*.pt"} <= set(upload["ignore_patterns"])
        assert "someone/model" in Path(trainer.args.output_dir, "README.md").read_text(encoding="utf-8")


def test_the_name_on_the_hub_may_be_given(trainer, monkeypatch):
    monkeypatch.setattr(results, "HfApi", Hub)
    trainer.save_model()
    trainer.args.hub_model_id = "accents"
    push(trainer, {"scores": SCORES["model"], **ABOUT})
    assert Hub.calls["create_repo"]["name"] == "accents"
