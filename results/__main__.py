"""Run the rows of results/rows.yaml, or the cells of a grid, and write the table of their figures.

A row is a task: a recipe with its options, and the seeds that it is run with. A grid has the same score for several
choices on several tasks; each cell is such a row. A run is not repeated if its figures are in results/runs, or in the
folder of the grid, made by the same command. One that was stopped goes on from its last checkpoint.
"""

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import transformers  # noqa: F401  first: it registers the models, which imports what the next line does
import typer

from atenta.engines.saved_model import weight_files
from atenta.engines.saved_tensors import count_weights
from atenta.recipes.reading.records import exit_on
from atenta.recipes.samples.registry import SAMPLES
from atenta.recipes.training.parsing import CONFIGS
from results.figures import read_run, write_json
from results.pages import write_pages, write_tables
from results.rows import FOLDER, Row, read_grid, read_rows, read_yaml

ROOT = FOLDER.parent
GRIDS = ("choices", "language_models")

_Again = Annotated[
    bool, typer.Option("--again", help="Run what is named from the beginning. If that is stopped: without it.")
]
_Data = Annotated[
    Path, typer.Option("--data_folder", "--data", envvar="ATENTA_DATA", help="Data that are not shipped.")
]
_Outputs = Annotated[Path, typer.Option(help="Folder of the models.")]
_RUNS = typer.Option(help="Folder of the figures.")
_DATA, _OUTPUTS = ROOT / "outputs" / "data", ROOT / "outputs" / "results"

app = typer.Typer(add_completion=False, help=__doc__, rich_markup_mode=None)


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Rows to run, with those that they need.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All rows, or those whose runs take less than five minutes each.")
    ] = False,
    again: _Again = False,
    data: _Data = _DATA,
    outputs: _Outputs = _OUTPUTS,
    runs: Annotated[Path, _RUNS] = FOLDER / "runs",
    rows_file: Annotated[Path, typer.Option("--rows_file", "--rows-file", help="The rows.")] = FOLDER / "rows.yaml",
) -> None:
    """Run rows, and write the table. What a run prints is kept beside its model, in `<row>-<seed>.log`."""
    with exit_on(ValueError):
        rows = read_rows(rows_file)
    chosen = _choose(names, "row", rows, again) or [row.name for row in rows.values() if full or row.quick]
    page = runs.resolve().parent / "README.md"
    if page.is_file() and "\n## How each was made" not in page.read_text(encoding="utf-8", errors="replace"):
        raise SystemExit(f"--runs {runs}: the table would replace {page}; expected a folder such as {runs / 'runs'}.")
    try:
        Runner(rows, data, outputs, runs).run(chosen, again)
    finally:  # also what was done before a run that fails or is stopped
        with exit_on(ValueError):
            write_tables(list(rows.values()), runs, runs.parent)


@app.command()
def grid(
    name: Annotated[str, typer.Argument(help=f"The grid: {' or '.join(GRIDS)}.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Cells to run, `<column>_<line>`, with those that they need. None: all.")
    ] = None,
    again: _Again = False,
    data: _Data = _DATA,
    outputs: _Outputs = _OUTPUTS,
    runs: Annotated[Path | None, _RUNS] = None,
    grid_file: Annotated[Path | None, typer.Option("--grid_file", "--grid-file", help="The grid's file.")] = None,
) -> None:
    """Run cells of a grid, and write its pages. Its models, and what their runs print, are in a folder of its name."""
    if name not in GRIDS:
        raise SystemExit(f"No grid {name}; expected {' or '.join(GRIDS)}.")
    with exit_on(ValueError):
        cells = read_grid(grid_file or FOLDER / f"{name}.yaml")
    chosen = _choose(names, "cell", cells.rows, again) or list(cells.rows)
    runs = runs or FOLDER / name
    if cells.cores:
        os.environ["OMP_NUM_THREADS"] = str(cells.cores)  # which the runs inherit
    try:
        Runner(cells.rows, data, outputs / name, runs).run(chosen, again)
    finally:
        with exit_on(ValueError):
            write_pages(cells, runs, runs.parent)


@app.command()
def table() -> None:
    """Write the table from the figures of results/runs, and the pages of the grids from theirs."""
    with exit_on(ValueError):
        write_tables(list(read_rows().values()), FOLDER / "runs", FOLDER)
        for name in GRIDS:
            write_pages(read_grid(FOLDER / f"{name}.yaml"), FOLDER / name, FOLDER)


def _choose(names: Sequence[str] | None, kind: str, rows: Mapping[str, Row], again: bool) -> list[str]:
    """Return the names on the command line, if they are known and `--again` has some."""
    if unknown := set(names or ()) - rows.keys():
        raise SystemExit(f"No {kind} {', '.join(sorted(unknown))}; expected some of {', '.join(rows)}.")
    if again and not names:
        raise SystemExit(f"--again without names; expected the {kind}s that are to be run again.")
    return list(names or ())


class Runner:
    """Runs rows, each after those that it needs, and keeps their figures in `runs`, in `<row>-<seed>.json`.

    The models are in `outputs`: `<row>-<seed>`, and what a run prints in `<row>-<seed>.log`. `data` has data that are
    not shipped.
    """

    def __init__(self, rows: Mapping[str, Row], data: Path, outputs: Path, runs: Path) -> None:
        self.rows = rows
        # Absolute: recipes are started in the root of the project.
        self.data, self.outputs, self.runs = data.resolve(), outputs.resolve(), runs.resolve()

    def run(self, names: Sequence[str], again: bool) -> None:
        """Run the rows of these names after those that they need; `again`: from the beginning, but not those."""
        wanted = {each for name in names for each in self._with_needs(name)}
        self.outputs.mkdir(parents=True, exist_ok=True)
        self.runs.mkdir(parents=True, exist_ok=True)
        left_out: set[str] = set()
        for row in (row for name, row in self.rows.items() if name in wanted):
            if reason := self._reason_to_leave_out(row, left_out):
                left_out.add(row.name)
                print(f"{row.name}: left out, because {reason}", flush=True)
                continue
            self._write_files(row)
            for seed in row.seeds:
                self._run_seed(row, seed, again and row.name in names)

    def _with_needs(self, name: str) -> Iterator[str]:
        yield name
        for needed in self.rows[name].needed:
            yield from self._with_needs(needed)

    def _reason_to_leave_out(self, row: Row, left_out: set[str]) -> str:
        """Return why a row cannot be run, or nothing."""
        if absent := left_out.intersection(row.needed):
            return f"it needs {', '.join(sorted(absent))}, which is left out"
        if missing := [name for name in row.files if not (self.data / name).is_file()]:
            where = f" {row.where['en']}" if row.where else ""
            return f"{self.data} has no {', '.join(missing)}. Name the folder that has with --data_folder.{where}"
        return ""

    def _write_files(self, row: Row) -> None:
        """Copy the files of a row under names that have the ending of their format, and write those of samples."""
        for target in filter(None, [*row.files.values(), *row.samples.values()]):
            (self.outputs / target).parent.mkdir(parents=True, exist_ok=True)
        for name, target in row.files.items():
            if target:
                shutil.copyfile(self.data / name, self.outputs / target)
        for name, target in row.samples.items():
            sample, _, split = name.partition("/")
            rows = SAMPLES[sample].rows if sample in SAMPLES else None
            if rows is None or split not in (splits := rows()):
                raise SystemExit(f"{row.name}: no sample of pairs has {name}; expected one such as accents/test.")
            lines = ["source\ttarget", *(f"{pair['source']}\t{pair['target']}" for pair in splits[split])]
            (self.outputs / target).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _run_seed(self, row: Row, seed: int, again: bool) -> None:
        """Train and score a model, or score an ensemble, unless its figures are there."""
        name = f"{row.name}-{seed}"
        kept, folder = self.runs / f"{name}.json", self.outputs / name
        shown = self._command(row, seed)
        made_by = {"command": shown, "configuration": _digest_of_configuration(shown)}
        if kept.is_file():
            with exit_on(ValueError):
                earlier = read_run(kept)["run"]
            # The first runs did not note their configuration.
            configuration = earlier.get("configuration") or made_by["configuration"]
            if not again and made_by == {"command": earlier["command"], "configuration": configuration}:
                print(f"{row.name}, seed {seed}: done", flush=True)
                return
        models = [f"{needed}-{each}" for needed in row.needed for each in self.rows[needed].seeds]
        if absent := [each for each in models if not (self.outputs / each).is_dir()]:
            raise SystemExit(
                f"{row.name}, seed {seed}: {self.outputs} has no {', '.join(absent)}, only its figures are kept; name "
                f"{absent[0].rpartition('-')[0]} with --again to make it again."
            )
        if again or kept.is_file():
            self._forget(row, [seed])
        self._forget_those_that_need(row)
        folder.mkdir(parents=True, exist_ok=True)
        words = shlex.split(shown)
        command = [each.replace("{data}", str(self.data)).replace("{outputs}", str(self.outputs)) for each in words]
        command += ["--output", f"{folder}/metrics.json"] if row.ensemble_of else ["--output_dir", str(folder)]
        print(f"\n{row.name}, seed {seed}: {shlex.join(command)}", flush=True)
        if status := start(command, self.outputs / f"{name}.log"):
            raise SystemExit(
                f"{row.name}, seed {seed}: the run ended with status {status}; run it again to go on, or with --again "
                "to begin anew."
            )
        if not (folder / "metrics.json").is_file():
            raise SystemExit(f"{row.name}, seed {seed}: the run ended without {folder / 'metrics.json'}.")
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        metrics.pop("training", None)  # the learning curve
        metrics.pop("by_length", None)
        about = {key: self._without_places(value) for key, value in metrics["run"].items()}
        if own := about.get("command"):
            about["own_command"] = own  # what the recipe itself noted, to be compared with ours
        metrics["run"] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", **about, **made_by}
        members = [self.outputs / each for each in models] if row.ensemble_of else [folder]
        metrics["weights"] = sum(count_weights(path) for member in members for path in weight_files(member))
        write_json(kept, metrics)

    def _command(self, row: Row, seed: int) -> str:
        """Return the command of a run, as one types it in the root of the project, with `{data}` and `{outputs}`."""
        own = row.command.format(seed=seed, data="{data}", outputs="{outputs}")
        if row.ensemble_of is None:
            return f"{own} --seed {seed}"
        first, *others = (f"{{outputs}}/{row.ensemble_of}-{each}" for each in self.rows[row.ensemble_of].seeds)
        members = " ".join(f"--ensemble {shlex.quote(each)}" for each in others)
        return f"atenta evaluate {shlex.quote(first)} {members} {own} --test_file {row.test_file}"

    def _forget(self, row: Row, seeds: Sequence[int]) -> None:
        """Remove figures and models of a row, so that it is run from the beginning."""
        for seed in seeds:
            (self.runs / f"{row.name}-{seed}.json").unlink(missing_ok=True)
            if (folder := self.outputs / f"{row.name}-{seed}").is_dir():
                shutil.rmtree(folder)

    def _forget_those_that_need(self, row: Row) -> None:
        """Forget the rows that start from the models of a row, because these become others."""
        for other in self.rows.values():
            if row.name in other.needed:
                if any((self.runs / f"{other.name}-{seed}.json").is_file() for seed in other.seeds):
                    print(f"{other.name}: to run again, because {row.name} is new", flush=True)
                self._forget(other, other.seeds)
                self._forget_those_that_need(other)

    def _without_places(self, value: Any) -> Any:
        """Return a text without the names of folders of this machine, and anything else as it is."""
        if isinstance(value, str):
            for name in ("data", "outputs", "runs"):
                value = value.replace(str(getattr(self, name)), f"{{{name}}}")
            value = value.replace(f"{ROOT}/", "")
        return value


def _digest_of_configuration(command: str) -> str | None:
    """Return the digest of the options in a command's `--config`, which decide the run too; `None` without one."""
    words = shlex.split(command)
    if "--config" not in words:
        return None
    name = words[words.index("--config") + 1]
    file = next((path for path in (ROOT / name, CONFIGS / name) if path.is_file()), None)
    with exit_on(ValueError):
        options = read_yaml(file) if file else None  # without it, the recipe complains
    return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()


def start(command: Sequence[str], log: Path) -> int:
    """Run a command, show what it prints and add that to a log. Return its status."""
    script, *options = command
    launched = [sys.executable, "-m", "atenta"] if script == "atenta" else [sys.executable, str(ROOT / script)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # else it is shown late: its output is not a terminal
    process = subprocess.Popen(
        [*launched, *options], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )

    def show() -> None:
        while piece := process.stdout.read1():
            file.write(piece)
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    with log.open("ab") as file, process:
        try:
            show()
        except KeyboardInterrupt:  # the run is interrupted too, and says what it keeps
            show()
            raise
    return process.returncode


if __name__ == "__main__":
    app()
