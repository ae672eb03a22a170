"""Every door to the folder of a model, on every kind of hostile folder.

A call must end as it does on an honest folder, or with a clear error. Nothing of the folder may run; nothing outside
of it may be opened, changed, shown or sent; and nothing may be asked.
"""

import pytest

from support.doors import OF_KIND
from support.hostile_folders import HOSTILE, make_hostile, save_honest
from support.judge import problems_of
from support.watched import watched


@pytest.fixture(scope="module")
def watcher(tmp_path_factory):
    with watched(tmp_path_factory.mktemp("hostile") / "box") as made:
        save_honest(made.box)
        yield made


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("door", OF_KIND)
def test_nothing_runs_and_nothing_is_read_or_written_outside(watcher, outcome, door, hostile):
    folder = make_hostile(watcher.box, OF_KIND[door][0], hostile)
    if folder is None:
        pytest.skip("this kind of model has no such file")
    call = watcher.call(door, folder)
    assert problems_of(door, hostile, call) == [], call.output[-2000:]
    outcome("right" if call.error is None else "clear error")
