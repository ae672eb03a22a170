"""Run the rows of results/rows.yaml, and write the table of their figures.

A row is a task: a recipe with its options, and the seeds that it is run with. A run is not repeated if its figures are
in results/runs, made by the same command. One that was stopped goes on from its last checkpoint.
"""

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import transformers  # noqa: F401  first: it registers the models, which imports what the next line does
import typer
import yaml

from atenta.card_facts import count_weights
from results.result_table import read_run, write_tables

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent

app = typer.Typer(add_completion=False, help=__doc__, rich_markup_mode=None)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of rows.yaml.

    Attributes:
        name: the name of its runs.
        task: what it is about, in English (`en`) and Portuguese (`pt`).
        command: the recipe with its options; `{data}` stands for the folder of data that are not shipped, `{outputs}`
            for that of the models, `{seed}` for the seed.
        seeds: the seeds that it is run with.
        quick: whether a run takes less than five minutes on two cores.
        figures: the scores in the table: `score` in metrics.json, `label`, `error` if 1 − score is shown, the `test`
            set if it is not `test`, and the `target`, the worst figure that reaches it. None: a step that other rows
            start from, which is not in the table.
        answers: which of the answers in metrics.json is the model's.
        baseline: the answer in metrics.json that is made without a model; `None` if there is none.
        ensemble_of: another row, whose models are scored together instead of a training.
        test_file: what an ensemble is scored on.
        needs: rows that are run before.
        files: files of `{data}` that must be there; those with a value are copied to it in `{outputs}`.
        where: where these files can be had, in English and Portuguese.
        published: figures of others: `figure`, `by`, `source`, a `note`, and `figure_of`, the number of our figure
            that each is compared with, if not 0.
        note: what else must be known, in English and Portuguese.
    """

    name: str
    task: Mapping[str, str]
    figures: Sequence[Mapping[str, Any]] = ()
    command: str = ""
    seeds: Sequence[int] = (42,)
    quick: bool = False
    answers: str = "model"
    baseline: str | None = None
    ensemble_of: str | None = None
    test_file: str | None = None
    needs: Sequence[str] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[Mapping[str, Any]] = ()
    note: Mapping[str, str] = field(default_factory=dict)


def read_rows(path: Path = FOLDER / "rows.yaml") -> dict[str, Row]:
    """Return the rows by their names.

    Raises:
        ValueError: If the file is no list of rows, a key is unknown or missing, a name is there twice, or a row names
            one that is not before it.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{path} has no list of rows; expected `- name: …` for each row.")
    known = {each.name for each in fields(Row)}
    needed = {each.name for each in fields(Row) if each.default is MISSING and each.default_factory is MISSING}
    rows: dict[str, Row] = {}
    for given in found:
        name = given.get("name", "a row without a name")
        if unknown := given.keys() - known:
            listed = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"{path}: {name!r} has {listed}; expected some of {', '.join(sorted(known))}.")
        if missing := needed - given.keys():
            raise ValueError(f"{path}: {name!r} has no {', '.join(sorted(missing))}.")
        row = Row(**given)
        if row.name in rows:
            raise ValueError(f"{path} has two rows {row.name!r}; expected one of each name.")
        if missing := {*row.needs, *filter(None, [row.ensemble_of])} - rows.keys():
            raise ValueError(f"{path}: {row.name!r} needs {', '.join(sorted(missing))}; expected rows before it.")
        rows[row.name] = row
    if without := [row.name for row in rows.values() if not row.command]:
        raise ValueError(f"{path}: {', '.join(without)}: no command; expected a recipe or, of an ensemble, options.")
    return rows


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Rows to run, with those that they need.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All rows, or those whose runs take less than five minutes each.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run the named rows from the beginning. If that is stopped: without it.")
    ] = False,
    data: Annotated[
        Path, typer.Option("--data_folder", "--data", envvar="ATENTA_DATA", help="Data that are not shipped.")
    ] = ROOT / "outputs" / "data",
    outputs: Annotated[Path, typer.Option(help="Folder of the models.")] = ROOT / "outputs" / "results",
    runs: Annotated[Path, typer.Option(help="Folder of the figures.")] = FOLDER / "runs",
    rows_file: Annotated[Path, typer.Option("--rows_file", "--rows-file", help="The rows.")] = FOLDER / "rows.yaml",
) -> None:
    """Run rows, and write the table. What a run prints is kept beside its model, in `<row>-<seed>.log`."""
    rows = _rows_or_exit(rows_file)
    if unknown := set(names or ()) - rows.keys():
        raise SystemExit(f"No row {', '.join(sorted(unknown))}; expected some of {', '.join(rows)}.")
    if again and not names:
        raise SystemExit("--again without names; expected the rows that are to be run again.")
    chosen = [rows[name] for name in names] if names else [row for row in rows.values() if full or row.quick]
    wanted = {name for row in chosen for name in _with_needs(row, rows)}
    # Absolute: recipes are started in the root of the project.
    places = {"data": data.resolve(), "outputs": outputs.resolve(), "runs": runs.resolve()}
    for name in ("outputs", "runs"):
        places[name].mkdir(parents=True, exist_ok=True)
    left_out: set[str] = set()
    try:
        for row in (row for row in rows.values() if row.name in wanted):
            if reason := _reason_to_leave_out(row, places["data"], left_out):
                left_out.add(row.name)
                print(f"{row.name}: left out, because {reason}", flush=True)
                continue
            _copy_files(row, places)
            for seed in row.seeds:
                _run(row, rows, seed, places, again=again and row.name in (names or ()))
    finally:  # also what was done before a run that fails or is stopped
        _write_tables(rows, runs)


@app.command()
def table() -> None:
    """Write the table from the figures of results/runs."""
    _write_tables(_rows_or_exit(FOLDER / "rows.yaml"), FOLDER / "runs")


def _rows_or_exit(path: Path) -> dict[str, Row]:
    try:
        return read_rows(path)
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _write_tables(rows: Mapping[str, Row], runs: Path) -> None:
    try:
        write_tables(rows.values(), runs, FOLDER if runs == FOLDER / "runs" else runs.parent)
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _reason_to_leave_out(row: Row, data: Path, left_out: set[str]) -> str:
    """Return why a row cannot be run, or nothing."""
    if absent := left_out.intersection(_needs(row)):
        return f"it needs {', '.join(sorted(absent))}, which is left out"
    if missing := [name for name in row.files if not (data / name).is_file()]:
        where = f" {row.where['en']}" if row.where else ""
        return f"{data} has no {', '.join(missing)}. Name the folder that has with --data_folder.{where}"
    return ""


def _copy_files(row: Row, places: Mapping[str, Path]) -> None:
    """Copy the files of a row under names that have the ending of their format."""
    for name, target in row.files.items():
        if target:
            (places["outputs"] / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(places["data"] / name, places["outputs"] / target)


def _needs(row: Row) -> list[str]:
    return [*row.needs, *filter(None, [row.ensemble_of])]


def _with_needs(row: Row, rows: Mapping[str, Row]) -> Iterator[str]:
    yield row.name
    for needed in _needs(row):
        yield from _with_needs(rows[needed], rows)


def _run(row: Row, rows: Mapping[str, Row], seed: int, places: Mapping[str, Path], *, again: bool) -> None:
    """Train and score a model, or score an ensemble, unless its figures are there.

    Raises:
        SystemExit: If a model that it needs is not there, the run fails, or it leaves no figures.
    """
    name, outputs = f"{row.name}-{seed}", places["outputs"]
    kept, folder, state = places["runs"] / f"{name}.json", outputs / name, outputs / f"{name}.state.json"
    shown = _command(row, rows, {"data": "{data}", "outputs": "{outputs}", "seed": seed})
    of_kept = _command_of(kept) if kept.is_file() else None
    last = json.loads(state.read_text(encoding="utf-8")) if state.is_file() else {"command": of_kept, "done": True}
    if of_kept == last["command"] == shown and last["done"] and not again:
        print(f"{row.name}, seed {seed}: done", flush=True)
        return
    models = [f"{needed}-{each}" for needed in _needs(row) for each in rows[needed].seeds]
    if absent := [each for each in models if not (outputs / each).is_dir()]:
        first = absent[0].rpartition("-")[0]
        raise SystemExit(
            f"{row.name}, seed {seed}: {outputs} has no {', '.join(absent)}, only its figures are kept; "
            f"`python -m results run {first} --again` makes it again."
        )
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(state, {"command": shown, "done": False})
    command = shlex.split(_command(row, rows, {**places, "seed": seed}))
    if row.ensemble_of is None:
        command += ["--output_dir", str(folder)]
        # A recipe goes on with a run of the same options, and refuses to with one of others.
        command += ["--overwrite_output_dir"] if again or last["command"] not in (None, shown) else []
    else:
        command += ["--output", str(folder / "metrics.json")]
    print(f"\n{row.name}, seed {seed}: {shlex.join(command)}", flush=True)
    (folder / "metrics.json").unlink(missing_ok=True)  # that of an earlier run is not taken for this one's
    if status := _start(command, outputs / f"{name}.log"):
        raise SystemExit(f"{row.name}, seed {seed}: the run ended with status {status}; run it again to go on.")
    if not (folder / "metrics.json").is_file():
        raise SystemExit(f"{row.name}, seed {seed}: the run ended without {folder / 'metrics.json'}.")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    metrics.pop("training", None)  # the learning curve
    metrics.pop("by_length", None)
    told = {key: _without_places(value, places) for key, value in metrics["run"].items()}
    if own := told.get("command"):
        told["own_command"] = own  # what the recipe itself noted, to be compared with ours
    metrics["run"] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", **told, "command": shown}
    members = [folder] if row.ensemble_of is None else [outputs / each for each in models]
    metrics["weights"] = sum(count_weights(path) for member in members for path in member.glob("model*.safetensors"))
    _forget_those_that_need(row, rows, places)
    _write_json(kept, metrics)
    _write_json(state, {"command": shown, "done": True})


def _without_places(value: Any, places: Mapping[str, Path]) -> Any:
    """Return a text without the names of folders of this machine, and anything else as it is."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(str(place), f"{{{name}}}")
        value = value.replace(f"{ROOT}/", "")
    return value


def _command_of(kept: Path) -> str:
    try:
        return read_run(kept)["run"]["command"]
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _write_json(path: Path, value: Any) -> None:
    """Write a file that is complete, also if this process is stopped."""
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _forget_those_that_need(row: Row, rows: Mapping[str, Row], places: Mapping[str, Path]) -> None:
    """Make rows that start from a model be run again from the beginning, because it has become another one."""
    for other in rows.values():
        if row.name not in _needs(other):
            continue
        for seed in other.seeds:
            name = f"{other.name}-{seed}"
            if (places["runs"] / f"{name}.json").is_file():
                (places["runs"] / f"{name}.json").unlink()
                print(f"{other.name}, seed {seed}: to run again, because {row.name} is new", flush=True)
            if (places["outputs"] / name).is_dir():
                _write_json(places["outputs"] / f"{name}.state.json", {"command": "", "done": False})
        _forget_those_that_need(other, rows, places)


def _start(command: Sequence[str], log: Path) -> int:
    """Run a command, show what it prints and add that to a log. Return its status."""
    script, *options = command
    launched = [sys.executable, "-m", "atenta"] if script == "atenta" else [sys.executable, str(ROOT / script)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # else it is shown late: its output is no terminal
    process = subprocess.Popen(
        [*launched, *options], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with log.open("ab") as file, process:
        try:
            _show(process.stdout, file)
        except KeyboardInterrupt:  # the run is interrupted too, and says what it keeps
            _show(process.stdout, file)
            raise
    return process.returncode


def _show(output: BinaryIO, log: BinaryIO) -> None:
    while piece := output.read1():
        log.write(piece)
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _command(row: Row, rows: Mapping[str, Row], places: Mapping[str, Any]) -> str:
    """Return the command of a run, as one types it in the root of the project."""
    if row.ensemble_of is None:
        return f"{row.command.format(**places)} --seed {places['seed']}"
    first, *others = (f"{places['outputs']}/{row.ensemble_of}-{each}" for each in rows[row.ensemble_of].seeds)
    members = " ".join(f"--ensemble {shlex.quote(each)}" for each in others)
    return f"atenta evaluate {shlex.quote(first)} {members} {row.command} --test_file {row.test_file}".format(**places)


if __name__ == "__main__":
    app()
