"""How good answers are: each figure an `evaluate` module of its own, loaded by its path, with no network."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import evaluate

METRICS = sorted({file.stem for file in Path(__file__).parent.glob("*.py")} - {"__init__", "inputs"})


def scores(names: Iterable[str], *, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
    """Return every figure of the metrics named, in one dictionary.

    All processes may score at once: nothing is kept in files but each module's copy in evaluate's cache, made under a
    lock. A process scores what it is given, so answers made by several are gathered first
    (`Accelerator.gather_for_metrics`, which drops the examples that fill an uneven last batch).

    Args:
        names: files of this folder without their suffix, such as `exact_match`; their docstrings define the figures.
        predictions: one for each example, of the type that the metrics named take.
        references: what was expected, in the order of `predictions`.

    Raises:
        FileNotFoundError: there is no metric of that name.
        ValueError: no examples, one more of predictions or references, or input that a metric does not accept.
    """
    files = [Path(__file__).with_name(f"{name}.py") for name in names]
    # Loaded anew each time (a millisecond): a module that raised keeps what it was given for its next call.
    modules = [evaluate.load(str(file), keep_in_memory=True) for file in files]
    return evaluate.combine(modules).compute(predictions=predictions, references=references)
