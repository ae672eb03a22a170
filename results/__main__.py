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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import transformers  # noqa: F401  first: it registers the models, which imports what the next line does
import typer

from atenta.engines.saved_model import count_weights
from atenta.recipes.samples import SAMPLES
from atenta.recipes.training.parsing import CONFIGS
from results.grid_page import write_pages
from results.grids import Grid, read_grid
from results.result_table import read_run, write_tables
from results.rows import FOLDER, Row, read_rows, read_yaml

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
_Read = TypeVar("_Read")
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
    rows = _read_or_exit(read_rows, rows_file)
    chosen = _chosen(names, "row", rows, again) or [row.name for row in rows.values() if full or row.quick]
    try:
        _run_all(chosen, rows, {"data": data, "outputs": outputs, "runs": runs}, again=again)
    finally:  # also what was done before a run that fails or is stopped
        _write_tables(rows, runs)


@app.command()
def grid(
    name: Annotated[str, typer.Argument(help=f"The grid: {' or '.join(GRIDS)}.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Cells to run, `<column>_<line>`, with those that they need. None: all."),
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
    found = _read_or_exit(read_grid, grid_file or FOLDER / f"{name}.yaml")
    chosen = _chosen(names, "cell", found.rows, again) or list(found.rows)
    runs = runs or FOLDER / name
    if found.cores:
        os.environ["OMP_NUM_THREADS"] = str(found.cores)  # which the runs inherit
    try:
        _run_all(chosen, found.rows, {"data": data, "outputs": outputs / name, "runs": runs}, again=again)
    finally:
        _write_pages(found, runs)


@app.command()
def table() -> None:
    """Write the table from the figures of results/runs, and the pages of the grids from theirs."""
    _write_tables(_read_or_exit(read_rows, FOLDER / "rows.yaml"), FOLDER / "runs")
    for name in GRIDS:
        _write_pages(_read_or_exit(read_grid, FOLDER / f"{name}.yaml"), FOLDER / name)


def _read_or_exit(read: Callable[[Path], _Read], path: Path) -> _Read:
    try:
        return read(path)
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _chosen(names: Sequence[str] | None, kind: str, rows: Mapping[str, Row], again: bool) -> list[str]:
    """Return the names that were given, if they are known and `--again` has some."""
    if unknown := set(names or ()) - rows.keys():
        raise SystemExit(f"No {kind} {', '.join(sorted(unknown))}; expected some of {', '.join(rows)}.")
    if again and not names:
        raise SystemExit(f"--again without names; expected the {kind}s that are to be run again.")
    return list(names or ())


def _run_all(names: Collection[str], rows: Mapping[str, Row], places: Mapping[str, Path], *, again: bool) -> None:
    """Run rows, after those that they need; with `again` they are run from the beginning, and those are not."""
    wanted = {each for name in names for each in _with_needs(rows[name], rows)}
    # Absolute: recipes are started in the root of the project.
    places = {name: place.resolve() for name, place in places.items()}
    for name in ("outputs", "runs"):
        places[name].mkdir(parents=True, exist_ok=True)
    left_out: set[str] = set()
    for row in (row for row in rows.values() if row.name in wanted):
        if reason := _reason_to_leave_out(row, places["data"], left_out):
            left_out.add(row.name)
            print(f"{row.name}: left out, because {reason}", flush=True)
            continue
        _copy_files(row, places)
        for seed in row.seeds:
            _run(row, rows, seed, places, again=again and row.name in names)


def _write_tables(rows: Mapping[str, Row], runs: Path) -> None:
    try:
        write_tables(rows.values(), runs, FOLDER if runs == FOLDER / "runs" else runs.parent)
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _write_pages(found: Grid, runs: Path) -> None:
    try:
        write_pages(found, runs, FOLDER if runs == FOLDER / found.name else runs.parent)
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _reason_to_leave_out(row: Row, data: Path, left_out: set[str]) -> str:
    """Return why a row cannot be run, or nothing."""
    if absent := left_out.intersection(row.needed):
        return f"it needs {', '.join(sorted(absent))}, which is left out"
    if missing := [name for name in row.files if not (data / name).is_file()]:
        where = f" {row.where['en']}" if row.where else ""
        return f"{data} has no {', '.join(missing)}. Name the folder that has with --data_folder.{where}"
    return ""


def _copy_files(row: Row, places: Mapping[str, Path]) -> None:
    """Copy the files of a row under names that have the ending of their format, and write those of samples."""
    for name, target in row.files.items():
        if target:
            (places["outputs"] / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(places["data"] / name, places["outputs"] / target)
    for name, target in row.samples.items():
        sample, _, split = name.partition("/")
        made = SAMPLES[sample].rows if sample in SAMPLES else None
        if made is None or split not in (pairs_of := made()):
            raise SystemExit(f"{row.name}: no sample of pairs has {name}; expected one such as accents/test.")
        (places["outputs"] / target).parent.mkdir(parents=True, exist_ok=True)
        lines = ["source\ttarget", *(f"{pair['source']}\t{pair['target']}" for pair in pairs_of[split])]
        (places["outputs"] / target).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _with_needs(row: Row, rows: Mapping[str, Row]) -> Iterator[str]:
    yield row.name
    for needed in row.needed:
        yield from _with_needs(rows[needed], rows)


def _run(row: Row, rows: Mapping[str, Row], seed: int, places: Mapping[str, Path], *, again: bool) -> None:
    """Train and score a model, or score an ensemble, unless its figures are there.

    Raises:
        SystemExit: If a model that it needs is not there, the run fails, or it leaves no figures.
    """
    name, outputs = f"{row.name}-{seed}", places["outputs"]
    kept, folder, state = places["runs"] / f"{name}.json", outputs / name, outputs / f"{name}.state.json"
    shown = _command(row, rows, {"data": "{data}", "outputs": "{outputs}", "seed": seed})
    made_by = {"command": shown, "configuration": _digest_of_configuration(shown)}
    of_kept = _made_by(kept) if kept.is_file() and not again else {"command": None}
    last = _read_state(state) if state.is_file() else {**of_kept, "done": True}
    if _is_made_by(of_kept, made_by) and _is_made_by(last, made_by) and last["done"] and not again:
        unknown = made_by["configuration"] and not of_kept["configuration"]
        noted = ", with a configuration that was not noted: --again repeats it" if unknown else ""
        print(f"{row.name}, seed {seed}: done{noted}", flush=True)
        return
    models = [f"{needed}-{each}" for needed in row.needed for each in rows[needed].seeds]
    if absent := [each for each in models if not (outputs / each).is_dir()]:
        raise SystemExit(
            f"{row.name}, seed {seed}: {outputs} has no {', '.join(absent)}, only its figures are kept; name "
            f"{absent[0].rpartition('-')[0]} with --again to make it again."
        )
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(state, {**made_by, "done": False})
    command = shlex.split(_command(row, rows, {**places, "seed": seed}))
    if row.ensemble_of is None:
        command += ["--output_dir", str(folder)]
        # A recipe goes on with a run of the same options, and refuses to with one of others.
        is_other = last["command"] is not None and not _is_made_by(last, made_by)
        command += ["--overwrite_output_dir"] if again or is_other else []
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
    metrics["run"] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", **told, **made_by}
    members = [folder] if row.ensemble_of is None else [outputs / each for each in models]
    metrics["weights"] = sum(count_weights(path) for member in members for path in member.glob("model*.safetensors"))
    _forget_those_that_need(row, rows, places)
    _write_json(kept, metrics)
    _write_json(state, {**made_by, "done": True})


def _without_places(value: Any, places: Mapping[str, Path]) -> Any:
    """Return a text without the names of folders of this machine, and anything else as it is."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(str(place), f"{{{name}}}")
        value = value.replace(f"{ROOT}/", "")
    return value


def _made_by(kept: Path) -> dict[str, str | None]:
    """Return the command of kept figures and the digest of its configuration, which earlier ones did not note."""
    try:
        run = read_run(kept)["run"]
    except ValueError as error:
        raise SystemExit(str(error)) from None
    return {"command": run["command"], "configuration": run.get("configuration")}


def _read_state(path: Path) -> dict[str, Any]:
    """Return what is known of a run that may have been stopped; a damaged file is that of one to begin anew."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        return {"command": state["command"], "configuration": state.get("configuration"), "done": state["done"]}
    except (ValueError, LookupError, TypeError, AttributeError):
        return {"command": "", "configuration": None, "done": False}


def _is_made_by(earlier: Mapping[str, Any], made_by: Mapping[str, str | None]) -> bool:
    known = earlier.get("configuration") is not None
    return earlier["command"] == made_by["command"] and (
        not known or earlier["configuration"] == made_by["configuration"]
    )


def _digest_of_configuration(command: str) -> str | None:
    """Return the digest of the options in a command's `--config`, which decide the run too; `None` without one."""
    words = shlex.split(command)
    if "--config" not in words:
        return None
    name = words[words.index("--config") + 1]
    file = next((path for path in (ROOT / name, CONFIGS / name) if path.is_file()), None)
    options = _read_or_exit(read_yaml, file) if file else None  # without it, the recipe complains
    return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()


def _write_json(path: Path, value: Any) -> None:
    """Write a file that is complete, also if this process is stopped."""
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _forget_those_that_need(row: Row, rows: Mapping[str, Row], places: Mapping[str, Path]) -> None:
    """Make rows that start from a model be run again from the beginning, because it has become another one."""
    for other in rows.values():
        if row.name not in other.needed:
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
