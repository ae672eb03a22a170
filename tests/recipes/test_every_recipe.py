"""The contract of all recipes that train: they write a complete folder, go on from a saved model, refuse in a line."""

import json
import re
import shutil

import pytest
import torch
import transformers

from atenta.hub.card_words import translate
from support.command import run as run_command
from support.recipe_cases import CASES, refused_files, train_case
from support.recipes import (
    assert_complete,
    assert_reported,
    launch_two,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    run_recorded,
    tiny,
)
from support.saved import save_with_tokenizer

every_recipe = pytest.mark.parametrize("name", CASES)
WITHOUT_EVALUATE = {"pretrain_denoising", "pretrain_masked", "train_embeddings"}


def assert_predicted(folder, case):
    """Check that each row of the test was scored once, in its order, and that the scores are of these predictions."""
    if case.columns is None:
        assert not (folder / "predictions.tsv").exists()
        return
    names, gold = case.columns
    rows = read_predictions(folder)
    assert list(rows[0])[: len(names)] == names
    assert [row["gold"] for row in rows] == gold
    if case.score is not None:
        assert read_metrics(folder)["test"]["model"] == pytest.approx(case.score(rows), abs=1e-6)


@every_recipe
def test_a_run_is_complete(trained, name):
    run = trained(name)
    assert_complete(run.folder, run.case.auto_class, run.case.baselines)
    assert_reported(run.done, run.folder)
    assert_predicted(run.folder, run.case)
    assert f"Saved in {run.folder}\n" in run.done.stdout
    assert bool(re.search(rf"\n\$ (printf .* \| )?atenta predict {run.folder}", run.done.stdout)) is run.case.command


@every_recipe
def test_the_same_command_only_scores_what_is_trained(trained, name, tmp_path):
    run, copy = trained(name), tmp_path / "model"
    shutil.copytree(run.folder, copy)
    (copy / "metrics.json").unlink()
    done = run_recorded(name, tmp_path, *run.command, "--output_dir", copy)
    assert f"Resuming from {copy}/checkpoint-" in done.stdout
    assert "training had ended there, and the model is only scored" in done.stdout
    assert read_metrics(copy)["test"] == read_metrics(run.folder)["test"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_EVALUATE])
def test_the_command_finds_the_scores_of_the_run(trained, name, tmp_path):
    """From the saved model alone."""
    run, output = trained(name), tmp_path / "scores.json"
    test_file = run.files.get("test_file", run.files["validation_file"])
    run_command("evaluate", run.folder, "--test_file", test_file, "--output", output)
    found, expected = json.loads(output.read_text(encoding="utf-8"))["test"], read_metrics(run.folder)["test"]
    assert "model" in found
    for each, scores in found.items():
        assert scores == pytest.approx(expected[each], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "rank"),
    [("seq2seq", "null"), *((name, "null" if name == "train_embeddings" else 2) for name in CASES)],
)
def test_a_saved_model_is_trained_further(trained, name, rank, tmp_path):
    """A tiny learning rate leaves it as it is, also by LoRA, which is merged into weights that load without it."""
    run = trained(name)
    more = train_further(run, name, tmp_path, max_steps=1, eval_steps=1, learning_rate=1e-12, lora_rank=rank)
    assert (more / "checkpoint-1" / "adapter_model.safetensors").exists() is (rank == 2)
    scores, same = (read_metrics(folder)["test"]["model"] for folder in (run.folder, more))
    assert same == pytest.approx(scores, rel=1e-3)
    auto_class = getattr(transformers, run.case.auto_class)
    before, after = (load(folder, auto_class)[1].state_dict() for folder in (run.folder, more))
    assert after.keys() == before.keys()
    assert all(torch.allclose(after[each], before[each], atol=1e-3) for each in before)


def test_lora_changes_the_blocks_of_a_pretrained_encoder_alone(trained, tmp_path):
    start = trained("pretrain_masked").folder
    changes = {"model_name_or_path": start, "max_steps": 2, "eval_steps": 2, "lora_rank": 2}
    more = train_further(trained("finetune_classification"), "finetune_classification", tmp_path, **changes)
    before, after = (load(folder, transformers.AutoModel)[1].state_dict() for folder in (start, more))
    changed = {each for each in after if not torch.equal(after[each], before[each])}
    assert any("layers" in each for each in changed)
    assert not any("embed" in each for each in changed)


def test_letters_are_read_by_a_pretrained_encoder_and_units_parted_as_before(trained, tmp_path):
    run, once = trained("finetune_letters"), {"max_steps": 1, "eval_steps": 1}
    start = trained("pretrain_masked").folder
    more = train_further(run, "finetune_letters", tmp_path, model_name_or_path=start, **once)
    assert load(more, transformers.AutoModelForTokenClassification)[1].config.type_vocab_size == 2
    with pytest.raises(SystemExit, match="--target_separator None: the saved tagger has ' '"):
        train_further(run, "finetune_letters", tmp_path / "other", target_separator="null", **once)


def train_further(run, name, folder, **changed):
    """Train the model of a run further, into `more` of a folder, which is returned."""
    options = {**run.files, **run.case.options, "model_name_or_path": run.folder, "output_dir": folder / "more"}
    run_here(name, folder, *tiny(name, **options | {"optim": "adamw_torch_fused", **changed}))
    return folder / "more"


def test_baselines_have_names_in_portuguese():
    names = {part for case in CASES.values() for name in case.baselines for part in name.split(" + ")}
    assert not {name for name in names if translate(name, "pt") == name}


@every_recipe
def test_a_malformed_row_is_named_by_file_and_place(name, tmp_path):
    file, content, message = CASES[name].bad
    (tmp_path / file).write_text(content, encoding="utf-8")
    words = refused_files(name, tmp_path, tmp_path / file)
    assert refusal(name, tmp_path, *words).startswith(f"{tmp_path / file}{message}")


@every_recipe
def test_another_kind_of_model_is_refused(name, tmp_path):
    model_class, expected = CASES[name].other
    save_with_tokenizer(model_class, tmp_path / "other")
    reason = refusal(name, tmp_path, *refused_files(name, tmp_path, model_name_or_path=tmp_path / "other"))
    assert reason.startswith(f"--model_name_or_path {tmp_path / 'other'}")
    assert reason.endswith(f"expected {expected}")


@every_recipe
def test_an_unknown_score_cannot_choose_the_best_checkpoint(name, tmp_path):
    reason = refusal(name, tmp_path, *refused_files(name, tmp_path, metric_for_best_model="beauty"))
    assert re.match(rf"--metric_for_best_model beauty: expected one of loss, .*\b{CASES[name].metric}\b", reason)
    assert "configuration file" in reason


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seq2seq", "finetune_classification", "finetune_characters"])
def test_launched_processes_score_each_row_once(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    run = train_case(
        name, tmp_path, lambda name, _, *words: launch_two(name, *words, "--per_device_eval_batch_size", 2)
    )
    assert run.done.count(f"\n{sorted(run.case.baselines)[0]}") == 1
    assert_complete(run.folder, run.case.auto_class, run.case.baselines)
    assert_predicted(run.folder, run.case)
