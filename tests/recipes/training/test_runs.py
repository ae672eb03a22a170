"""A run in its folder: changed data, two runs at once, folders that cannot be written to, and interruptions."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial

import datasets
import pytest
import torch
from filelock import FileLock
from safetensors import SafetensorError
from torch._utils import ExceptionWrapper

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.command.recipe_commands import RECIPES as COMMANDS
from atenta.hub.publishing import PushError
from atenta.recipes.reading.records import BadRow
from atenta.recipes.training import runs
from atenta.recipes.training.checkpoints import delete_checkpoint, digest_rows, is_complete
from atenta.recipes.training.options import RecipeArguments
from atenta.recipes.training.runs import run_recipe, start_run
from support.recipes import RECIPES, contents, read_metrics, run_here, run_recorded, tiny, write_lines
from support.trainers import random_texts, trainer_of
from support.trainers import tiny as tiny_model

ROWS = {"train": random_texts([3, 4, 9, 12]), "validation": random_texts([5, 6]), "test": random_texts([7, 8])}
OTHER = random_texts([3, 4, 9, 12], seed=1)


def make(folder, rows=ROWS, **training):
    saving = {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}
    trainer = trainer_of(folder, rows, tiny_model(AtentaDecoderForCausalLM), **(saving | training))
    trainer.test_dataset = rows.get("test")
    return trainer


def train(trainer):
    run = start_run(trainer.args)
    trainer.fit(run)
    run.end()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run of three steps."""
    folder = tmp_path_factory.mktemp("finished")
    train(make(folder))
    return folder


@pytest.fixture
def run_folder(finished, tmp_path):
    """The folder of a run of three steps that was stopped after two."""
    shutil.copytree(finished, tmp_path / "run")
    delete_checkpoint(tmp_path / "run" / "checkpoint-3")
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ({"train": ROWS["train"].select([1, 0, 2, 3])}, "training rows"),
        ({"validation": OTHER}, "validation rows"),
        ({"train": ROWS["train"].select([0, 1, 2]), "validation": OTHER}, "training rows and validation rows"),
    ],
)
def test_other_rows_are_named_and_nothing_is_changed(finished, run_folder, rows, named):
    for folder in (finished, run_folder):
        before = contents(folder)
        with pytest.raises(SystemExit, match=rf"checkpoint-\d belongs to a run with other {named}\. Give the earlier"):
            train(make(folder, ROWS | rows))
        assert contents(folder) == before
    train(make(run_folder))  # the lock is free, and the earlier rows are still those of the run


def test_other_rows_may_be_resumed_from_a_named_checkpoint(run_folder, capsys):
    again = make(run_folder, ROWS | {"train": OTHER}, resume_from_checkpoint=str(run_folder / "checkpoint-2"))
    train(again)
    assert "checkpoint-2 is resumed with other training rows." in capsys.readouterr().out
    with pytest.raises(SystemExit, match="checkpoint-3 belongs to a run with other training rows"):
        train(make(run_folder))  # from now on these are the rows of the run
    train(make(run_folder, ROWS | {"train": OTHER}))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("what", ["alphabet", "alphabet and tags", "labels", "positions"])
def test_another_alphabet_is_never_resumed(run_folder, what, named):
    before = contents(run_folder)
    again = make(run_folder, resume_from_checkpoint=str(run_folder / "checkpoint-2") if named else None)
    config = again.model.config
    if what == "alphabet":
        again.processing_class = AtentaTokenizer.from_texts(["abcdefghijklmnoq"], family="decoder")
    elif what == "alphabet and tags":  # the token is no letter now
        config.tag_token_ids = [5]
    elif what == "labels":
        config.id2label = {0: "amor", 1: "mer"}
    else:
        config.rotary_cross_attention = False
    with pytest.raises(SystemExit, match=f"belongs to a run with other {what}\\. Give the earlier data") as stopped:
        train(again)
    assert "--resume_from_checkpoint" not in str(stopped.value)
    assert contents(run_folder) == before


def test_a_digest_depends_on_the_values_only_and_that_of_a_stream_on_its_files(tmp_path):
    values = [
        {"ids": list(range(n % 7)), "text": None if n % 5 == 0 else "é" * n, "yes": n % 3 == 0, "deep": [{"a": [n]}]}
        for n in range(2100)
    ]
    rows = datasets.Dataset.from_list(values)
    parts = [datasets.Dataset.from_list(each, rows.features) for each in (values[:3], values[3:1500], values[1500:])]
    rows.save_to_disk(tmp_path / "saved", num_shards=3)
    same = [
        datasets.concatenate_datasets(parts),
        datasets.load_from_disk(tmp_path / "saved"),
        datasets.Dataset.from_list(values[::-1], rows.features).select(range(2099, -1, -1)),
        datasets.Dataset.from_list(values[:9] + values, rows.features).select(range(9, 2109)),
        rows.with_format("numpy"),
    ]
    expected = digest_rows(rows)
    assert [digest_rows(each) for each in same] == [expected] * len(same)
    changed = [dict(row) for row in values]
    changed[2050]["deep"] = [{"a": [0]}]
    others = [rows.rename_column("yes", "no"), rows.select(range(2099)), datasets.Dataset.from_list(changed)]
    others.append(rows.cast_column("ids", datasets.List(datasets.Value("int32"))))
    assert len({expected, *map(digest_rows, others), digest_rows(None)}) == len(others) + 2
    stream, file = rows.to_iterable_dataset(), write_lines(tmp_path / "a.txt", "amor")
    of_files = digest_rows(stream, [str(file)])
    os.utime(file, (0, 0))
    assert digest_rows(stream, [str(file)]) == of_files
    write_lines(file, "amores")
    assert digest_rows(stream, [str(file)]) != of_files


# The start


def arguments(folder, **training):
    return RecipeArguments(output_dir=str(folder), use_cpu=True, **({"report_to": "none"} | training))


def test_start_sets_the_seed(tmp_path):
    drawn = []
    for _ in range(2):
        start_run(arguments(tmp_path, seed=3))
        drawn.append(torch.rand(4))
    torch.manual_seed(3)
    assert torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[0], torch.rand(4))


def test_processes_that_do_not_see_each_other_are_an_error(tmp_path, monkeypatch):
    alone = arguments(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit, match=r"2 processes were started, but this process sees 1\. On CPUs"):
        start_run(alone)


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "4"}, 2),
        ({"ACCELERATE_MIXED_PRECISION": "no", "OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 3),
    ],
)
def test_cores_are_divided_if_accelerate_gave_one_thread(monkeypatch, environment, threads):
    for name in ("ACCELERATE_MIXED_PRECISION", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)  # of more cores, perhaps
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        runs.share_cores()
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_a_model_that_could_not_be_pushed_is_not_trained(tmp_path, monkeypatch):
    asked = []

    def refuse(repo_id, **options):
        asked.append((repo_id, options))
        raise PushError("ana/x has a model already.")

    monkeypatch.setattr(runs, "check_pushable", refuse)
    with pytest.raises(SystemExit, match=r"^--push_to_hub: ana/x has a model already\. \(--hub_model_id, "):
        start_run(arguments(tmp_path, push_to_hub=True, hub_model_id="ana/x", hub_private_repo=False))
    assert asked == [("ana/x", {"private": False, "replace": False, "token": None})]


def test_a_folder_is_used_by_one_run_at_a_time(tmp_path, monkeypatch):
    start_run(arguments(tmp_path))
    with pytest.raises(SystemExit, match=rf"--output_dir {tmp_path} is in use by process {os.getpid()} on .*: wait"):
        runs._lock(tmp_path)
    start_run(arguments(tmp_path))  # another run of this process ends the one before
    start_run(arguments(tmp_path / "other"))
    with FileLock(tmp_path / ".lock", blocking=False):
        monkeypatch.setattr(RecipeArguments, "process_index", 1)
        assert start_run(arguments(tmp_path)).lock is None


@pytest.mark.slow
def test_the_lock_of_a_killed_process_is_free(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom atenta.recipes.training import runs\n"
        "runs._lock(Path(sys.argv[1]))\nlock = runs._lock(Path(sys.argv[2]))\nprint('locked', flush=True)\ninput()"
    )
    command = [sys.executable, "-c", code, tmp_path / "a", tmp_path / "b"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(SystemExit, match=rf"b is in use by process {process.pid} on .*: wait"):
            runs._lock(tmp_path / "b")
        process.send_signal(signal.SIGKILL)
        process.wait()
    runs._lock(tmp_path / "b").release()


@pytest.mark.parametrize(("name", "reason"), [("file/under/it", "Not a directory"), ("run", "Permission denied")])
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch, name, reason):
    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    write_lines(tmp_path / "file", "a")
    monkeypatch.setattr(runs, "FileLock", refuse)  # root may write everywhere
    with pytest.raises(SystemExit, match=rf"--output_dir {tmp_path}/{name}: expected .* written to \({reason}\)"):
        start_run(arguments(tmp_path / name))


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch, capsys):
    def no_locks(*arguments, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(FileLock, "acquire", no_locks)
    assert start_run(arguments(tmp_path)).lock is None
    assert "its file system has no locks" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["/", "home", "git", "work", ".", ".."])
def test_a_folder_of_other_files_is_refused(tmp_path, monkeypatch, output):
    for name in ("home/letters", "git/.git", "work/here/notes"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work" / "here")
    folder = output if output.startswith(".") else str(tmp_path / output)  # of "/", itself
    with pytest.raises(SystemExit, match=rf"^--output_dir {folder}: found a folder of other files, such as \S+;"):
        start_run(arguments(folder))
    assert not list(tmp_path.rglob(".lock"))


def test_the_current_folder_is_accepted_if_it_is_empty_or_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (".lock", "bad_rows.tsv"):  # of a run that was refused
        write_lines(tmp_path / name)
    for _ in range(2):
        start_run(arguments(".")).begin()


def test_a_logger_that_is_not_installed_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"^--report_to wandb: .*install wandb.*$"):
        start_run(arguments(tmp_path / "run", report_to="wandb"))
    assert not (tmp_path / "run").exists()


def test_a_run_resumed_from_an_earlier_checkpoint_sets_later_ones_aside_also_in_a_moved_folder(finished, tmp_path):
    folder = tmp_path / "moved"
    shutil.copytree(finished, folder)
    assert start_run(make(folder).args).checkpoint == folder / "checkpoint-3"
    changed = {"resume_from_checkpoint": str(folder / "checkpoint-1"), "learning_rate": 1e-4}
    start_run(make(folder, **changed).args).begin()
    kept = sorted(path.name for path in folder.glob("checkpoint-*"))
    assert kept == ["checkpoint-1", "checkpoint-2.replaced", "checkpoint-3.replaced"]
    assert start_run(make(folder, learning_rate=1e-4).args).checkpoint == folder / "checkpoint-1"


# The end


_INTERRUPTED = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name in ("datasets", "transformers", "accelerate", "huggingface_hub"):
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = sys.argv[1:]
if sys.argv[0] == "atenta":
    runpy.run_module("atenta", run_name="__main__")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_every_recipe_prepares_for_an_interruption_before_it_imports_libraries():
    for name in (*COMMANDS, "train_embeddings"):
        imports = re.findall(r"^(?:import|from) (\S+)", (RECIPES / f"{name}.py").read_text(encoding="utf-8"), re.M)
        assert imports[0] == "atenta.recipes.terminal", name


@pytest.mark.parametrize("command", [[RECIPES / "seq2seq.py"], ["atenta", "train", "seq2seq"]])
def test_an_interruption_while_libraries_are_imported_is_one_line(command):
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "Stopped.")


def begin(folder, finished, **training):
    """Begin a run, and write the second checkpoint of a finished one."""
    start_run(arguments(folder, **training)).begin()
    shutil.copytree(finished / "checkpoint-2", folder / "checkpoint-2")


@pytest.mark.parametrize(
    ("reached", "kept"),
    [
        (lambda folder, _: None, "Nothing was trained yet."),
        (lambda folder, _: start_run(arguments(folder)), "Nothing was trained yet."),
        (
            lambda folder, _: start_run(arguments(folder)).begin(),
            "There is no checkpoint yet: the same command starts from the beginning.",
        ),
        (begin, "{}/checkpoint-2 is kept: the same command goes on from there."),
        (
            partial(begin, overwrite_output_dir=True),
            "{}/checkpoint-2 is kept: the same command, without --overwrite_output_dir, goes on from there.",
        ),
    ],
)
def test_an_interrupted_run_says_what_is_kept(finished, tmp_path, capsys, monkeypatch, reached, kept):
    def main():
        reached(tmp_path, finished)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_current", None)
    with pytest.raises(SystemExit) as stopped:
        run_recipe(main)
    assert stopped.value.code == 130
    assert capsys.readouterr().err.strip() == f"Stopped. {kept.format(tmp_path)}"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534"),
        SafetensorError("Error while serializing: I/O error: File too large (os error 27)"),
    ],
    ids=["system", "torch", "safetensors"],
)
def test_on_a_full_disk_the_last_checkpoint_is_kept(finished, tmp_path, error):
    def main():
        begin(tmp_path, finished)
        raise error

    with pytest.raises(SystemExit) as stopped:
        run_recipe(main)
    assert re.match(r"The disk is full or fails: .* Free some space\. .*checkpoint-2 is kept: ", str(stopped.value))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_device_that_is_full(tmp_path):
    trainer = make(tmp_path)
    save = trainer._save_optimizer_and_scheduler

    def save_to_a_full_device(folder):
        if folder.endswith("checkpoint-3"):
            os.symlink("/dev/full", f"{folder}/optimizer.pt")
        save(folder)

    trainer._save_optimizer_and_scheduler = save_to_a_full_device
    with pytest.raises(SystemExit, match=r"The disk is full or fails: .*checkpoint-2 is kept"):
        run_recipe(lambda: train(trainer))
    assert not is_complete(tmp_path / "checkpoint-3")


@pytest.mark.parametrize("in_a_worker", [False, True])
def test_a_malformed_row_of_a_stream_ends_a_run_in_one_line(in_a_worker):
    def fail():
        try:
            raise BadRow("a.tsv, line 2", "found\nno tab")
        except BadRow:
            if not in_a_worker:
                raise
            ExceptionWrapper(where="in DataLoader worker process 0").reraise()

    with pytest.raises(SystemExit, match=r"\Aa.tsv, line 2: found\\nno tab\Z"):
        run_recipe(fail)


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "no"), KeyError("a bug")])
def test_other_errors_keep_their_traceback(error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        run_recipe(fail)


def test_a_recipe_whose_data_changed_stops(tmp_path):
    """The whole way, from files to the scores of a finished run."""
    words = [
        "text\tlabel",
        *(f"{word}\t{label}" for word in ("mer", "um", "deux", "dois") for label in ("fra", "por")),
    ]
    file = write_lines(tmp_path / "words.tsv", *words)
    test = write_lines(tmp_path / "test.tsv", *words[:3])
    options = {"output_dir": tmp_path / "run", "train_file": file, "validation_file": file, "test_file": test}
    recipe = ("finetune_classification", tmp_path, *tiny("finetune_classification", **options))
    run_here(*recipe)
    before = read_metrics(tmp_path / "run")
    write_lines(test, *words[:5])
    assert "The test rows have changed since " in run_recorded(*recipe).stdout
    write_lines(test, *words[:3])
    assert "The test rows have changed since " not in run_recorded(*recipe).stdout
    assert read_metrics(tmp_path / "run")["test"] == before["test"]
    write_lines(file, *words, "lune\tfra")
    files = contents(tmp_path / "run")
    with pytest.raises(SystemExit, match="other training rows and validation rows and alphabet"):
        run_here(*recipe)
    assert contents(tmp_path / "run") == files
