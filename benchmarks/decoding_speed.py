"""Decoding speed: `generate` with greedy search and beams against the peers, and the growth of a decoding step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import sub
from statistics import median
from time import perf_counter

import torch
from torch import nn
from transformers.generation.streamers import BaseStreamer

from benchmarks.contestants import DECODERS, DECODING_CONTESTANTS, bind_generate, draw_ids, ready_to_generate
from benchmarks.measuring import (
    COMPARED,
    GROWING,
    LIMIT,
    OURS,
    SMALL,
    Settings,
    Size,
    Target,
    Work,
    interleave,
    measure,
    milliseconds,
)
from benchmarks.plain_torch import GreedyLimit

DECODING_ROUNDS = {SMALL: 11}
DECODING_ROUNDS_OF_LARGER = 5
PROMPT_LENGTH = 16
NEW_TOKENS = 64
BEAMS = 5
# Family, sequences, beams, and the target for our share of a peer's time at 4 × 256 on a CPU.
DECODING_WORKS = (
    ("decoder", 1, 1, Target(0.35, "GPT-2")),
    ("decoder", 32, 1, Target(0.5, "GPT-2")),
    ("encoder-decoder", 1, 1, Target(0.4, "BART")),
    ("encoder-decoder", 32, 1, Target(0.5, "BART")),
    ("encoder-decoder", 8, BEAMS, Target(0.5, "BART")),
)

GROWTH_ROUNDS = 2
ADDED_ROUNDS = 15
CACHE_LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
SHORT, LONG = 100, 4000  # characters
GROWTH_WARM_UP_STEPS, GROWTH_STEPS = 4, 16


def measure_decoding(settings: Settings) -> Iterator[Work]:
    """Measure every work at every size, with the limit."""
    for size in COMPARED[settings.device]:
        for family, sequences, beams, target in DECODING_WORKS:
            ids = draw_ids(settings, sequences, PROMPT_LENGTH)
            models = {one.name: ready_to_generate(one, size, settings) for one in DECODING_CONTESTANTS[family]}
            limit = GreedyLimit(models[OURS], sequences * beams, PROMPT_LENGTH + NEW_TOKENS)
            decoders = {who: bind_decoder(model, ids, beams) for who, model in models.items()}
            decoders[LIMIT] = partial(count_new, limit.generate, ids.repeat_interleave(beams, 0), family)
            rounds = DECODING_ROUNDS.get(size, DECODING_ROUNDS_OF_LARGER)
            targets = [target] if size == SMALL and not settings.on_gpu else []
            yield decoding_work(describe_decoding(family, size, sequences, beams), decoders, settings, rounds, targets)


def describe_decoding(family: str, size: Size, sequences: int, beams: int = 1) -> str:
    """Return the name of a work, such as `decoder 4 × 256, greedy, 32 sequences`."""
    search = "greedy" if beams == 1 else f"beam {beams}"
    return f"{family} {size}, {search}, {sequences} sequence{'s' if sequences > 1 else ''}"


def bind_decoder(model: nn.Module, ids: torch.Tensor, beams: int) -> Callable[[], int]:
    """Return a function that decodes ids and returns the number of new tokens of each text."""
    family = "encoder-decoder" if model.config.is_encoder_decoder else "decoder"
    return partial(count_new, bind_generate(model, num_beams=beams), ids, family)


def count_new(generate: Callable[..., torch.Tensor], ids: torch.Tensor, family: str) -> int:
    """Decode ids, and return the number of new tokens of each text."""
    return generate(ids, NEW_TOKENS).shape[1] - (PROMPT_LENGTH if family == "decoder" else 1)


def decoding_work(
    name: str,
    decoders: Mapping[str, Callable[[], int]],
    settings: Settings,
    rounds: int,
    targets: Sequence[Target] = (),
) -> Work:
    """Measure milliseconds per new token, prompt included, of functions that return their number."""
    steps = {who: partial(step_milliseconds, decode, settings) for who, decode in decoders.items()}
    return measure(name, "ms a step", steps, settings, rounds, targets)


def step_milliseconds(decode: Callable[[], int], settings: Settings) -> float:
    """Return the milliseconds that a new token takes.

    Raises:
        RuntimeError: If there are not `NEW_TOKENS`.
    """
    lengths = []
    each = milliseconds(lambda: lengths.append(decode()), settings, NEW_TOKENS)
    if lengths != [NEW_TOKENS]:
        raise RuntimeError(f"Decoding stopped early: expected {NEW_TOKENS} new tokens, got {lengths[0]}.")
    return each


class DecodingStepTimes(BaseStreamer):
    """A streamer that records when `generate` yields ids. The time of the prompt is not counted."""

    def __init__(self, settings: Settings):
        self.wait, self.moments = settings.wait, []

    def put(self, value: torch.Tensor) -> None:
        """Record the time."""
        self.wait()
        self.moments.append(perf_counter())

    def end(self) -> None:
        """Do nothing; there is nothing to flush."""

    def milliseconds(self) -> float:
        """Return the median of the last `GROWTH_STEPS` steps."""
        moments = self.moments[-GROWTH_STEPS - 1 :]
        return 1000 * median(after - before for before, after in pairwise(moments))


def measure_growth(settings: Settings) -> Iterator[Work]:
    """Measure milliseconds per step while the cache, the batch and the model grow, and what a longer cache adds."""
    size = GROWING[settings.device][1]
    shortest = CACHE_LENGTHS[0]
    works = [
        *((f"a step at {length:,} characters in the cache", size, 1, length) for length in CACHE_LENGTHS),
        *((f"a step of {batch} sequences, {shortest} characters", size, batch, shortest) for batch in BATCH_SIZES),
        *((f"a step of {other}", other, 1, shortest) for other in GROWING[settings.device]),
    ]
    for name, *grown in works:
        yield measure(name, "ms", _growth_steps(*grown, settings), settings, GROWTH_ROUNDS, warm_up=False)
    yield _added_by_cache(size, settings)


def growth_curves(works: Sequence[Work], settings: Settings) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return each contestant's points along the cache, the batch and the model, from the works of the section."""
    left = iter(works)
    sizes = {
        "characters in the cache": CACHE_LENGTHS,
        "sequences": BATCH_SIZES,
        "width of the model": [size.width for size in GROWING[settings.device]],
    }
    along = {kind: [(value, next(left)) for value in values] for kind, values in sizes.items()}
    return {
        kind: {who: [(value, median(work.figures[who])) for value, work in measured] for who in measured[0][1].figures}
        for kind, measured in along.items()
    }


def _added_by_cache(size: Size, settings: Settings) -> Work:
    """Measure what the characters between two lengths add to a step. Each round measures both lengths."""
    name = f"added to a step, {SHORT} to {LONG:,} characters in the cache"
    at_short, at_long = (f" at {length:,}" for length in (SHORT, LONG))
    steps = {
        f"{who} at {length:,}": step
        for length in (SHORT, LONG)
        for who, step in _growth_steps(size, 1, length, settings).items()
    }
    measured = interleave(steps, settings.rounds or ADDED_ROUNDS, name, warm_up=False)
    contestants = [step.removesuffix(at_short) for step in steps if step.endswith(at_short)]
    added = {who: list(map(sub, measured[f"{who}{at_long}"], measured[f"{who}{at_short}"])) for who in contestants}
    if median(added[LIMIT]) <= 0:
        print("  the limit was not slower with the longer cache: the machine was too busy to measure what that adds")
    targets = [Target(1.0, LIMIT)] if median(added[LIMIT]) > 0 and not settings.on_gpu else []
    return Work(name, "ms", added, targets)


def _growth_steps(size: Size, batch: int, length: int, settings: Settings) -> dict[str, Callable[[], float]]:
    positions = length + GROWTH_WARM_UP_STEPS + GROWTH_STEPS
    generators = {
        one.name: bind_generate(ready_to_generate(one, size, settings, positions), num_beams=1) for one in DECODERS
    }
    ours = ready_to_generate(DECODERS[0], size, settings)
    generators[LIMIT] = GreedyLimit(ours, batch, positions).generate
    ids = draw_ids(settings, batch, length)
    return {who: partial(_milliseconds_of_step, generate, ids, settings) for who, generate in generators.items()}


def _milliseconds_of_step(generate: Callable[..., torch.Tensor], ids: torch.Tensor, settings: Settings) -> float:
    times = DecodingStepTimes(settings)
    generate(ids, GROWTH_WARM_UP_STEPS + GROWTH_STEPS, streamer=times)
    return times.milliseconds()
