"""The cells of the table: a contestant, a data set, a time and a seed. Each is run in a fresh process, and kept."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measuring import Settings, describe_machine
from benchmarks.word_pairs.data_sets import DATA_SETS, DataSet, Rows, write_rows
from results.figures import write_json

WORKERS = Path(__file__).parent / "workers"
BEAMS = 5


@dataclass(frozen=True)
class Contestant:
    """A library with a model of it.

    Attributes:
        worker: The script in `workers` that trains it; `None`: it has no model, and needs no time.
        packages: The packages of its own environment, pinned, the library first; empty: it runs in this one.
    """

    worker: str | None = None
    packages: tuple[str, ...] = ()


CONTESTANTS = {
    "atenta": Contestant("with_trainer.py"),
    "bart": Contestant("with_trainer.py"),
    "yoyodyne_rotary": Contestant("with_yoyodyne.py", ("yoyodyne==0.5.27",)),
    "yoyodyne_pointer": Contestant("with_yoyodyne.py", ("yoyodyne==0.5.27",)),
    # It imports importlib_metadata without requiring it.
    "joeynmt": Contestant("with_joeynmt.py", ("joeynmt==2.3.0", "importlib_metadata==10.2.0")),
    "look_up": Contestant(),
    "letters_in_context": Contestant(),
}


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of the table; without a model, `minutes` and `seed` are 0."""

    minutes: float
    seed: int
    data_set: str
    contestant: str

    @property
    def file(self) -> str:
        """The name of its file."""
        model = f"-{self.minutes:g}min-{self.seed}" if self.minutes else ""
        return f"{self.data_set}-{self.contestant}{model}.json"


def list_cells(
    data_sets: Sequence[str], contestants: Sequence[str], minutes: Sequence[float], seeds: Sequence[int]
) -> list[Cell]:
    """Return the cells in the order in which they are run: without a model, then by time, seed and data set."""
    without = [name for name in contestants if CONTESTANTS[name].worker is None]
    models = [name for name in contestants if name not in without]
    return [
        *(Cell(0, 0, *each) for each in product(data_sets, without)),
        *(Cell(*each) for each in product(sorted(minutes), seeds, data_sets, models)),
    ]


class Runner:
    """Runs cells one after another, and keeps each as JSON in the folder `cells` once it is complete.

    Models, logs and environments are in the folder `work`, the user's data that are not shipped in `data_folder`.
    """

    def __init__(self, cells: Path, work: Path, data_folder: Path, threads: int) -> None:
        self.cells, self.work, self.data_folder, self.threads = cells, work.resolve(), data_folder, threads
        self._rows: dict[str, dict[str, Rows]] = {}

    def run(self, cells: Sequence[Cell]) -> Iterator[str]:
        """Run the cells that are not there yet, or failed; yield a line on each."""
        for number, cell in enumerate(cells, start=1):
            named = f"{number} of {len(cells)}: {cell.file.removesuffix('.json')}"
            path = self.cells / cell.file
            if path.is_file() and "error" not in json.loads(path.read_text(encoding="utf-8")):
                yield f"{named}: done"
                continue
            started = perf_counter()
            try:
                rows = self._read(DATA_SETS[cell.data_set])
            except FileNotFoundError as error:
                yield f"{named}: left out: {error}"
                continue
            try:
                figures = self._train(cell, rows) if cell.minutes else self._answer(cell, rows)
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                figures = {"error": str(error)}
            kept = {**vars(cell), **figures, **self._describe(cell), "seconds": perf_counter() - started}
            write_json(path, kept)
            wrong = ", ".join(f"{name} {share:.3f}" for name, share in figures.get("words_wrong", {}).items())
            yield f"{named}: {wrong or figures['error']}"

    def _read(self, data_set: DataSet) -> dict[str, Rows]:
        if data_set.name not in self._rows:
            self._rows[data_set.name] = data_set.read(self.data_folder)
        return self._rows[data_set.name]

    def _answer(self, cell: Cell, rows: Mapping[str, Rows]) -> dict[str, Any]:
        """Return the figures of a contestant without a model, whose seconds are those of counting and answering."""
        data_set = DATA_SETS[cell.data_set]
        started = perf_counter()
        outputs = data_set.answer(cell.contestant, rows["train"], rows["test"])
        seconds = perf_counter() - started
        return {
            "words_wrong": {"greedy": data_set.words_wrong(rows["test"], outputs)},
            "words_per_second": {"greedy": len(outputs) / seconds},
        }

    def _train(self, cell: Cell, rows: Mapping[str, Rows]) -> dict[str, Any]:
        """Return the figures of a contestant with a model, which its worker trains and decodes the test with."""
        data_set, contestant = DATA_SETS[cell.data_set], CONTESTANTS[cell.contestant]
        folder = self.work / cell.file.removesuffix(".json")
        files = {split: folder / f"{split}.tsv" for split in rows}
        if folder.is_dir():  # of a run that was stopped: none may go on from its checkpoints
            shutil.rmtree(folder)
        for split, of_split in rows.items():
            write_rows(files[split], of_split)
        job = {
            "contestant": cell.contestant,
            **{split: str(path) for split, path in files.items()},
            "separator": data_set.separator,
            "tagged": any(row["tags"] for row in rows["train"]),
            "config": data_set.config,
            "options": data_set.options,
            "minutes": cell.minutes,
            "seed": cell.seed,
            "beams": BEAMS,
            "folder": str(folder),
        }
        path, answer = folder / "job.json", folder / "answer.json"
        write_json(path, job)
        python = self._environment(contestant.packages) if contestant.packages else Path(sys.executable)
        self._start([python, WORKERS / str(contestant.worker), path], folder / "log.txt")
        answered = json.loads(answer.read_text(encoding="utf-8"))
        decoded = {name: answered[name] for name in ("greedy", "beams")}
        return {
            "words_wrong": {
                name: data_set.words_wrong(rows["test"], each["outputs"]) for name, each in decoded.items()
            },
            "words_per_second": {name: len(each["outputs"]) / each["seconds"] for name, each in decoded.items()},
            **{name: answered[name] for name in ("weights", "training_seconds", "versions")},
        }

    def _environment(self, packages: Sequence[str]) -> Path:
        """Make the environment of packages, with the torch of this one, unless it is there; return its Python."""
        folder = self.work / "environments" / packages[0].replace("==", "-")
        python, made = folder / "bin" / "python", folder / "made"
        if not made.is_file():
            print(f"Making the environment of {packages[0]} in {folder}: some minutes.", flush=True)
            venv.create(folder, clear=True, with_pip=True)
            torch = f"torch=={version('torch').partition('+')[0]}"
            pip = [python, "-m", "pip"]
            self._start([*pip, "install", torch, *packages], folder / "log.txt")
            # yoyodyne requires it without importing it, but torchmetrics does, and the one of PyPI, made for CUDA,
            # fails beside a torch for CPUs.
            self._start([*pip, "uninstall", "--yes", "torchvision"], folder / "log.txt")
            made.touch()
        return python

    def _start(self, command: Sequence[str | Path], log: Path) -> None:
        """Run a command with the threads of this table.

        Raises:
            OSError: If it fails; the message has the last line that it printed, and names its log.
        """
        threads = str(self.threads)
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        if command[0] != Path(sys.executable):
            environment.pop("PYTHONPATH", None)  # another environment sees nothing of this one
        with log.open("w", encoding="utf-8") as printed:
            ended = subprocess.run(
                [str(each) for each in command], stdout=printed, stderr=subprocess.STDOUT, env=environment
            )
        if ended.returncode:
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
            # A cell is published, with no path of this machine.
            where = f"{log.relative_to(self.work)} in --work_folder"
            raise OSError(f"ended with status {ended.returncode}: {last} (see {where})")

    def _describe(self, cell: Cell) -> dict[str, Any]:
        names = f"{cell.data_set} {cell.contestant}"
        model = f" --minutes {cell.minutes:g} --seeds {cell.seed}" if cell.minutes else ""
        return {
            "command": f"python -m benchmarks.word_pairs --only {names}{model} --threads {self.threads}",
            "machine": describe_machine(Settings(threads=self.threads)),
            "date": date.today().isoformat(),
        }
