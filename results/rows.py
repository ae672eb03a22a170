"""The runs: the rows of rows.yaml, each a task, and grids such as choices.yaml, whose cells are such rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import yaml

FOLDER = Path(__file__).resolve().parent
_LANGUAGES = ("en", "pt")
_Named = TypeVar("_Named")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of rows.yaml: a recipe with its options, and the seeds that it is run with.

    Attributes:
        name: The name of its runs.
        task: What it is about, in English (`en`) and Portuguese (`pt`).
        command: The recipe with its options or, for an ensemble, those of `atenta evaluate`. `{data}` stands for the
            folder of data that are not shipped, `{outputs}` for that of the models, `{seed}` for the seed.
        seeds: The seeds that it is run with.
        quick: Whether a run takes less than five minutes on two cores.
        figures: The scores in the table: `score` in metrics.json, `label`, `error` if 1 − score is shown, `out_of` if
            the highest score is not 1, the `test` set if it is not `test`, and the `target`, the worst figure that
            reaches it. None: a step that other rows start from, which is not in the table.
        answers: Which of the answers in metrics.json is the model's.
        baseline: The answer in metrics.json that is made without a model; `None` if there is none.
        ensemble_of: Another row, whose models are scored together instead of a training.
        test_file: What an ensemble is scored on.
        needs: Rows that are run before.
        files: Files of `{data}` that must be there; those with a value are copied to it in `{outputs}`.
        where: Where these files can be had, in English and Portuguese.
        samples: Splits of the recipes' samples of pairs, such as `accents/test`, and the files of `{outputs}` that
            they are written to, for what reads files alone.
        published: Figures of others: `figure`, `by`, a name or one in each language, `source`, a `note`, and
            `figure_of`, the number of our figure that each is compared with, if not 0.
        note: What else must be known, in English and Portuguese.
    """

    name: str
    task: Mapping[str, str]
    command: str
    figures: Sequence[Mapping[str, Any]] = ()
    seeds: Sequence[int] = (42,)
    quick: bool = False
    answers: str = "model"
    baseline: str | None = None
    ensemble_of: str | None = None
    test_file: str | None = None
    needs: Sequence[str] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[Mapping[str, Any]] = ()
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The rows whose models this one starts from, or scores."""
        return [*self.needs, *filter(None, [self.ensemble_of])]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A task, or a time, with which each choice of a grid is tried.

    Attributes:
        name: The first part of the names of its cells.
        label: Its head in the table, in English (`en`) and Portuguese (`pt`).
        command: The recipe with its options, as in `Row`.
        figure: The score, as a figure of `Row`.
        minutes: The time that the steps are chosen for, if columns are times.
        files: Files of `{data}`, as in `Row`.
        where: Where these files can be had, as in `Row`.
        together: How models are scored together: the `options` of `atenta evaluate`, its `test_file` and, if that is
            written from a sample, `samples`, as in `Row`.
    """

    name: str
    label: Mapping[str, str]
    command: str
    figure: Mapping[str, Any]
    minutes: float | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    together: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A choice that is tried on the columns of a grid.

    Attributes:
        name: The second part of the names of its cells.
        label: Its name in the table, in English (`en`) and Portuguese (`pt`).
        steps: The training steps of each model, by the columns on which it is tried.
        options: What is added to a column's command; a mapping from the columns if that differs.
        checkpoints: How many checkpoints are written, at equal distances; the last one at the end.
        members: The seeds of models that are scored together.
    """

    name: str
    label: Mapping[str, str]
    steps: Mapping[str, int]
    options: str | Mapping[str, str] = ""
    checkpoints: int = 1
    members: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The same score for several choices on several tasks.

    Attributes:
        name: The name of its pages and pictures.
        title: Title of the pages, in English (`en`) and Portuguese (`pt`).
        preface: What comes before the table.
        heading: What the lines are, in a word.
        columns: The columns by their names.
        lines: The lines by their names.
        rows: What is run: the cells, `<column>_<line>`, and before each that scores models together, those models.
        compared_with: The line that the picture compares the others with; `None`: it shows figures against minutes.
        cores: The number of cores that a run uses; `None`: all.
    """

    name: str
    title: Mapping[str, str]
    preface: Mapping[str, str]
    heading: Mapping[str, str]
    columns: Mapping[str, Column]
    lines: Mapping[str, Line]
    rows: Mapping[str, Row]
    compared_with: str | None = None
    cores: int | None = None

    def cell(self, column: str, line: str) -> Row | None:
        """Return the row of a cell; `None` if a choice is not tried on a column."""
        return self.rows.get(f"{column}_{line}")

    def models_of(self, row: Row) -> Row:
        """Return the row whose runs trained the models of a cell."""
        return self.rows[row.ensemble_of] if row.ensemble_of else row


def read_rows(path: Path = FOLDER / "rows.yaml") -> dict[str, Row]:
    """Return the rows by their names.

    Raises:
        ValueError: If the file is not a list of rows, a key is unknown or missing, a name occurs twice, or a row names
            one that is not before it.
    """
    rows = _by_name(Row, read_yaml(path), path)
    for place, row in enumerate(rows.values()):
        if missing := set(row.needed) - set(list(rows)[:place]):
            raise ValueError(f"{path}: {row.name!r} needs {', '.join(sorted(missing))}; expected rows before it.")
    return rows


def read_grid(path: Path) -> Grid:
    """Return the grid of a file.

    Raises:
        ValueError: If the file is not a grid, a key is unknown or missing, a name occurs twice, or a line has steps on
            a column that there is not.
    """
    found = read_yaml(path)
    if not isinstance(found, dict):
        raise ValueError(f"{path} has no grid; expected `title`, `columns` and `lines`.")
    columns = _by_name(Column, found.pop("columns", None), path)
    lines = _by_name(Line, found.pop("lines", None), path)
    for line in lines.values():
        if unknown := line.steps.keys() - columns.keys():
            listed = ", ".join(sorted(unknown))
            raise ValueError(f"{path}: {line.name!r} has steps on {listed}; expected some of {', '.join(columns)}.")
    cells = [(column, line) for column in columns.values() for line in lines.values() if column.name in line.steps]
    try:
        rows = {row.name: row for cell in cells for row in _rows_of(*cell)}
        return Grid(name=path.stem, columns=columns, lines=lines, rows=rows, **found)
    except (TypeError, LookupError) as error:
        raise ValueError(f"{path}: {error}; see results/rows.py for what a grid has.") from None


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds; a file that cannot be read is a `ValueError`."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None


def _by_name(kind: type[_Named], entries: Any, path: Path) -> dict[str, _Named]:
    """Return the objects of a list of mappings by their names."""
    try:
        objects = [kind(**entry) for entry in entries]
    except TypeError as error:
        raise ValueError(f"{path}: {error}; see `{kind.__name__}` in results/rows.py for what each has.") from None
    names = [each.name for each in objects]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{path} has {', '.join(twice)} twice; expected one of each name.")
    return dict(zip(names, objects))


def _rows_of(column: Column, line: Line) -> Iterator[Row]:
    """Yield the row of a cell, after that of its models if they are scored together."""
    steps = line.steps[column.name]
    # Scores and weights are those of the last step: what chooses the best of several would be a choice more.
    schedule = (
        f"--max_steps {steps} --eval_strategy steps --eval_steps {steps} --save_strategy steps "
        f"--save_steps {ceil(steps / line.checkpoints)} --load_best_model_at_end false"
    )
    options = line.options if isinstance(line.options, str) else line.options[column.name]
    name = f"{column.name}_{line.name}"
    task = {each: f"{column.label[each]}: {line.label[each]}" for each in _LANGUAGES}
    trained = {
        "command": " ".join(filter(None, [column.command, schedule, options])),
        "files": column.files,
        "where": column.where,
    }
    if not line.members:
        yield Row(name=name, task=task, figures=[column.figure], **trained)
        return
    yield Row(name=f"{name}_models", task=task, seeds=line.members, **trained)
    yield Row(
        name=name,
        task=task,
        figures=[column.figure],
        ensemble_of=f"{name}_models",
        command=column.together["options"],
        test_file=column.together["test_file"],
        samples=column.together.get("samples", {}),
    )
