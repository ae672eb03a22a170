"""The pages of a grid, in English and Portuguese: its table, its picture, and how each cell was made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from results.grid_chart import Curve, Panel, Point, draw_curves, draw_differences
from results.grids import Grid
from results.result_table import (
    count_text,
    describe_data,
    describe_runs,
    describe_spread,
    figures_of,
    is_error,
    minutes_of,
    number_text,
    read_runs,
    say,
)

_ENDINGS = {"en": "", "pt": ".pt"}
_OTHER = {"en": ("pt", "Em português"), "pt": ("en", "In English")}
_DIGITS = 3  # of the figures: those that look equal are equally good
_WORDS: dict[str, dict[str, str]] = {
    "minutes": {"en": "minutes", "pt": "minutos"},
    "less": {"en": "less is better", "pt": "menos é melhor"},
    "more": {"en": "more is better", "pt": "mais é melhor"},
    "differences": {
        "en": "Differences from the line “{line}”, for each column",
        "pt": "Diferenças em relação à linha “{line}”, em cada coluna",
    },
    "curves": {"en": "{figure} against minutes, for each line", "pt": "{figure} por minutos, em cada linha"},
}


@dataclass(frozen=True)
class Cell:
    """The figures of the runs of a cell.

    Attributes:
        values: the figure with each seed.
        minutes: the mean of a run or, of models that are scored together, their sum; 0 if it is not known.
        weights: how many the model has, or all models that are scored together.
    """

    values: list[float]
    minutes: float
    weights: int | None


def write_pages(grid: Grid, runs: Path, folder: Path) -> None:
    """Write the pages of a grid, `<name>.md` and `<name>.pt.md`, and the pictures beside them once there are figures.

    Args:
        grid: the grid.
        runs: folder of the figures, `<cell>-<seed>.json`.
        folder: where the pages are written.

    Raises:
        ValueError: If the file of a run is damaged, or lacks what the table shows.
    """
    cells = _read_cells(grid, runs)
    for language, ending in _ENDINGS.items():
        other, link = _OTHER[language]
        parts = [
            f"# {grid.title[language]}",
            grid.preface[language].rstrip(),
            f"[{link}]({grid.name}{_ENDINGS[other]}.md)",
            "\n".join(_table(grid, cells, runs, language)),
        ]
        picture = folder / f"{grid.name}{ending}.svg"
        picture.unlink(missing_ok=True)
        if described := _draw(picture, grid, cells, language):
            parts.append(f"![{described}]({picture.name})")
        parts.extend(_how(grid, runs, language))
        (folder / f"{grid.name}{ending}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _read_cells(grid: Grid, runs: Path) -> dict[tuple[str, str], Cell]:
    """Return the cells that were run, by column and line."""
    cells = {}
    for column in grid.columns:
        for line in grid.lines:
            row = grid.cell(column, line)
            found = read_runs(row, runs) if row else []
            if row and found:
                minutes = minutes_of(read_runs(grid.models_of(row), runs))
                spent = sum(minutes) if row.ensemble_of else mean(minutes)
                values = figures_of(found, row, row.figures[0], row.answers)
                cells[column, line] = Cell(values, spent, found[0].get("weights"))
    return cells


def _best(grid: Grid, cells: Mapping[tuple[str, str], Cell], column: str) -> set[str]:
    """Return the lines with the best figure of a column: none if there is nothing to compare."""
    means = {line: round(mean(cells[column, line].values), _DIGITS) for line in grid.lines if (column, line) in cells}
    if len(means) <= 1:
        return set()
    best = min(means.values()) if is_error(grid.columns[column].figure) else max(means.values())
    return {line for line, value in means.items() if value == best}


def _table(grid: Grid, cells: Mapping[tuple[str, str], Cell], runs: Path, language: str) -> Iterable[str]:
    with_weights = grid.compared_with is None
    heads = [grid.heading[language], *([say("weights", language)] if with_weights else [])]
    for column in grid.columns.values():
        heads += [f"{column.label[language]}: {column.figure['label'][language]}", _WORDS["minutes"][language]]
    yield f"| {' | '.join(heads)} |"
    yield f"| --- {'| ---: ' * (len(heads) - 1)}|"
    best = {column: _best(grid, cells, column) for column in grid.columns}
    for line in grid.lines.values():
        shown = [line.label[language]]
        if with_weights:
            weights = _weights(grid, cells, line.name)
            shown.append(count_text(weights, language) if weights else "")
        for column in grid.columns:
            row, cell = grid.cell(column, line.name), cells.get((column, line.name))
            if row is None or cell is None:
                shown += ["—" if row is None else say("not run", language), ""]
                continue
            figure = describe_spread(cell.values, len(row.seeds), language)
            shown.append(f"**{figure}**" if line.name in best[column] else figure)
            shown.append(number_text(cell.minutes, language, 1) if cell.minutes else "")
        yield f"| {' | '.join(shown)} |"
    total = sum(sum(minutes_of(read_runs(row, runs))) for row in grid.rows.values())
    yield ""
    yield say("together", language, minutes=number_text(total, language, 0))


def _weights(grid: Grid, cells: Mapping[tuple[str, str], Cell], line: str) -> int | None:
    of_line = (cells[column, line].weights for column in grid.columns if (column, line) in cells)
    return next(of_line, None)


def _draw(path: Path, grid: Grid, cells: Mapping[tuple[str, str], Cell], language: str) -> str:
    """Draw the picture, if there is something to compare, and return what it shows."""
    if grid.compared_with is None:
        return _draw_times(path, grid, cells, language)
    panels = [
        _panel(grid, cells, column, grid.compared_with, language)
        for column in grid.columns
        if (column, grid.compared_with) in cells
        and any((column, line) in cells for line in grid.lines if line != grid.compared_with)
    ]
    if not panels:
        return ""
    draw_differences(path, panels, [line.label[language] for line in grid.lines.values()], language)
    return _WORDS["differences"][language].format(line=grid.lines[grid.compared_with].label[language])


def _panel(grid: Grid, cells: Mapping[tuple[str, str], Cell], column: str, reference: str, language: str) -> Panel:
    """Return how much better than the reference each line is on a column, in percentage points."""
    figure = grid.columns[column].figure
    label, sign = figure["label"][language], -1 if is_error(figure) else 1
    zero = mean(cells[column, reference].values)
    differences = {
        place: [sign * 100 * (value - zero) for value in cells[column, line].values]
        for place, line in enumerate(grid.lines)
        if (column, line) in cells
    }
    name = grid.lines[reference].label[language]
    title = f"{grid.columns[column].label[language]}\n{label}\n{name}: {number_text(zero, language)}"
    return Panel(title, differences, list(grid.lines).index(reference))


def _draw_times(path: Path, grid: Grid, cells: Mapping[tuple[str, str], Cell], language: str) -> str:
    best = {column: _best(grid, cells, column) for column in grid.columns}
    columns = list(grid.columns.values())
    curves = []
    for line in grid.lines.values():
        points = [
            Point(cell.minutes or column.minutes or 0.0, mean(cell.values), line.name in best[column.name])
            for column in columns
            if (cell := cells.get((column.name, line.name)))
        ]
        if points:
            weights = _weights(grid, cells, line.name)
            of_line = f": {count_text(weights, language)} {say('weights', language)}" if weights else ""
            curves.append(Curve(f"{line.label[language]}{of_line}", points))
    if not any(best.values()):
        return ""
    figure = columns[0].figure
    label = figure["label"][language]
    direction = _WORDS["less" if is_error(figure) else "more"][language]
    draw_curves(path, curves, f"{label} ({direction})", language)
    return _WORDS["curves"][language].format(figure=label[0].upper() + label[1:])


def _how(grid: Grid, runs: Path, language: str) -> Iterable[str]:
    """Yield the commands of each cell that was run, under the name of its column."""
    parts = []
    for column in grid.columns.values():
        data, made = [], []
        for line in grid.lines.values():
            row = grid.cell(column.name, line.name)
            found = read_runs(row, runs) if row else []
            if row and found:
                models = read_runs(grid.models_of(row), runs) if row.ensemble_of else []
                data += [*describe_data(grid.models_of(row), language), *describe_data(row, language)]
                made.append(f"#### {line.label[language]}\n\n" + "\n".join(describe_runs([*models, *found])))
        if made:
            parts += [f"### {column.label[language]}", *filter(None, ["\n".join(dict.fromkeys(data))]), *made]
    return [f"## {say('how', language)}", *parts] if parts else []
