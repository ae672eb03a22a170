"""Checkpoints are whole or not there, and are gone on from by the same command only."""

import json
from dataclasses import dataclass

import pytest

from atenta.recipes.training import RecipeArguments
from atenta.recipes.training.checkpoints import (
    checkpoints_of,
    delete_checkpoint,
    delete_old_checkpoints,
    find_checkpoint,
    is_finished,
    mark_whole,
    step_of,
)


@dataclass
class Sizes:
    hidden_size: int = 16
    label: str = "a"


def options_of(folder, sizes=None, **training):
    return (sizes or Sizes(), RecipeArguments(output_dir=str(folder), use_cpu=True, report_to="none", **training))


@dataclass
class Shown:
    prompt: str


def find(folder, sizes=None, **training):
    options = options_of(folder, sizes, **training)
    return find_checkpoint(options[-1], options)


def write(folder, step, whole=True):
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.safetensors").write_text("weights", encoding="utf-8")
    if whole:
        mark_whole(checkpoint)
    return checkpoint


def steps(folder):
    return [step_of(checkpoint) for checkpoint in checkpoints_of(folder)]


def test_a_new_folder_has_none_and_gets_the_options(tmp_path):
    assert find(tmp_path / "new") is None
    assert (tmp_path / "new" / "options.yaml").is_file()


def test_the_last_whole_one_is_taken_and_half_written_ones_are_deleted(tmp_path):
    find(tmp_path)
    for step, whole in ((9, True), (100, True), (20, False), (110, False)):
        write(tmp_path, step, whole)
    assert find(tmp_path) == tmp_path / "checkpoint-100"
    assert steps(tmp_path) == [9, 100]


def test_half_written_ones_alone_leave_nothing_to_go_on_from(tmp_path):
    find(tmp_path)
    write(tmp_path, 5, whole=False)
    assert find(tmp_path, Sizes(hidden_size=32)) is None  # nor anything that other options would contradict
    assert steps(tmp_path) == []


@pytest.mark.parametrize("whole", [True, False])
def test_checkpoints_and_models_that_no_recipe_left_are_kept(tmp_path, whole):
    checkpoint = write(tmp_path / "checkpoints", 5, whole)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    for folder in ("checkpoints", "model"):
        with pytest.raises(SystemExit, match=r"is of no run of a recipe: there is no options\.yaml"):
            find(tmp_path / folder)
    assert checkpoint.is_dir()
    assert find(tmp_path / "model", overwrite_output_dir=True) is None


def test_folders_that_only_look_like_checkpoints_stay(tmp_path):
    find(tmp_path)
    (tmp_path / "checkpoint-notes").mkdir()
    write(tmp_path, 5)
    assert find(tmp_path, overwrite_output_dir=True) is None
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-notes"]


@pytest.mark.parametrize(
    ("sizes", "training", "message"),
    [
        (Sizes(hidden_size=32), {}, "hidden_size was 16, is 32"),
        (Sizes(label="é"), {}, "label was 'a', is 'é'"),
        (None, {"learning_rate": 0.1}, "learning_rate was None, is 0.1"),
        (None, {"seed": 7, "max_steps": 9}, "max_steps was -1, is 9, seed was 42, is 7"),
    ],
)
def test_other_options_stop_the_run_by_name(tmp_path, sizes, training, message):
    find(tmp_path)
    checkpoint = write(tmp_path, 5)
    with pytest.raises(SystemExit, match=rf"checkpoint-5 is of a run with other options \({message}\)"):
        find(tmp_path, sizes, **training)
    assert find(tmp_path, sizes, resume_from_checkpoint=str(checkpoint), **training) == checkpoint
    assert find(tmp_path, sizes, **training) == checkpoint  # from then on these are the run's options


def test_what_does_not_touch_the_result_may_differ(tmp_path):
    find(tmp_path)
    checkpoint = write(tmp_path, 5)
    assert find(tmp_path, disable_tqdm=True, run_name="again", push_to_hub=True) == checkpoint


def test_a_run_that_ended_can_be_shown_otherwise(tmp_path):
    find(tmp_path, Shown(prompt="Era uma vez"))
    checkpoint = write(tmp_path, 5)
    assert find(tmp_path, Shown(prompt="Um dia")) == checkpoint


def test_overwriting_deletes_all_and_trains_anew(tmp_path):
    find(tmp_path)
    write(tmp_path, 5)
    assert find(tmp_path, Sizes(hidden_size=32), overwrite_output_dir=True) is None
    assert steps(tmp_path) == []
    write(tmp_path, 6)
    assert find(tmp_path, Sizes(hidden_size=32)) == tmp_path / "checkpoint-6"


def test_a_named_checkpoint_must_be_whole(tmp_path):
    half = write(tmp_path / "old", 5, whole=False)
    for path in (half, tmp_path / "nothing"):
        with pytest.raises(SystemExit, match=f"--resume_from_checkpoint {path}: there is no whole checkpoint"):
            find(tmp_path / "new", resume_from_checkpoint=str(path))
    mark_whole(half)
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
def test_the_oldest_by_number_go_first_and_the_best_stays(tmp_path, limit, best, kept):
    for step in (2, 9, 10, 100):
        write(tmp_path, step)
    delete_old_checkpoints(tmp_path, limit, best and str(tmp_path / best))
    assert steps(tmp_path) == kept


def test_the_mark_goes_before_anything_else(tmp_path, monkeypatch):
    find(tmp_path)
    checkpoint = write(tmp_path, 5)
    monkeypatch.setattr("shutil.rmtree", lambda _: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        delete_checkpoint(checkpoint)
    monkeypatch.undo()
    assert find(tmp_path) is None


@pytest.mark.parametrize("ended", [True, False])
def test_whether_training_had_ended_is_read_from_its_state(tmp_path, ended):
    control = {"args": {"should_training_stop": ended}, "attributes": {}}
    state = {"stateful_callbacks": {"TrainerControl": control}}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    assert is_finished(tmp_path) is ended
