"""Run the rows of results/rows.yaml, and write the table of their figures.

A row is a task: a recipe with its options, and the seeds that it is run with. A run is not repeated if its figures are
in results/runs, made by the same command. One that was stopped goes on from its last checkpoint.
"""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from safetensors import safe_open

from results.result_table import write_tables

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
            set if it is not `test`, and the `target`, the worst figure that reaches it.
        answers: which of the answers in metrics.json is the model's.
        baseline: the answer in metrics.json that is made without a model; `None` if there is none.
        ensemble_of: another row, whose models are scored together instead of a training.
        test_file: what an ensemble is scored on.
        needs: rows that are run before.
        files: files of `{data}` that must be there; those with a value are copied to it in `{outputs}`.
        published: figures of others: `figure`, `by`, `source`, a `note`, and `figure_of`, the number of our figure
            that each is compared with, if not 0.
        note: what else must be known, in English and Portuguese.
    """

    name: str
    task: Mapping[str, str]
    figures: Sequence[Mapping[str, Any]]
    command: str = ""
    seeds: Sequence[int] = (42,)
    quick: bool = False
    answers: str = "model"
    baseline: str | None = None
    ensemble_of: str | None = None
    test_file: str | None = None
    needs: Sequence[str] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    published: Sequence[Mapping[str, Any]] = ()
    note: Mapping[str, str] = field(default_factory=dict)


def read_rows(path: Path = FOLDER / "rows.yaml") -> dict[str, Row]:
    """Return the rows by their names.

    Raises:
        ValueError: If a name is there twice, or a row names one that is not before it.
    """
    rows: dict[str, Row] = {}
    for given in yaml.safe_load(path.read_text(encoding="utf-8")):
        row = Row(**given)
        if row.name in rows:
            raise ValueError(f"{path} has two rows {row.name!r}; expected one of each name.")
        if missing := {*row.needs, *filter(None, [row.ensemble_of])} - rows.keys():
            raise ValueError(f"{path}: {row.name!r} needs {', '.join(sorted(missing))}; expected rows before it.")
        rows[row.name] = row
    return rows


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Rows to run, with those that they need.")] = None,
    full: Annotated[bool, typer.Option(help="Run all rows, also those of more than five minutes.")] = False,
    data: Annotated[Path, typer.Option(envvar="ATENTA_DATA", help="Folder of the data that are not shipped.")] = ROOT
    / "outputs"
    / "data",
    outputs: Annotated[Path, typer.Option(help="Folder of the models.")] = ROOT / "outputs" / "results",
    runs: Annotated[Path, typer.Option(help="Folder of the figures.")] = FOLDER / "runs",
    rows_file: Annotated[Path, typer.Option(help="The rows.")] = FOLDER / "rows.yaml",
) -> None:
    """Run rows, and write the table."""
    rows = read_rows(rows_file)
    if unknown := set(names or ()) - rows.keys():
        raise SystemExit(f"No row {', '.join(sorted(unknown))}; expected some of {', '.join(rows)}.")
    chosen = [row for row in rows.values() if row.name in names] if names else list(rows.values())
    chosen = [row for row in chosen if names or full or row.quick]
    wanted = {name for row in chosen for name in _with_needs(row, rows)}
    runs.mkdir(parents=True, exist_ok=True)
    for row in (row for row in rows.values() if row.name in wanted):
        if missing := [name for name in row.files if not (data / name).is_file()]:
            print(
                f"{row.name}: left out, because {data} has no {', '.join(missing)}: see results/README.md", flush=True
            )
            continue
        for name, target in row.files.items():
            if target:
                (outputs / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(data / name, outputs / target)
        for seed in row.seeds:
            _run(row, rows, seed, {"data": data, "outputs": outputs, "seed": seed}, outputs, runs)
    write_tables(rows.values(), runs, FOLDER if runs == FOLDER / "runs" else runs.parent)


@app.command()
def table() -> None:
    """Write the table from the figures of results/runs."""
    write_tables(read_rows().values(), FOLDER / "runs", FOLDER)


def _with_needs(row: Row, rows: Mapping[str, Row]) -> Iterator[str]:
    yield row.name
    for needed in (*row.needs, *filter(None, [row.ensemble_of])):
        yield from _with_needs(rows[needed], rows)


def _run(row: Row, rows: Mapping[str, Row], seed: int, places: Mapping[str, Any], outputs: Path, runs: Path) -> None:
    """Train and score a model, or score an ensemble, unless its figures are there."""
    kept, folder = runs / f"{row.name}-{seed}.json", outputs / f"{row.name}-{seed}"
    shown = _command(row, rows, {"data": "{data}", "outputs": "{outputs}", "seed": seed})
    if kept.is_file() and json.loads(kept.read_text(encoding="utf-8"))["run"]["command"] == shown:
        print(f"{row.name}, seed {seed}: done", flush=True)
        return
    command = shlex.split(_command(row, rows, places))
    folder.mkdir(parents=True, exist_ok=True)
    if row.ensemble_of is None:
        command += ["--output_dir", str(folder)]
    else:
        command += ["--output", str(folder / "metrics.json")]
    print(f"\n{row.name}, seed {seed}: {shlex.join(command)}", flush=True)
    script, *options = command
    launched = [sys.executable, "-m", "atenta"] if script == "atenta" else [sys.executable, str(ROOT / script)]
    status = subprocess.run([*launched, *options], cwd=ROOT).returncode
    if status:
        raise SystemExit(f"{row.name}, seed {seed}: the run ended with status {status}; run it again to go on.")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    metrics.pop("training", None)  # the learning curve
    metrics.pop("by_length", None)
    metrics["run"]["command"] = shown
    metrics["weights"] = _count_weights(folder if row.ensemble_of is None else outputs / f"{row.ensemble_of}-{seed}")
    kept.write_text(json.dumps(metrics, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _command(row: Row, rows: Mapping[str, Row], places: Mapping[str, Any]) -> str:
    """Return the command of a run, as one types it in the root of the project."""
    if row.ensemble_of is None:
        return f"{row.command.format(**places)} --seed {places['seed']}"
    first, *others = (f"{places['outputs']}/{row.ensemble_of}-{each}" for each in rows[row.ensemble_of].seeds)
    members = " ".join(f"--ensemble {shlex.quote(each)}" for each in others)
    return f"atenta evaluate {shlex.quote(first)} {members} {row.command} --test_file {row.test_file}".format(**places)


def _count_weights(folder: Path) -> int:
    """Return the number of weights of a saved model; shared ones count once."""
    path = folder / "model.safetensors"
    if not path.is_file():
        return 0
    with safe_open(path, "numpy") as weights:
        sizes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118  # not a dictionary
    total = 0
    for shape in sizes:
        count = 1
        for size in shape:
            count *= size
        total += count
    return total


if __name__ == "__main__":
    app()
