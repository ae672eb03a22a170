"""Every door to the folder of a model, on every kind of hostile folder.

A call must end as it does on an honest folder, or with a clear error. Nothing of the folder may run; nothing outside
of it may be opened, changed, shown or sent; and nothing may be asked.

Some of the calls are drawn. `FUZZ_CASES=25000 pytest tests/fuzz/test_fuzz_folders.py` makes all of them.
"""

import os
import random

import pytest

from support.doors import OF_KIND
from support.hostile_folders import HOSTILE, make_hostile, save_honest
from support.judge import problems_of
from support.watched import watched

SHARE = 5  # one call to so many cases of other files, which take less time


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    calls = [(door, hostile) for hostile in HOSTILE for door in OF_KIND]
    count = min(len(calls), int(os.environ.get("FUZZ_CASES", "2000")) // SHARE)
    drawn = random.Random(metafunc.config.option.fuzz_seed).sample(calls, count)
    metafunc.parametrize(("door", "hostile"), drawn)


@pytest.fixture(scope="module")
def watcher(tmp_path_factory):
    with watched(tmp_path_factory.mktemp("hostile") / "box") as made:
        save_honest(made.box)
        yield made


def test_nothing_runs_and_nothing_is_read_or_written_outside(watcher, outcome, door, hostile):
    folder = make_hostile(watcher.box, OF_KIND[door][0], hostile)
    if folder is None:
        pytest.skip("this kind of model has no such file")
    call = watcher.call(door, folder)
    assert list(problems_of(door, hostile, call)) == [], call.output[-2000:]
    outcome("right" if call.error is None else "clear error")
