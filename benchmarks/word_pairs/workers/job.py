"""The parts that all workers share: their job, and their answer to it. The standard library is enough.

A worker is a script that runs in an environment of its own, in which this package may not be installed: `python
workers/with_….py job.json`. It trains a contestant for the minutes of the job, decodes the test, and writes its answer
to `answer.json` beside the job. The environment says how many threads it has.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

_LONG_ENOUGH = 10  # seconds of decoding after which it is not repeated


@dataclass(frozen=True)
class Job:
    """The task of a worker.

    Attributes:
        contestant: The name of the contestant; a worker may have several.
        train: A file of `source<TAB>target` or, if there are tags, `source<TAB>target<TAB>V;3;PL`.
        validation: A file like it.
        test: A file like it, with each source once.
        separator: The text that separates the units of a target; `None`: its characters are the units.
        tagged: Whether the files have tags.
        config: The name of our configuration file.
        options: Its options, of which a peer takes what it knows.
        minutes: The time of training.
        seed: The seed.
        beams: The width of the beam search.
        folder: The folder of the worker's own files.
    """

    contestant: str
    train: str
    validation: str
    test: str
    separator: str | None
    tagged: bool
    config: str
    options: dict[str, Any]
    minutes: float
    seed: int
    beams: int
    folder: str

    @property
    def seconds(self) -> float:
        """The time of training in seconds."""
        return self.minutes * 60

    def read(self, split: str) -> list[list[str]]:
        """Return the cells of each line of a file: source, target and, if there are tags, these."""
        lines = Path(getattr(self, split)).read_text(encoding="utf-8").splitlines()
        return [line.split("\t") for line in lines]


def read_job() -> Job:
    """Return the job that the command line names."""
    return Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def finish(
    job: Job, model: Any, training_seconds: float, decode: Callable[[int], Iterable[str]], packages: Sequence[str]
) -> None:
    """Decode the test greedily and by beam search, and write the answer to a job.

    `decode` takes a number of beams, and returns the output for each line of the test. A test of few words is decoded
    twice, and the second time counts: the first one allocates memory. The seconds of training include validation.
    """
    model.eval()
    answer = {
        "weights": sum(each.numel() for each in model.parameters()),
        "training_seconds": training_seconds,
        "versions": {"Python": sys.version.split()[0], **{name: version(name) for name in packages}},
    }
    for name, width in (("greedy", 1), ("beams", job.beams)):
        for _ in range(2):
            started = perf_counter()
            outputs = list(decode(width))
            seconds = perf_counter() - started
            if seconds > _LONG_ENOUGH:
                break
        answer[name] = {"outputs": outputs, "seconds": seconds}
    text = json.dumps(answer, ensure_ascii=False, indent=1)
    (Path(job.folder) / "answer.json").write_text(f"{text}\n", encoding="utf-8")
