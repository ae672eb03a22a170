"""Settings, model sizes, timing in turns, and results: what all sections of the benchmarks share."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psutil
import torch

OURS = "atenta"
ONNX, INT8 = f"{OURS}, ONNX", f"{OURS}, ONNX int8"  # in onnxruntime
LIMIT = "limit"

VOCABULARY, POSITIONS = 128, 512
FIRST_CHARACTER = 3  # smaller ids are special tokens


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes:
        device: `cpu` (float32) or `cuda` (bfloat16 and larger sizes).
        rounds: Rounds of every measurement; `None` leaves each section its own number.
        threads: Number of CPU threads that torch and onnxruntime use.
    """

    device: str = "cpu"
    rounds: int | None = None
    threads: int = 2

    @property
    def on_gpu(self) -> bool:
        """Whether the run uses a GPU and its sizes."""
        return self.device == "cuda"

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights and matrix products."""
        return torch.bfloat16 if self.on_gpu else torch.float32

    def wait(self) -> None:
        """Block until the device has finished its work."""
        if self.on_gpu:
            torch.cuda.synchronize()


def describe_run(settings: Settings, command: str) -> dict[str, str]:
    """Return the command of a run, its machine, the versions that affect its figures, and the date."""
    names = ("atenta", "torch", "transformers", "tokenizers", "accelerate", "onnxruntime")
    return {
        "command": command,
        "machine": describe_machine(settings),
        "versions": ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)]),
        "date": date.today().isoformat(),
    }


def describe_machine(settings: Settings) -> str:
    """Return the processor, cores and memory, or the GPU and its memory."""
    if settings.on_gpu:
        properties = torch.cuda.get_device_properties(0)
        return f"one {properties.name}, {properties.total_memory / 2**30:.0f} GiB, bfloat16"
    memory = psutil.virtual_memory().total / 2**30
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    processor = next(names, platform.processor() or platform.machine())
    return f"{processor}, {settings.threads} of {os.cpu_count()} cores, {memory:.0f} GiB, float32"


@dataclass(frozen=True)
class Size:
    """A model's size: blocks in each stack, width, heads, and inner width of the feed-forward network."""

    layers: int
    width: int
    heads: int
    inner: int

    def __str__(self) -> str:
        return f"{self.layers} × {self.width}"

    def matrix_numbers(self, family: str) -> int:
        """Return how many weights each token is multiplied by: projections, feed-forward network, output layer.

        For an encoder-decoder, both stacks are counted; the source is taken to be as long as the target.
        """
        block = 4 * self.width**2 + 2 * self.width * self.inner
        stacks = {"decoder": block, "encoder": block, "encoder-decoder": 2 * block + 4 * self.width**2}
        return self.layers * stacks[family] + self.width * VOCABULARY


TINY = Size(2, 128, 4, 512)
SMALL = Size(4, 256, 4, 1024)  # Wu et al. (2021)
BASE = Size(6, 512, 8, 2048)  # documents 3 and 4; Vaswani et al. (2017), table 3
LARGE = Size(12, 1024, 16, 4096)

COMPARED = {"cpu": (SMALL, BASE), "cuda": (BASE, LARGE)}


def timed(function: Callable[[], object], settings: Settings) -> float:
    """Return the seconds that a call takes, including the work that it leaves to the device."""
    settings.wait()
    started = perf_counter()
    function()
    settings.wait()
    return perf_counter() - started


def milliseconds(function: Callable[[], object], settings: Settings, parts: int = 1) -> float:
    """Return the milliseconds that each of the equal parts of a call takes."""
    return 1000 * timed(function, settings) / parts


def interleave(
    contestants: Mapping[str, Callable[[], float]], rounds: int, what: str, *, warm_up: bool = True
) -> dict[str, list[float]]:
    """Measure all contestants in turns, once per round, after a round that is not counted if `warm_up` is true.

    A machine that becomes slower or faster then does so for all of them. Every second round runs in reverse order, so
    that a contestant does not always follow the same other one. `what` is named in the progress lines.
    """
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    print(f"  {what}: {', '.join(names)}", flush=True)
    for name in names if warm_up else ():
        contestants[name]()
    started = perf_counter()
    for number in range(1, rounds + 1):
        for name in names:
            figures[name].append(contestants[name]())
        names.reverse()
        each = (perf_counter() - started) / number
        print(f"  {what}: round {number} of {rounds}, {each * (rounds - number):.0f} s left", flush=True)
    return figures


def run_python(*arguments: str) -> str:
    """Run a new Python process, and return what it prints."""
    return subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def spread(figures: Sequence[float], others: Sequence[float] | None = None) -> dict[str, float]:
    """Return the median of a figure over the rounds and its range.

    With the figures of another contestant, these are the ratio of the medians, and its range within one round.
    """
    if others is None:
        return {"middle": median(figures), "lowest": min(figures), "highest": max(figures)}
    within = [one / other for one, other in zip(figures, others, strict=True)]
    return {"middle": median(figures) / median(others), "lowest": min(within), "highest": max(within)}


@dataclass
class Work:
    """One measured task, with the figures of all contestants, one per round.

    All contestants are peers, except `LIMIT` and ours: those whose names begin with `OURS`. `more_is_better` is for
    rates.
    """

    name: str
    unit: str
    figures: dict[str, list[float]]
    more_is_better: bool = False

    @property
    def peers(self) -> list[str]:
        """The contestants that ours is compared with."""
        return [name for name in self.figures if name != LIMIT and not name.startswith(OURS)]

    @property
    def best_peer(self) -> str | None:
        """The peer with the best median."""
        best = max if self.more_is_better else min
        return best(self.peers, key=lambda name: median(self.figures[name]), default=None)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each contestant: its figure, and the ratios to the best peer and to the limit."""
        return [
            {
                "work": self.name,
                "contestant": name,
                "unit": self.unit,
                "figure": spread(values),
                "best_peer": self.best_peer,
                "to_best_peer": self._ratio(values, self.best_peer),
                "to_limit": self._ratio(values, LIMIT),
            }
            for name, values in self.figures.items()
        ]

    def _ratio(self, values: Sequence[float], other: str | None) -> dict[str, float] | None:
        return spread(values, self.figures[other]) if other in self.figures else None


def measure(
    name: str,
    unit: str,
    contestants: Mapping[str, Callable[[], float]],
    settings: Settings,
    rounds: int,
    *,
    warm_up: bool = True,
    more_is_better: bool = False,
) -> Work:
    """Measure a work in turns, in as many rounds as the settings say or, by default, in its own number of them.

    The other arguments are those of `interleave` and `Work`.
    """
    figures = interleave(contestants, settings.rounds or rounds, name, warm_up=warm_up)
    return Work(name, unit, figures, more_is_better)
