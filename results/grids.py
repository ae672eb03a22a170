"""Grids: the same score for several choices on several tasks, from files such as choices.yaml; a cell is a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from pathlib import Path
from typing import Any

from results.rows import Row, expect_keys, read_named, read_yaml

_LANGUAGES = ("en", "pt")
_FIGURE = {"score", "label"}  # what a figure needs
_TOGETHER = {"options", "test_file"}  # and models that are scored together


@dataclass(frozen=True, kw_only=True)
class Column:
    """A task, or a time, with which each choice is tried.

    Attributes:
        name: the first part of the names of its cells.
        label: its head in the table, in English (`en`) and Portuguese (`pt`).
        command: the recipe with its options, as in `Row`.
        figure: the score, as a figure of `Row`.
        steps: the steps of a line whose speed is 1; `None` if the lines say their own.
        seeds: the seeds that each cell is run with.
        minutes: the time that the steps are chosen for, if columns are times.
        files: files of `{data}`, as in `Row`.
        where: where these files can be had, as in `Row`.
        together: how models are scored together: the `options` of `atenta evaluate`, its `test_file` and, if that is
            written from a sample, `samples`, as in `Row`.
    """

    name: str
    label: Mapping[str, str]
    command: str
    figure: Mapping[str, Any]
    steps: int | None = None
    seeds: Sequence[int] = (42,)
    minutes: float | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    together: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: If one is not as expected.
        """
        _expect_texts(self.label, "label")
        if not isinstance(self.command, str) or not self.command.strip():
            raise ValueError(f"command is {self.command!r}; expected a recipe with its options.")
        if not isinstance(self.figure, Mapping) or not self.figure.keys() >= _FIGURE:
            raise ValueError(f"figure is {self.figure!r}; expected `score` and `label`.")
        _expect_texts(self.figure["label"], "label of figure")
        if self.steps is not None:
            _expect_positive(self.steps, "steps", whole=True)
        if self.minutes is not None:
            _expect_positive(self.minutes, "minutes")
        _expect_seeds(self.seeds, "seeds", fewest=1)
        if self.together and not (
            isinstance(self.together, Mapping) and _TOGETHER <= self.together.keys() <= {*_TOGETHER, "samples"}
        ):
            raise ValueError(f"together is {self.together!r}; expected `options`, `test_file` and maybe `samples`.")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A choice that is tried on the columns.

    What is the same on all columns can be given as one value, else as a mapping from the names of columns. Options and
    steps that are such a mapping leave out the columns that they do not name: there the choice has no cell.

    Attributes:
        name: the second part of the names of its cells.
        label: its name in the table, in English (`en`) and Portuguese (`pt`).
        options: what is added to a column's command.
        speed: its steps in a second, compared with those of the line that a column's steps are for.
        steps: the steps of each column, instead of the product of a column's steps and the speed.
        checkpoints: how many checkpoints are written, at equal distances; the last one at the end.
        members: the seeds of models that are scored together. Each has an equal part of the steps.
    """

    name: str
    label: Mapping[str, str]
    options: str | Mapping[str, str] = ""
    speed: float | Mapping[str, float] = 1.0
    steps: Mapping[str, int] = field(default_factory=dict)
    checkpoints: int = 1
    members: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: If one is not as expected.
        """
        _expect_texts(self.label, "label")
        for options in self.options.values() if isinstance(self.options, Mapping) else [self.options]:
            if not isinstance(options, str):
                raise ValueError(f"options are {options!r}; expected text.")
        for speed in self.speed.values() if isinstance(self.speed, Mapping) else [self.speed]:
            _expect_positive(speed, "speed")
        if not isinstance(self.steps, Mapping):
            raise ValueError(f"steps are {self.steps!r}; expected `column: number` for each column that has a cell.")
        for steps in self.steps.values():
            _expect_positive(steps, "steps", whole=True)
        _expect_positive(self.checkpoints, "checkpoints", whole=True)
        _expect_seeds(self.members, "members", fewest=0)

    def named_columns(self) -> set[str]:
        """Return the columns that are named anywhere."""
        return {
            name for given in (self.options, self.speed, self.steps) if isinstance(given, Mapping) for name in given
        }

    def has_cell(self, column: str) -> bool:
        """Return whether it is tried on a column."""
        return all(column in given for given in (self.options, self.steps or None) if isinstance(given, Mapping))

    def options_of(self, column: str) -> str:
        """Return what is added to the command of a column that it is tried on."""
        return self.options if isinstance(self.options, str) else self.options[column]

    def steps_of(self, column: Column) -> int:
        """Return the steps of each of its models on a column.

        Raises:
            ValueError: If neither it nor the column says how many.
        """
        speed = self.speed.get(column.name, 1.0) if isinstance(self.speed, Mapping) else self.speed
        steps = self.steps.get(column.name) or (column.steps and column.steps * speed)
        if not steps:
            raise ValueError(f"no steps on {column.name!r}; expected some of the line or of the column.")
        return max(1, round(steps / max(1, len(self.members))))


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Columns and lines, and the row of each cell.

    Attributes:
        name: the name of its pages and pictures.
        title: of the pages, in English (`en`) and Portuguese (`pt`).
        preface: what comes before the table.
        heading: what the lines are, in a word.
        columns: by their names.
        lines: by their names.
        rows: what is run: the cells, `<column>_<line>`, and before each that scores models together, those models.
        compared_with: the line that the picture compares the others with; `None`: it shows figures against minutes.
        cores: the number of cores that a run uses; `None`: all.
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

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: If one is not as expected.
        """
        for name in ("title", "preface", "heading"):
            _expect_texts(getattr(self, name), name)
        if self.cores is not None:
            _expect_positive(self.cores, "cores", whole=True)
        if self.compared_with is None:
            if without := [column.name for column in self.columns.values() if column.minutes is None]:
                raise ValueError(
                    f"no minutes of {', '.join(without)}; expected those of each column, or `compared_with`, a line."
                )
        elif self.compared_with not in self.lines:
            raise ValueError(f"compared_with is {self.compared_with!r}; expected one of {', '.join(self.lines)}.")

    def cell(self, column: str, line: str) -> Row | None:
        """Return the row of a cell; `None` if a choice is not tried on a column."""
        return self.rows[_cell_name(column, line)] if self.lines[line].has_cell(column) else None

    def models_of(self, row: Row) -> Row:
        """Return the row whose runs trained the models of a cell."""
        return self.rows[row.ensemble_of] if row.ensemble_of else row


def read_grid(path: Path) -> Grid:
    """Return the grid of a file.

    Raises:
        ValueError: If the file is no grid, a key is unknown or missing, a value is not as expected, or a cell cannot
            be made. The message names it.
    """
    found = read_yaml(path)
    if not isinstance(found, dict):
        raise ValueError(f"{path} has no grid; expected `title`, `columns` and `lines`.")
    # The name and the rows are made here.
    expect_keys({"name": path.stem, "rows": {}, **found}, Grid, str(path))
    if written := {"name", "rows"} & found.keys():
        raise ValueError(f"{path} has {', '.join(sorted(written))}, which are made from its columns and lines.")
    columns = read_named(found["columns"], Column, "column", path)
    lines = read_named(found["lines"], Line, "line", path)
    rows: dict[str, Row] = {}
    for line in lines.values():
        if unknown := line.named_columns() - columns.keys():
            listed = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"{path}: {line.name!r} names {listed}; expected some of {', '.join(columns)}.")
    for column in columns.values():
        for line in (line for line in lines.values() if line.has_cell(column.name)):
            try:
                made = _rows_of(column, line)
            except ValueError as error:
                raise ValueError(f"{path}: {line.name!r}: {error}") from None
            for row in made:
                if row.name in rows:
                    raise ValueError(f"{path} has two cells {row.name!r}; expected other names of columns or lines.")
                rows[row.name] = row
    try:
        return Grid(**{**found, "name": path.stem, "columns": columns, "lines": lines, "rows": rows})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _rows_of(column: Column, line: Line) -> list[Row]:
    """Return the row of a cell, after that of its models if they are scored together."""
    steps = line.steps_of(column)
    # Scores and weights are those of the last step: what chooses the best of several would be a choice more.
    schedule = (
        f"--max_steps {steps} --eval_strategy steps --eval_steps {steps} --save_strategy steps "
        f"--save_steps {ceil(steps / line.checkpoints)} --load_best_model_at_end false"
    )
    name, task = (
        _cell_name(column.name, line.name),
        {each: f"{column.label[each]}: {line.label[each]}" for each in _LANGUAGES},
    )
    cell: dict[str, Any] = {"name": name, "task": task, "figures": [column.figure]}
    trained = {
        "command": " ".join(filter(None, [column.command.strip(), schedule, line.options_of(column.name)])),
        "files": column.files,
        "where": column.where,
    }
    if not line.members:
        return [Row(**cell, **trained, seeds=column.seeds)]
    if not column.together:
        raise ValueError(f"{column.name!r} has no `together`, which says how its models are scored together.")
    models = Row(name=f"{name}_models", task=task, **trained, seeds=line.members)
    scored = {"command": column.together["options"], "test_file": column.together["test_file"]}
    return [models, Row(**cell, **scored, ensemble_of=models.name, samples=column.together.get("samples", {}))]


def _cell_name(column: str, line: str) -> str:
    return f"{column}_{line}"


def _expect_texts(given: Any, name: str) -> None:
    if (
        not isinstance(given, Mapping)
        or given.keys() != set(_LANGUAGES)
        or not all(isinstance(each, str) for each in given.values())
    ):
        raise ValueError(f"{name} is {given!r}; expected a text for `en` and one for `pt`.")


def _expect_positive(given: Any, name: str, *, whole: bool = False) -> None:
    if isinstance(given, bool) or not isinstance(given, int if whole else int | float) or not 0 < given < inf:
        raise ValueError(f"{name}: {given!r}; expected a {'whole ' if whole else ''}number above 0.")


def _expect_seeds(given: Any, name: str, *, fewest: int) -> None:
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    are_seeds = is_list and all(type(each) is int and each >= 0 for each in given) and len(set(given)) == len(given)
    if not are_seeds or len(given) < fewest:
        raise ValueError(f"{name}: {given!r}; expected a list of different whole numbers.")
