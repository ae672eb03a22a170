"""Checkpoints: which one a run resumes from, which are deleted, and the mean of their weights."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import torch
from safetensors.torch import save_file

from atenta import AtentaDecoderForCausalLM
from atenta.recipes.option_annotations import Mark
from atenta.recipes.training.checkpoints import (
    checkpoints_of,
    checkpoints_to_average,
    delete_checkpoint,
    delete_old_checkpoints,
    load_mean,
    mark_complete,
    step_of,
)
from atenta.recipes.training.options import RecipeArguments
from atenta.recipes.training.runs import start_run
from support.models import tiny_model
from support.recipes import contents


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


def test_without_complete_checkpoints_options_may_change(tmp_path, monkeypatch):
    find(tmp_path)
    write(tmp_path, 5, complete=False)
    checkpoint = write(tmp_path, 6)
    monkeypatch.setattr("shutil.rmtree", lambda _: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        delete_checkpoint(checkpoint)  # which is incomplete from the first moment on
    monkeypatch.undo()
    assert find(tmp_path, Sizes(hidden_size=32)) is None
    assert steps(tmp_path) == []


def test_a_model_without_checkpoints_is_not_replaced_by_a_run_with_other_options(tmp_path):
    find(tmp_path)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(SystemExit, match=r"model\.safetensors belongs to a run with other options"):
        find(tmp_path, Sizes(hidden_size=32))
    assert find(tmp_path) is None  # the same command trains it anew


def test_a_run_that_goes_on_in_another_folder_deletes_nothing_there(tmp_path):
    named = write(tmp_path / "a", 5, global_step=5)
    write(tmp_path / "b", 500, complete=False)
    with pytest.raises(SystemExit, match=r"was not written by a recipe"):
        find(tmp_path / "b", resume_from_checkpoint=str(named))
    find(tmp_path / "c")
    of_another_run = write(tmp_path / "c", 3)
    assert find(tmp_path / "c", resume_from_checkpoint=str(named)) == named
    assert not of_another_run.exists()
    assert of_another_run.with_name("checkpoint-3.replaced").is_dir()


@pytest.mark.parametrize("complete", [True, False])
def test_files_not_written_by_a_recipe_are_kept_and_only_checkpoints_are_overwritten(tmp_path, complete):
    checkpoint = write(tmp_path / "checkpoints", 5, complete)
    (tmp_path / "model" / "checkpoint-notes").mkdir(parents=True)
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    for folder in ("checkpoints", "model"):
        with pytest.raises(SystemExit, match=r"was not written by a recipe: there is no options\.yaml"):
            find(tmp_path / folder)
    assert checkpoint.is_dir()
    write(tmp_path / "model", 5)
    assert find(tmp_path / "model", Sizes(hidden_size=32), overwrite_output_dir=True) is None
    assert [path.name for path in (tmp_path / "model").glob("checkpoint-*")] == ["checkpoint-notes"]
    later = write(tmp_path / "model", 6)
    assert find(tmp_path / "model", Sizes(hidden_size=32)) == later


def test_options_without_effect_on_training_may_change(tmp_path):
    find(tmp_path, Sample("Era uma vez"))
    checkpoint = write(tmp_path, 5)
    changed = {"disable_tqdm": True, "run_name": "again", "replace_on_hub": True, "card_language": "pt"}
    assert find(tmp_path, Sample("Um dia"), **changed, card_title="Um dia", country_iso_code="PRT") == checkpoint


class Malicious:
    """A pickle of it creates a file when it is loaded."""

    def __reduce__(self):
        return open, ("hacked", "w")


def pickle(path):
    (path.parent / "whole").unlink()
    torch.save({"state": Malicious()}, path)
    mark_complete(path.parent, {})


DAMAGE = {
    "missing": (Path.unlink, "optimizer.pt is missing"),
    "cut": (lambda path: os.truncate(path, 9), "optimizer.pt has 9 bytes instead of"),
    "garbage": (lambda path: path.write_bytes(bytes(path.stat().st_size)), "optimizer.pt has other contents than"),
    "pickle": (pickle, "optimizer.pt cannot be read: Unpickling"),
    "incomplete": (lambda path: (path.parent / "whole").unlink(), "it is missing or incomplete"),
    **{
        f"mark {text}": (
            lambda path, text=text: (path.parent / "whole").write_text(text, encoding="utf-8"),
            "whole is not the list of its files",
        )
        for text in ("", "[1]", '[{"file": 1}]')
    },
}


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """The folder of a run with three checkpoints; it is the current one."""
    monkeypatch.chdir(tmp_path)
    find(tmp_path / "run")
    for step in (5, 6, 7):
        write(tmp_path / "run", step)
    return tmp_path / "run"


@pytest.mark.parametrize("damage", DAMAGE)
def test_after_a_damaged_checkpoint_the_one_before_is_resumed(run_folder, damage, capsys):
    damaging, message = DAMAGE[damage]
    for number in ("", "1"):
        damaging(run_folder / "checkpoint-7" / "optimizer.pt")
        with pytest.raises(SystemExit) as stopped:
            find(run_folder.with_name("other"), resume_from_checkpoint=str(run_folder / "checkpoint-7"))
        assert f"checkpoint-7: expected a complete checkpoint of a recipe ({message}" in str(stopped.value)
        assert find(run_folder) == run_folder / "checkpoint-6"
        if damage == "incomplete":
            assert not (run_folder / "checkpoint-7").exists()
            return
        (line,) = capsys.readouterr().out.splitlines()
        assert line.startswith(f"{run_folder / 'checkpoint-7'} is damaged ({message}")
        assert line.endswith(f"it is kept as checkpoint-7.damaged{number}.")
        assert (run_folder / f"checkpoint-7.damaged{number}" / "model.safetensors").is_file()
        assert steps(run_folder) == [5, 6]
        write(run_folder, 7)
    assert not run_folder.with_name("hacked").exists()


def test_if_all_checkpoints_are_damaged_the_run_stops_and_nothing_is_changed(run_folder):
    (run_folder / "checkpoint-5" / "model.safetensors").write_bytes(b"")
    for step in (6, 7):
        (run_folder / f"checkpoint-{step}" / "optimizer.pt").unlink()
    before = contents(run_folder)
    with pytest.raises(SystemExit, match=r"is intact: .*-7 \(optimizer\.pt is missing\), .*-5 \(model\.s"):
        find(run_folder)
    assert contents(run_folder) == before
    assert find(run_folder, overwrite_output_dir=True) is None


@pytest.mark.parametrize("damage", ["missing", "incomplete", "pickle"])
def test_a_checkpoint_whose_best_one_is_damaged_is_not_resumed(tmp_path, damage, capsys):
    best = {"eval_strategy": "steps", "save_strategy": "steps", "load_best_model_at_end": True}
    find(tmp_path, **best)
    for step, of_step in ((5, 5), (6, 6), (7, 6)):
        write(tmp_path, step, best_model_checkpoint=str(tmp_path / f"checkpoint-{of_step}"))
    DAMAGE[damage][0](tmp_path / "checkpoint-6" / "optimizer.pt")
    assert find(tmp_path, **best) == tmp_path / "checkpoint-5"
    assert f"checkpoint-7 is damaged (its best checkpoint, {tmp_path / 'checkpoint-6'}: " in capsys.readouterr().out


def test_a_named_checkpoint_may_be_in_another_folder(tmp_path):
    earlier = write(tmp_path / "old", 5)
    with pytest.raises(SystemExit, match=f"--resume_from_checkpoint {tmp_path / 'nothing'}: expected a complete"):
        find(tmp_path / "new", resume_from_checkpoint=str(tmp_path / "nothing"))
    assert find(tmp_path / "new", resume_from_checkpoint=str(earlier)) == earlier
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


SCORES = {4: 0.5, 8: 0.2, 12: 0.2, 100: 0.4}
HISTORY = [
    {"step": 3, "loss": 9.0},
    *({"step": step, "eval_loss": score, "eval_chrf": score} for step, score in SCORES.items()),
]


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"average_last_checkpoints": 2}, [100, 12]),
        ({"average_last_checkpoints": 5}, [100, 12, 8, 5, 4]),
        ({"average_best_checkpoints": 3, "metric_for_best_model": "loss"}, [12, 8, 100]),
        ({"average_best_checkpoints": 2, "metric_for_best_model": "chrf"}, [4, 100]),
        ({}, []),
        ({"average_last_checkpoints": 6}, "Found 5 checkpoints in .* expected 6: raise --save_total_limit"),
        ({"average_best_checkpoints": 5, "metric_for_best_model": "loss"}, "Found 4 checkpoints with eval_loss in"),
        ({"average_best_checkpoints": 1, "metric_for_best_model": "bleu"}, "Found 0 checkpoints with eval_bleu in"),
    ],
)
def test_the_last_and_the_best_checkpoints_are_selected(tmp_path, options, selected):
    """Step 5 has no score."""
    for step in (4, 5, 8, 12, 100):
        write(tmp_path, step)
    training = arguments(tmp_path, eval_strategy="epoch", **options)
    if isinstance(selected, str):
        with pytest.raises(ValueError, match=selected):
            checkpoints_to_average(training, HISTORY)
    else:
        assert [step_of(checkpoint) for checkpoint in checkpoints_to_average(training, HISTORY)] == selected


@pytest.mark.parametrize(("dtype", "value"), [(torch.float16, 60_000.0), (torch.float64, 1 + 2**-40)])
def test_the_mean_keeps_the_type_and_is_of_models_of_one_size(tmp_path, dtype, value):
    """60,000 + 60,000 is infinite in float16, and 1 + 2⁻⁴⁰ is 1 in float32. One model is saved in shards."""
    model = tiny_model(AtentaDecoderForCausalLM, hidden_size=16).to(dtype)
    torch.nn.init.constant_(model.lm_head.bias, value)
    for name, size in (("a", "5KB"), ("b", "5GB")):
        model.save_pretrained(tmp_path / name, max_shard_size=size)
    assert len(list((tmp_path / "a").glob("model-*.safetensors"))) > 1
    torch.nn.init.zeros_(model.lm_head.bias)
    load_mean(model, [tmp_path / name for name in "ab"])
    assert model.lm_head.bias.dtype == dtype
    assert set(model.lm_head.bias.tolist()) == {value}
    tiny_model(AtentaDecoderForCausalLM, hidden_size=32).save_pretrained(tmp_path / "b")
    with pytest.raises(RuntimeError, match=r"size mismatch for lm_head\.weight"):
        load_mean(model, [tmp_path / name for name in "ab"])
