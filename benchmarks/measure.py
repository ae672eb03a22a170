"""Contestants take turns, so that a machine that becomes slower or faster becomes so for all of them."""

from collections.abc import Callable, Mapping
from time import perf_counter


def interleave(
    contestants: Mapping[str, Callable[[], float]], rounds: int, what: str, *, warm_up: bool = True
) -> dict[str, list[float]]:
    """Let each contestant give a figure in every round.

    Every other round goes backwards, so that nobody always runs behind the same one.

    Args:
        contestants: what gives a figure, by name.
        rounds: figures of each.
        what: is measured, for the lines that tell how far it is.
        warm_up: begin with a round that does not count.

    Returns:
        The figures of each contestant, one a round.

    Raises:
        ValueError: `rounds` is below 1.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; expected 1 or more.")
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    _tell(f"{what}: {', '.join(names)}")
    for name in names if warm_up else ():
        contestants[name]()
    started = perf_counter()
    for number in range(1, rounds + 1):
        for name in names:
            figures[name].append(contestants[name]())
        names.reverse()
        each = (perf_counter() - started) / number
        _tell(f"{what}: round {number} of {rounds}, {each * (rounds - number):.0f} s left")
    return figures


def timed(function: Callable[[], object], wait: Callable[[], None]) -> float:
    """Return the seconds that a call takes, until the device has done what it was given."""
    wait()
    started = perf_counter()
    function()
    wait()
    return perf_counter() - started


def _tell(line: str) -> None:
    print(f"  {line}", flush=True)
