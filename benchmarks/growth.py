"""How the time of a decoding step grows: with the characters in the cache, with the batch, with the model."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter

import torch
from transformers.generation.streamers import BaseStreamer

from benchmarks.contestants import DECODERS
from benchmarks.decoding import draw_ids, generator, make
from benchmarks.limits import GreedyLimit
from benchmarks.measure import interleave
from benchmarks.results import LIMIT, Target, Work
from benchmarks.settings import Settings
from benchmarks.sizes import GROWING, Size

SECONDS = 120
ROUNDS = 2
ROUNDS_OF_ADDED = 15
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
SHORT, LONG = 100, 4000  # characters
WARMING_STEPS, STEPS = 4, 16


class StepTimes(BaseStreamer):
    """Milliseconds between the ids that `generate` gives out; the prompt's own time is not among them."""

    def __init__(self, settings: Settings):
        self.wait, self.moments = settings.wait, []

    def put(self, value: torch.Tensor) -> None:
        """Look at the clock."""
        self.wait()
        self.moments.append(perf_counter())

    def end(self) -> None:
        """There is nothing to flush."""

    def milliseconds(self) -> float:
        """Return the median of the last `STEPS` steps."""
        moments = self.moments[-STEPS - 1 :]
        return 1000 * median(after - before for before, after in pairwise(moments))


def run(settings: Settings) -> Iterator[Work]:
    """Measure milliseconds a step along each of the three, and what the cache adds between two lengths."""
    size = GROWING[settings.device][1]
    for length in LENGTHS:
        yield _step(f"a step at {length:,} characters in the cache", size, 1, length, settings)
    for batch in BATCHES:
        yield _step(f"a step of {batch} sequences, {LENGTHS[0]} characters", size, batch, LENGTHS[0], settings)
    for other in GROWING[settings.device]:
        yield _step(f"a step of {other}", other, 1, LENGTHS[0], settings)
    yield _added(size, settings)


def _added(size: Size, settings: Settings) -> Work:
    """Measure what the characters between two lengths add to a step, both lengths within each round."""
    name = f"added to a step, {SHORT} to {LONG:,} characters in the cache"
    steps = {
        (who, length): step for length in (SHORT, LONG) for who, step in _steps(size, 1, length, settings).items()
    }
    measured = interleave(
        {f"{who} at {length:,}": step for (who, length), step in steps.items()},
        settings.rounds or ROUNDS_OF_ADDED,
        name,
        warm_up=False,
    )
    added = {
        who: [
            after - before
            for before, after in zip(measured[f"{who} at {SHORT:,}"], measured[f"{who} at {LONG:,}"], strict=True)
        ]
        for who, length in steps
        if length == SHORT
    }
    if median(added[LIMIT]) <= 0:
        print("  the limit was no slower with the longer cache: this machine was too busy to tell how much is added")
    asked = [Target(1.0, LIMIT)] if median(added[LIMIT]) > 0 and not settings.on_gpu else []
    return Work(name, "ms", added, asked)


def curves(works: Sequence[Work], settings: Settings) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return, of the works that `run` gave, the points of each contestant along each of the three."""
    left = iter(works)
    sizes = {
        "characters in the cache": LENGTHS,
        "sequences": BATCHES,
        "width of the model": [size.width for size in GROWING[settings.device]],
    }
    along = {kind: [(value, next(left)) for value in values] for kind, values in sizes.items()}
    return {
        kind: {who: [(value, median(work.figures[who])) for value, work in measured] for who in measured[0][1].figures}
        for kind, measured in along.items()
    }


def _step(name: str, size: Size, batch: int, length: int, settings: Settings) -> Work:
    steps = _steps(size, batch, length, settings)
    return Work(name, "ms", interleave(steps, settings.rounds or ROUNDS, name, warm_up=False))


def _steps(size: Size, batch: int, length: int, settings: Settings) -> dict[str, Callable[[], float]]:
    positions = length + WARMING_STEPS + STEPS
    generators = {one.name: generator(make(one, size, settings, positions), num_beams=1) for one in DECODERS}
    generators[LIMIT] = GreedyLimit(make(DECODERS[0], size, settings), batch, positions).generate
    ids = draw_ids(settings, batch, length)
    return {who: partial(_milliseconds, generate, ids, settings) for who, generate in generators.items()}


def _milliseconds(generate: Callable[..., torch.Tensor], ids: torch.Tensor, settings: Settings) -> float:
    times = StepTimes(settings)
    generate(ids, WARMING_STEPS + STEPS, streamer=times)
    return times.milliseconds()
