"""The table of libraries on pairs of words: its data, its cells, its pages, and the clock of a training."""

import importlib
import json
import re
import shutil
from types import SimpleNamespace

import pytest
import torch

from benchmarks.measuring import run_python
from benchmarks.word_pairs import __main__ as command
from benchmarks.word_pairs import cells as cells_of
from benchmarks.word_pairs.cells import CONTESTANTS, WORKERS, Runner, list_cells
from benchmarks.word_pairs.data_sets import DATA_SETS, DataSet, write_rows
from benchmarks.word_pairs.pages import NAMES, read_cells, write_pages


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A data set of tagged words in a folder of the user's; a word of the test has two right outputs."""
    lines = {"train": ["ama\tamo\tV;1", "come\tcomo\tV;1", "ama\tama\tV;3"] * 4, "dev": ["beba\tbebo\tV;1"]}
    lines["test"] = ["coma\tcomo\tV;1", "some\tsomo\tV;1", "coma\tcomo!\tV;1"]
    for split, of_split in lines.items():
        (tmp_path / split).write_text("\n".join(of_split) + "\n", encoding="utf-8")
    label = {"en": "Words", "pt": "Palavras"}
    data_set = DataSet("words", label, "inflection.yaml", ("train", "dev", "test"), rows={"train": 6})
    monkeypatch.setitem(DATA_SETS, "words", data_set)
    return data_set


def test_rows_are_evenly_spaced_and_the_nearest_of_several_targets_counts(tmp_path, words):
    rows = words.read(tmp_path)
    assert [row["source"] for row in rows["train"]] == ["ama", "ama", "come"] * 2
    assert rows["validation"][0] == {"source": "beba", "target": "bebo", "tags": ["<V>", "<1>"]}
    assert [row["targets"] for row in rows["test"]] == [["como", "como!"], ["somo"]]
    assert words.words_wrong(rows["test"], ["como!", "some"]) == 0.5
    write_rows(tmp_path / "written" / "test.tsv", rows["test"])
    assert (tmp_path / "written" / "test.tsv").read_text(encoding="utf-8") == "coma\tcomo\tV;1\nsome\tsomo\tV;1\n"


def test_shipped_data_are_read_and_scored_by_phones():
    italian = DATA_SETS["italian"]
    rows = italian.read("no folder is needed")
    assert [len(rows[split]) for split in ("train", "validation", "test")] == [800, 100, 100]
    assert italian.separator == " "
    for contestant, wrong in {"look_up": 1.0, "letters_in_context": pytest.approx(0.54, abs=0.2)}.items():
        assert italian.words_wrong(rows["test"], italian.answer(contestant, rows["train"], rows["test"])) == wrong


def test_data_that_are_missing_or_malformed_are_named(tmp_path, words):
    (tmp_path / "dev").write_text("a\tb\n\tb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dev, line 2: .*source"):
        words.read(tmp_path)
    (tmp_path / "dev").write_text("one\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dev, line 1: found 1 columns"):
        words.read(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"gre_train.tsv.*sigmorphon/2021-task1.*--data_folder"):
        DATA_SETS["greek"].read(tmp_path)


def test_short_times_of_all_come_before_long_ones_and_seeds_before_times():
    cells = list_cells(["italian"], ["atenta", "look_up"], [10, 2], [1, 2])
    assert [cell.file for cell in cells] == [
        "italian-look_up.json",
        "italian-atenta-2min-1.json",
        "italian-atenta-2min-2.json",
        "italian-atenta-10min-1.json",
        "italian-atenta-10min-2.json",
    ]
    assert NAMES.keys() == CONTESTANTS.keys()
    assert all((WORKERS / each.worker).is_file() for each in CONTESTANTS.values() if each.worker)


WORKER = """
import sys
sys.path.insert(0, {workers!r})
from types import SimpleNamespace
from job import finish, read_job
job = read_job()
assert (job.separator, job.tagged, job.read("test")[1]) == (None, True, ["some", "somo", "V;1"])
if job.seconds > 120:
    sys.exit("it  diverged")
model = SimpleNamespace(eval=lambda: None, parameters=lambda: [SimpleNamespace(numel=lambda: 7)])
finish(job, model, job.seconds, lambda beams: ["como", "somo" if beams == 5 else ""], [])
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """A contestant whose worker learns nothing."""
    path = tmp_path / "worker.py"
    path.write_text(WORKER.format(workers=str(WORKERS)), encoding="utf-8")
    monkeypatch.setitem(CONTESTANTS, "atenta", cells_of.Contestant(str(path)))


def test_cells_are_run_once_written_whole_and_shown(tmp_path, words, worker, capsys):
    options = {"data_folder": tmp_path, "work_folder": tmp_path / "work", "cells": tmp_path / "cells"}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    command_line = ["--only", "words", "atenta", "look_up", "--minutes", "2", "4", "--seeds", "1", *arguments]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "DATA_SETS", {"words": words})
        command.main(command_line)
        first = capsys.readouterr().out.splitlines()
        command.main(command_line)
    again = capsys.readouterr().out.splitlines()
    assert first[1:3] == [
        "1 of 3: words-look_up: greedy 1.000",
        "2 of 3: words-atenta-2min-1: greedy 0.500, beams 0.000",
    ]
    assert "3 of 3: words-atenta-4min-1: ended with status 1: it  diverged" in first[3]
    assert [line.endswith(": done") for line in again[1:]] == [True, True, False]  # what failed is run again
    cell = json.loads((tmp_path / "cells" / "words-atenta-2min-1.json").read_text(encoding="utf-8"))
    assert (cell["weights"], cell["training_seconds"], cell["minutes"], cell["seed"]) == (7, 120, 2, 1)
    assert "--only words atenta --minutes 2 --seeds 1" in cell["command"]
    page = (tmp_path / "cells" / "README.pt.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)", page, re.MULTILINE) == ["Palavras", "O que falhou", "Como foi medido"]
    ours, looked_up = re.findall(r"^\| (.+)", page, re.MULTILINE)[2:]  # contestants without cells have no row
    assert ours.startswith("**atenta**, com a configuração que vem com ele | **0,000** | falhou | 7,0 | ")
    assert looked_up.startswith("palavras consultadas no treino | 1,000 | **1,000** | ")
    assert "status 1: it diverged" in page


def test_an_environment_is_made_once_with_our_torch(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(cells_of.venv, "create", lambda folder, **options: folder.mkdir(parents=True))
    runner = Runner(tmp_path / "cells", tmp_path / "work", tmp_path, threads=2)
    monkeypatch.setattr(runner, "_start", lambda arguments, log: started.append(arguments))
    packages = ("yoyodyne==1.2", "other==3")
    assert runner._environment(packages) == runner._environment(packages)
    (python, *install), uninstall = started
    assert python == tmp_path / "work" / "environments" / "yoyodyne-1.2" / "bin" / "python"
    assert uninstall[3:] == ["uninstall", "--yes", "torchvision"]
    assert install[2:] == ["install", f"torch=={torch.__version__.partition('+')[0]}", *packages]


def test_the_pages_of_the_project_are_those_of_its_cells(tmp_path):
    folder = WORKERS.parent
    write_pages(read_cells(folder / "cells"), tmp_path)
    for name in ("README.md", "README.pt.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (folder / name).read_text(encoding="utf-8")


def test_cells_are_read_in_order_and_damaged_ones_are_named(tmp_path):
    for minutes in (2, 10):
        shutil.copy(WORKERS.parent / "cells" / f"fg2p-atenta-{minutes}min-1.json", tmp_path)
    assert [cell["minutes"] for cell in read_cells(tmp_path)] == [2, 10]
    (tmp_path / "italian-look_up.json").write_text('{"data_set": "italian"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"italian-look_up.json"):
        read_cells(tmp_path)


def test_workers_need_nothing_of_this_package_but_for_the_one_that_trains_ours():
    for name in ("job", "with_yoyodyne", "with_joeynmt"):
        source = (WORKERS / f"{name}.py").read_text(encoding="utf-8")
        assert not [line for line in source.splitlines() if line.startswith(("from atenta", "import atenta"))]
    code = f"import sys; sys.path.insert(0, {str(WORKERS)!r}); import job; print('torch' in sys.modules)"
    assert run_python("-c", code) == "False\n"


def test_the_clock_moves_the_schedule_and_ends_the_training(monkeypatch):
    monkeypatch.syspath_prepend(WORKERS)  # where it is run
    worker = importlib.import_module("with_trainer")
    now = iter([100.0, 100.0, 130.0, 130.0, 160.0, 161.0])
    monkeypatch.setattr(worker, "perf_counter", lambda: next(now))
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 1000)
    clock, control = worker.Clock(60), SimpleNamespace(should_training_stop=False)
    state, strategy = SimpleNamespace(max_steps=1000), SimpleNamespace(eval_strategy="steps")
    clock.on_train_begin(strategy, state, control)
    for rate, ends in ((1.0, False), (0.5, True)):  # at the begin and at half of the time
        clock.on_step_begin(strategy, state, control, lr_scheduler=schedule)
        optimizer.step()
        schedule.step()
        assert schedule.get_last_lr() == [rate]
        clock.on_step_end(strategy, state, control)
        assert control.should_training_stop == ends
    assert control.should_evaluate
    assert control.should_save
    clock.on_train_end(strategy, state, control)
    assert clock.ended - clock.started == 61.0
