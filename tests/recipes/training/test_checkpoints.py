"""Checkpoints: which one a run resumes from, which are deleted, and the mean of their weights."""

import json
import os
from dataclasses import dataclass
from typing import Annotated

import pytest
import torch
from safetensors.torch import save_file

from atenta import AtentaDecoderForCausalLM
from atenta.hub.publishing import PushError
from atenta.recipes.option_annotations import Mark
from atenta.recipes.training import RecipeArguments, runs, start_run
from atenta.recipes.training.checkpoints import (
    average_checkpoints,
    checkpoints_of,
    checkpoints_to_average,
    delete_checkpoint,
    delete_old_checkpoints,
    load_weights,
    mark_complete,
    step_of,
)
from atenta.recipes.training.runs import use_all_cores
from support.models import assert_close, texts, tiny_model


@dataclass
class Sizes:
    hidden_size: int = 16
    label: str = "a"


@dataclass
class Sample:
    prompt: Annotated[str, Mark.INCIDENTAL]


def arguments(folder, **training):
    return RecipeArguments(output_dir=str(folder), use_cpu=True, report_to="none", **training)


def find(folder, sizes=None, **training):
    """Start a run, let it go, and return the checkpoint that it resumes from."""
    run = start_run(sizes or Sizes(), arguments(folder, **training))
    run.begin()
    run.end()
    return run.checkpoint


def write(folder, step, complete=True, **state):
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    save_file({"weight": torch.tensor([float(step)])}, checkpoint / "model.safetensors")
    torch.save({"state": torch.tensor([float(step)])}, checkpoint / "optimizer.pt")
    torch.save({"step": step}, checkpoint / "scheduler.pt")
    (checkpoint / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    if complete:
        mark_complete(checkpoint, {})
    return checkpoint


def steps(folder):
    return [step_of(checkpoint) for checkpoint in checkpoints_of(folder)]


def test_the_last_complete_checkpoint_is_found_and_incomplete_ones_are_deleted(tmp_path):
    find(tmp_path)
    for step, complete in ((9, True), (100, True), (20, False), (110, False)):
        write(tmp_path, step, complete)
    assert find(tmp_path) == tmp_path / "checkpoint-100"
    assert steps(tmp_path) == [9, 100]


def test_after_incomplete_checkpoints_alone_options_may_change(tmp_path):
    find(tmp_path)
    write(tmp_path, 5, complete=False)
    assert find(tmp_path, Sizes(hidden_size=32)) is None
    assert steps(tmp_path) == []


@pytest.mark.parametrize("complete", [True, False])
def test_files_not_written_by_a_recipe_are_kept(tmp_path, complete):
    checkpoint = write(tmp_path / "checkpoints", 5, complete)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    for folder in ("checkpoints", "model"):
        with pytest.raises(SystemExit, match=r"was not written by a recipe: there is no options\.yaml"):
            find(tmp_path / folder)
    assert checkpoint.is_dir()
    assert find(tmp_path / "model", overwrite_output_dir=True) is None


def test_folders_with_similar_names_are_kept(tmp_path):
    find(tmp_path)
    (tmp_path / "checkpoint-notes").mkdir()
    write(tmp_path, 5)
    assert find(tmp_path, overwrite_output_dir=True) is None
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-notes"]


@pytest.mark.parametrize(
    ("sizes", "training", "message"),
    [
        (Sizes(hidden_size=32), {}, "hidden_size was 16, is 32"),
        (Sizes(label="é"), {}, "label was a, is 'é'"),
        (None, {"learning_rate": 0.1}, "learning_rate was null, is 0.1"),
        (None, {"seed": 7, "max_steps": 9}, "max_steps was -1, is 9, seed was 42, is 7"),
    ],
)
def test_changed_options_are_named(tmp_path, sizes, training, message):
    find(tmp_path)
    checkpoint = write(tmp_path, 5)
    with pytest.raises(SystemExit, match=rf"checkpoint-5 belongs to a run with other options \({message}\)"):
        find(tmp_path, sizes, **training)
    assert find(tmp_path, sizes, resume_from_checkpoint=str(checkpoint), **training) == checkpoint
    assert find(tmp_path, sizes, **training) == checkpoint  # from now on these are the options of the run


def test_options_without_effect_on_training_may_change(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "expect_pushable", lambda *_, **__: None)  # it would ask the Hub
    find(tmp_path, Sample("Era uma vez"))
    checkpoint = write(tmp_path, 5)
    changed = {"disable_tqdm": True, "run_name": "again", "push_to_hub": True, "replace_on_hub": True}
    changed |= {"card_language": "pt", "card_title": "Um dia", "country_iso_code": "PRT"}
    assert find(tmp_path, Sample("Um dia"), **changed) == checkpoint


def test_a_model_that_could_not_be_pushed_is_not_trained(tmp_path, monkeypatch):
    asked = []

    def refuse(repository, **options):
        asked.append((repository, options))
        raise PushError("ana/x has a model already.")

    monkeypatch.setattr(runs, "expect_pushable", refuse)
    find(tmp_path)
    with pytest.raises(SystemExit, match=r"^--push_to_hub: ana/x has a model already\. \(--hub_model_id, "):
        find(tmp_path, push_to_hub=True, hub_model_id="ana/x", hub_private_repo=False)
    assert asked == [("ana/x", {"private": False, "replace": False, "token": None})]


def test_overwriting_deletes_all_checkpoints(tmp_path):
    find(tmp_path)
    write(tmp_path, 5)
    assert find(tmp_path, Sizes(hidden_size=32), overwrite_output_dir=True) is None
    assert steps(tmp_path) == []
    write(tmp_path, 6)
    assert find(tmp_path, Sizes(hidden_size=32)) == tmp_path / "checkpoint-6"


DAMAGE = {
    "missing": (lambda path: path.unlink(), "optimizer.pt is missing"),
    "cut": (lambda path: os.truncate(path, 9), "optimizer.pt has 9 bytes instead of"),
    "garbage": (
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        "optimizer.pt has other contents than when it was written",
    ),
}


@pytest.fixture
def run_folder(tmp_path):
    """The folder of a run with three checkpoints."""
    find(tmp_path)
    for step in (5, 6, 7):
        write(tmp_path, step)
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGE)
def test_after_a_damaged_checkpoint_the_one_before_is_resumed(run_folder, damage, capsys):
    damaging, message = DAMAGE[damage]
    damaging(run_folder / "checkpoint-7" / "optimizer.pt")
    assert find(run_folder) == run_folder / "checkpoint-6"
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{run_folder / 'checkpoint-7'} is damaged ({message}")
    assert line.endswith("it is kept as checkpoint-7.damaged.")
    assert steps(run_folder) == [5, 6]
    assert (run_folder / "checkpoint-7.damaged" / "model.safetensors").is_file()

    write(run_folder, 7)
    damaging(run_folder / "checkpoint-7" / "optimizer.pt")
    assert find(run_folder) == run_folder / "checkpoint-6"
    assert "it is kept as checkpoint-7.damaged1." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', "[1]", '[{"file": "optimizer.pt"}]', "\0\0", " "])
def test_a_mark_that_is_no_list_is_damage(run_folder, text, capsys):
    (run_folder / "checkpoint-7" / "whole").write_text(text, encoding="utf-8")
    assert find(run_folder) == run_folder / "checkpoint-6"
    assert "checkpoint-7 is damaged (whole is not the list of its files)" in capsys.readouterr().out


def test_if_all_checkpoints_are_damaged_the_run_stops_and_nothing_is_changed(run_folder):
    (run_folder / "checkpoint-5" / "model.safetensors").write_bytes(b"")
    for step in (6, 7):
        (run_folder / f"checkpoint-{step}" / "optimizer.pt").unlink()
    before = contents(run_folder)
    with pytest.raises(
        SystemExit, match=r"No checkpoint is intact: .*-7 \(optimizer\.pt is missing\), .*-5 \(model\.s"
    ):
        find(run_folder)
    assert contents(run_folder) == before
    assert find(run_folder, overwrite_output_dir=True) is None


def test_a_named_checkpoint_must_be_intact(run_folder):
    (run_folder / "checkpoint-6" / "optimizer.pt").unlink()
    with pytest.raises(SystemExit, match=r"checkpoint-6: expected a complete .* \(optimizer\.pt is missing\)"):
        find(run_folder, resume_from_checkpoint=str(run_folder / "checkpoint-6"))


@pytest.mark.parametrize("damage", ["missing", "incomplete", "damaged"])
def test_a_checkpoint_whose_best_one_is_damaged_is_not_resumed(tmp_path, damage, capsys):
    best = {"eval_strategy": "no", "save_strategy": "steps", "load_best_model_at_end": True}
    best |= {"eval_strategy": "steps", "save_steps": 1, "eval_steps": 1}
    find(tmp_path, **best)
    for step, of_step in ((5, 5), (6, 6), (7, 6)):
        write(tmp_path, step, best_model_checkpoint=str(tmp_path / f"checkpoint-{of_step}"))
    if damage == "missing":
        delete_checkpoint(tmp_path / "checkpoint-6")
    elif damage == "incomplete":
        (tmp_path / "checkpoint-6" / "whole").unlink()
    else:
        (tmp_path / "checkpoint-6" / "model.safetensors").write_bytes(b"")
    assert find(tmp_path, **best) == tmp_path / "checkpoint-5"
    assert f"checkpoint-7 is damaged (its best checkpoint, {tmp_path / 'checkpoint-6'}: " in capsys.readouterr().out


class Malicious:
    """A pickle of it creates a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth"])
def test_a_malicious_pickle_is_refused_and_runs_nothing(tmp_path, name):
    find(tmp_path)
    torch.save({"state": Malicious(tmp_path / "hacked")}, write(tmp_path, 5, complete=False) / name)
    mark_complete(tmp_path / "checkpoint-5", {})
    with pytest.raises(
        SystemExit, match=rf"No checkpoint is intact: .*checkpoint-5 \({name} cannot be read: Unpickling"
    ):
        find(tmp_path)
    with pytest.raises(SystemExit, match=rf"checkpoint-5: expected .* \({name} cannot be read"):
        find(tmp_path, resume_from_checkpoint=str(tmp_path / "checkpoint-5"))
    assert not (tmp_path / "hacked").exists()


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_named_checkpoint_must_be_complete(tmp_path):
    half = write(tmp_path / "old", 5, complete=False)
    for path in (half, tmp_path / "nothing"):
        with pytest.raises(SystemExit, match=f"--resume_from_checkpoint {path}: expected a complete checkpoint"):
            find(tmp_path / "new", resume_from_checkpoint=str(path))
    mark_complete(half, {})
    assert find(tmp_path / "new", resume_from_checkpoint=str(half)) == half
    later = write(tmp_path / "new", 6)
    assert find(tmp_path / "new") == later


@pytest.mark.parametrize(
    ("limit", "best", "kept"),
    [
        (None, None, [2, 9, 10, 100]),
        (2, None, [10, 100]),
        (1, "checkpoint-2", [2, 100]),
        (2, "checkpoint-100", [10, 100]),
    ],
)
def test_the_last_checkpoints_and_the_best_are_kept(tmp_path, limit, best, kept):
    for step in (2, 9, 10, 100):
        write(tmp_path, step)
    delete_old_checkpoints(tmp_path, limit, best and str(tmp_path / best))
    assert steps(tmp_path) == kept


def test_the_mark_is_deleted_first(tmp_path, monkeypatch):
    find(tmp_path)
    checkpoint = write(tmp_path, 5)
    monkeypatch.setattr("shutil.rmtree", lambda _: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        delete_checkpoint(checkpoint)
    monkeypatch.undo()
    assert find(tmp_path) is None


def test_start_sets_the_seed_and_finds_the_checkpoint(tmp_path):
    run = start_run(arguments(tmp_path, seed=3))
    first = torch.rand(4)
    assert run.checkpoint is None
    run.begin()
    checkpoint = write(tmp_path, 5)
    assert start_run(arguments(tmp_path, seed=3)).checkpoint == checkpoint
    assert torch.equal(torch.rand(4), first)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), first)


def test_processes_that_do_not_see_each_other_are_an_error(tmp_path, monkeypatch):
    alone = arguments(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit, match=r"2 processes were started, but this process sees 1\. On CPUs"):
        start_run(alone)


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1"}, 8),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "4"}, 2),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "16"}, 1),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 3),
    ],
)
def test_cores_are_divided_if_accelerate_gave_one_thread(monkeypatch, environment, threads):
    for name in ("ACCELERATE_MIXED_PRECISION", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        use_all_cores()
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def scored(tmp_path):
    """Checkpoints as the Trainer writes them, each with the history up to its step; step 5 has no score."""
    losses = {4: 0.5, 8: 0.2, 12: 0.2, 100: 0.4}
    for last in (4, 5, 8, 12, 100):
        history = [{"step": step, "eval_loss": loss, "epoch": 1.0} for step, loss in losses.items() if step <= last]
        write(tmp_path, last, log_history=[{"step": 3, "loss": 9.0}, *history], global_step=last)
    (tmp_path / "checkpoint-notes").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"average_last_checkpoints": 2}, [100, 12]),
        ({"average_last_checkpoints": 5}, [100, 12, 8, 5, 4]),
        ({"average_best_checkpoints": 3, "metric_for_best_model": "loss"}, [12, 8, 100]),
        ({"average_best_checkpoints": 2, "metric_for_best_model": "eval_loss", "greater_is_better": True}, [4, 100]),
        ({}, []),
        ({"average_last_checkpoints": 6}, "Found 5 checkpoints in .* expected 6: raise --save_total_limit"),
        ({"average_best_checkpoints": 5, "metric_for_best_model": "loss"}, "Found 4 checkpoints with eval_loss in"),
        ({"average_best_checkpoints": 1, "metric_for_best_model": "bleu"}, "Found 0 checkpoints with eval_bleu in"),
    ],
)
def test_the_last_and_the_best_checkpoints_are_selected(scored, options, selected):
    training = arguments(scored, eval_strategy="epoch", **options)
    if isinstance(selected, str):
        with pytest.raises(ValueError, match=selected):
            checkpoints_to_average(training)
    else:
        assert [step_of(checkpoint) for checkpoint in checkpoints_to_average(training)] == selected


def save(folder, **weights):
    folder.mkdir()
    save_file(weights, folder / "model.safetensors")
    return folder


def tiny(seed, **options):
    return tiny_model(AtentaDecoderForCausalLM, seed, hidden_size=16, num_hidden_layers=1, **options)


def test_the_mean_equals_one_worked_by_hand(tmp_path):
    counts = torch.tensor([7])
    folders = [
        save(tmp_path / str(index), weight=torch.tensor(weight), counts=counts)
        for index, weight in enumerate([[1.0, -2.0], [2.0, 2.0], [6.0, 3.0]])
    ]
    mean = average_checkpoints(folders)
    assert mean.keys() == {"weight", "counts"}
    assert torch.equal(mean["weight"], torch.tensor([3.0, 1.0]))
    assert torch.equal(mean["counts"], counts)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.float16, 60_000.0),  # 60,000 + 60,000 is infinite in float16
        (torch.float64, 1 + 2**-40),  # 1 in float32
    ],
)
def test_the_mean_keeps_the_type(tmp_path, dtype, value):
    folders = [save(tmp_path / name, weight=torch.tensor([value], dtype=dtype)) for name in "ab"]
    mean = average_checkpoints(folders)["weight"]
    assert mean.dtype == dtype
    assert mean.item() == value


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_with_averaged_weights(tmp_path, tied):
    models = [tiny(seed, tie_word_embeddings=tied) for seed in (1, 2, 3)]
    folders = [tmp_path / str(index) for index in range(3)]
    models[0].save_pretrained(folders[0], max_shard_size="5KB")
    for model, folder in zip(models[1:], folders[1:]):
        model.save_pretrained(folder)
    assert len(list(folders[0].glob("model-*.safetensors"))) > 1  # one is saved in shards
    averaged = tiny(0, tie_word_embeddings=tied)
    load_weights(averaged, average_checkpoints(folders))
    for name, parameter in averaged.named_parameters():
        assert_close(parameter, sum(model.get_parameter(name) for model in models) / 3, 1e-6)
    assert (averaged.lm_head.weight is averaged.get_input_embeddings().weight) is tied

    averaged.save_pretrained(tmp_path / "averaged")
    loaded = AtentaDecoderForCausalLM.from_pretrained(tmp_path / "averaged")
    assert torch.equal(loaded(texts()).logits, averaged(texts()).logits)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"weight": torch.zeros(3)}, r"weight is torch.float32 of shape \(2,\) in .*a and .* \(3,\) in .*b"),
        ({"weight": torch.zeros(2).half()}, "weight is torch.float32 .* torch.float16"),
        ({}, r"weight is torch.float32 .* and missing in .*b"),
        ({"weight": torch.zeros(2), "bias": torch.zeros(1)}, "bias is missing in .*a and torch.float32"),
        ({"weight": torch.zeros(2), "counts": torch.tensor([8])}, "counts differs"),
    ],
)
def test_checkpoints_that_differ_are_not_averaged(tmp_path, other, message):
    folders = [
        save(tmp_path / "a", weight=torch.zeros(2), counts=torch.tensor([7])),
        save(tmp_path / "b", **({"counts": torch.tensor([7])} | other)),
    ]
    with pytest.raises(ValueError, match=message):
        average_checkpoints(folders)


def test_a_folder_without_weights_is_not_averaged(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no model\.safetensors"):
        average_checkpoints([tmp_path])
    with pytest.raises(ValueError, match="no checkpoints"):
        average_checkpoints([])


def test_weights_of_another_model_are_not_loaded():
    weights = tiny(0).state_dict()
    with pytest.raises(ValueError, match=r"missing \['lm_head.bias'\]"):
        load_weights(tiny(0), {name: weight for name, weight in weights.items() if name != "lm_head.bias"})
    with pytest.raises(ValueError, match=r"unexpected \['more'\]"):
        load_weights(tiny(0), weights | {"more": torch.zeros(1)})
