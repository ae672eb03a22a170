"""Peak memory of decoding and of a training step, over what a process holds when its model is made."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.contestants import TRAINED
from benchmarks.decoding import FAMILIES
from benchmarks.measure import interleave
from benchmarks.results import Work
from benchmarks.settings import Settings
from benchmarks.sizes import COMPARED

SECONDS = 110
ROUNDS = 1  # bytes hardly differ from run to run, and each run is a process that imports all


def run(settings: Settings) -> Iterator[Work]:
    """Measure MB at the first size, every contestant in fresh processes."""
    size = COMPARED[settings.device][0]
    competing = {"decoding": FAMILIES, "training": TRAINED}
    for work, families in competing.items():
        for family, contestants in families.items():
            name = f"peak memory, {work} {family} {size}{', no dropout' if work == 'training' else ''}"
            megabytes = {one.name: partial(_megabytes, work, family, one.name, settings.device) for one in contestants}
            yield Work(name, "MB", interleave(megabytes, settings.rounds or ROUNDS, name, warm_up=False))


def _megabytes(*arguments: str) -> float:
    command = [sys.executable, "-m", "benchmarks.peak", *arguments]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout) / 1e6
