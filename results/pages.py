"""The pages of results in both languages: the table of README.md, and those of grids, with how each was made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from atenta.hub.card_words import markdown_table
from results.charts import Curve, Measured, Panel, draw_curves, draw_differences, draw_errors
from results.figures import (
    ENDINGS,
    describe_data,
    describe_runs,
    describe_spread,
    figures_of,
    is_error,
    minutes_of,
    number_text,
    read_runs,
    say,
    who,
    write_parts,
)
from results.rows import Grid, Row

_OTHER = {"en": ("pt", "Em português"), "pt": ("en", "In English")}
_COLUMNS = "task | measure | model | without a model | published | weights | minutes of a run | target"
_TOLERANCE = 1e-9  # of targets: a mean of decimal fractions is not exact
_FEWEST_DRAWN = 2  # a picture of one task shows nothing that the table does not
_DIGITS = 3  # of the figures: those that look equal are equally good


def write_tables(rows: Sequence[Row], runs: Path, folder: Path) -> None:
    """Write README.md and README.pt.md into a folder: its preface, the table, what was tried, and each row's commands.

    A picture of the errors is written beside each, once two rows have been run.

    Raises:
        ValueError: If the file of a run is damaged, or lacks what the table shows.
    """
    for language, ending in ENDINGS.items():
        before, after = (_read_text(folder / f"{name}{ending}.md") for name in ("preface", "tried"))
        measured = list(_errors(rows, runs, language))
        picture = folder / f"errors{ending}.svg"
        picture.unlink(missing_ok=True)
        shown = ""
        if len(measured) >= _FEWEST_DRAWN:
            draw_errors(picture, measured, language)
            shown = f"![{say('Errors of the models, without a model, and published', language)}]({picture.name})"
        table, how = _table(rows, runs, language), "\n".join(_how(rows, runs, language))
        write_parts(folder / f"README{ending}.md", [before, table, shown, after, how])


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8").rstrip() if path.is_file() else ""


def _table(rows: Sequence[Row], folder: Path, language: str) -> str:
    lines = [say(_COLUMNS, language).split(" | ")]
    all_runs = []
    for row in rows:
        runs = read_runs(row, folder)
        all_runs += runs
        minutes = minutes_of(runs)
        weights = runs[0].get("weights") if runs else None
        for index, figure in enumerate(row.figures):
            values, baseline = (figures_of(runs, row, figure, answers) for answers in (row.answers, row.baseline))
            why_not = say("not run: needs data that are not shipped" if row.files else "not run", language)
            published = [each for each in row.published if each.get("figure_of", 0) == index]
            label, most = figure["label"][language], figure.get("out_of")
            cells = [
                row.task[language],
                say("{label}, 0 to {most}", language, label=label, most=most) if most else label,
                describe_spread(values, len(row.seeds), language) if values else why_not,
                number_text(mean(baseline), language) if baseline else "",
                "; ".join(_describe_published(each, language) for each in published),
                number_text(weights, language, 0) if weights else "",
                number_text(mean(minutes), language, 1) if any(minutes) else "",
                _describe_target(figure, values, language),
            ]
            if index:  # what is the same for all figures of a row is in its first line
                cells[0] = cells[5] = cells[6] = ""
            lines.append(cells)
    return f"{markdown_table(lines, 'llrrrrrl')}\n\n{_describe_total(all_runs, language)}"


def _describe_total(runs: Iterable[Mapping[str, Any]], language: str) -> str:
    minutes = number_text(sum(minutes_of(runs)), language, 0)
    return say("All runs together: {minutes} minutes.", language, minutes=minutes)


def _describe_target(figure: Mapping[str, Any], values: Sequence[float], language: str) -> str:
    target = figure.get("target")
    if target is None:
        return ""
    bound = f"{'≤' if is_error(figure) else '≥'} {number_text(target, language)}"
    if not values:
        return bound
    beyond = mean(values) - target if is_error(figure) else target - mean(values)
    return f"{bound}: {say('reached' if beyond <= _TOLERANCE else 'missed', language)}"


def _describe_published(published: Mapping[str, Any], language: str) -> str:
    """Return a figure of others, linked to where it is published, with the size of their model if it is known."""
    by, figure = who(published, language), number_text(published["figure"], language)
    linked = f"{figure} ([{by}]({published['source']}))"
    weights = published.get("weights")
    return f"{linked}, {number_text(weights, language, 0)} {say('weights', language)}" if weights else linked


def _errors(rows: Sequence[Row], folder: Path, language: str) -> Iterator[Measured]:
    """Yield the errors of each row that was run, by its first figure; of a share of right answers, the rest to 1."""
    for row in rows:
        runs = read_runs(row, folder)
        if not runs or not row.figures:
            continue
        figure = row.figures[0]
        label = figure["label"][language]
        own, others = (figures_of(runs, row, figure, answers) for answers in (row.answers, row.baseline))
        published = [each["figure"] for each in row.published if each.get("figure_of", 0) == 0]
        if not is_error(figure):
            most = figure.get("out_of", 1)
            own, others, published = ([1 - value / most for value in values] for values in (own, others, published))
            label = f"1 − {label}" if most == 1 else f"1 − {label} / {most}"
        yield Measured(f"{row.task[language]}\n{label}", own, others, published, figure["score"].startswith("bits"))


def _how(rows: Sequence[Row], folder: Path, language: str) -> Iterator[str]:
    yield f"## {say('How each was made', language)}"
    for row in rows:
        yield f"\n### {row.task[language]}"
        lines = [*describe_data(row, language), *describe_runs(read_runs(row, folder))]
        yield from (f"\n{part}" for part in (row.note.get(language), "\n".join(lines)) if part)


class Cell(NamedTuple):
    """The figure that a cell of a grid reached, the minutes of all its models (0: unknown), and all their weights."""

    figure: float
    minutes: float
    weights: int | None


Cells = Mapping[tuple[str, str], Cell]  # by column and line


def write_pages(grid: Grid, runs: Path, folder: Path) -> None:
    """Write the pages of a grid, `<name>.md` and `<name>.pt.md`, and the pictures beside them once there are figures.

    Raises:
        ValueError: If the file of a run is damaged, or lacks what the table shows.
    """
    cells = dict(_read_cells(grid, runs))
    for language, ending in ENDINGS.items():
        other, link = _OTHER[language]
        picture = folder / f"{grid.name}{ending}.svg"
        picture.unlink(missing_ok=True)
        description = (_draw_differences if grid.compared_with else _draw_curves)(picture, grid, cells, language)
        parts = [
            f"# {grid.title[language]}",
            grid.preface[language].rstrip(),
            f"[{link}]({grid.name}{ENDINGS[other]}.md)",
            _grid_table(grid, cells, runs, language),
            f"![{description}]({picture.name})" if description else "",
            *_grid_commands(grid, cells, runs, language),
        ]
        write_parts(folder / f"{grid.name}{ending}.md", parts)


def _read_cells(grid: Grid, folder: Path) -> Iterator[tuple[tuple[str, str], Cell]]:
    for column in grid.columns:
        for line in grid.lines:
            row = grid.cell(column, line)
            if row and (runs := read_runs(row, folder)):
                (figure,) = figures_of(runs, row, row.figures[0], row.answers)
                minutes = sum(minutes_of(read_runs(grid.models_of(row), folder)))
                yield (column, line), Cell(figure, minutes, runs[0].get("weights"))


def _best(grid: Grid, cells: Cells, column: str) -> set[str]:
    """Return the lines with the best figure of a column: none if there is nothing to compare."""
    figures = {line: round(cells[column, line].figure, _DIGITS) for line in grid.lines if (column, line) in cells}
    if len(figures) <= 1:
        return set()
    best = min(figures.values()) if is_error(grid.columns[column].figure) else max(figures.values())
    return {line for line, value in figures.items() if value == best}


def _grid_table(grid: Grid, cells: Cells, folder: Path, language: str) -> str:
    heads = [grid.heading[language], *([] if grid.compared_with else [say("weights", language)])]
    for column in grid.columns.values():
        heads += [f"{column.label[language]}: {column.figure['label'][language]}", say("minutes", language)]
    lines = [heads]
    best = {column: _best(grid, cells, column) for column in grid.columns}
    for name, line in grid.lines.items():
        shown = [line.label[language]]
        if not grid.compared_with:
            weights = _weights(grid, cells, name)
            shown.append(number_text(weights, language, 0) if weights else "")
        for column in grid.columns:
            if cell := cells.get((column, name)):
                figure = number_text(cell.figure, language)
                shown.append(f"**{figure}**" if name in best[column] else figure)
                shown.append(number_text(cell.minutes, language, 1) if cell.minutes else "")
            else:
                shown += [say("not run", language) if grid.cell(column, name) else "—", ""]
        lines.append(shown)
    all_runs = [run for row in grid.rows.values() for run in read_runs(row, folder)]
    return f"{markdown_table(lines, 'l' + 'r' * (len(heads) - 1))}\n\n{_describe_total(all_runs, language)}"


def _weights(grid: Grid, cells: Cells, line: str) -> int | None:
    return next((cells[column, line].weights for column in grid.columns if (column, line) in cells), None)


def _draw_differences(path: Path, grid: Grid, cells: Cells, language: str) -> str:
    """Draw how much better than one line the others are, in percentage points, and return what the picture shows."""
    lines = list(grid.lines)
    zero_line = grid.lines[grid.compared_with]
    panels = []
    for name, column in grid.columns.items():
        figures = {lines.index(line): cells[name, line].figure for line in lines if (name, line) in cells}
        place = lines.index(zero_line.name)
        if place not in figures or len(figures) == 1:
            continue
        sign, zero = -1 if is_error(column.figure) else 1, figures[place]
        differences = {line: sign * 100 * (figure - zero) for line, figure in figures.items()}
        title = [column.label[language], column.figure["label"][language]]
        title.append(f"{zero_line.label[language]}: {number_text(zero, language)}")
        panels.append(Panel("\n".join(title), differences, place))
    if not panels:
        return ""
    draw_differences(path, panels, [line.label[language] for line in grid.lines.values()], language)
    return say("Differences from the line “{line}”, for each column", language, line=zero_line.label[language])


def _draw_curves(path: Path, grid: Grid, cells: Cells, language: str) -> str:
    """Draw figures against minutes, if there is something to compare, and return what the picture shows."""
    best = {column: _best(grid, cells, column) for column in grid.columns}
    if not any(best.values()):
        return ""
    curves = []
    for name, line in grid.lines.items():
        points = [
            (cell.minutes or column.minutes or 0.0, cell.figure, name in best[column.name])
            for column in grid.columns.values()
            if (cell := cells.get((column.name, name)))
        ]
        if points:
            weights = _weights(grid, cells, name)
            size = f": {number_text(weights, language, 0)} {say('weights', language)}" if weights else ""
            curves.append(Curve(f"{line.label[language]}{size}", points))
    figure = next(iter(grid.columns.values())).figure
    label = figure["label"][language]
    direction = say("less is better" if is_error(figure) else "more is better", language)
    draw_curves(path, curves, f"{label} ({direction})", language)
    return say("{figure} against minutes, for each line", language, figure=label[0].upper() + label[1:])


def _grid_commands(grid: Grid, cells: Cells, folder: Path, language: str) -> Iterator[str]:
    """Yield the commands of each cell that was run, under the name of its column."""
    if cells:
        yield f"## {say('How each was made', language)}"
    for column in grid.columns.values():
        data: list[str] = []
        commands = []
        for line in grid.lines.values():
            if (column.name, line.name) not in cells:
                continue
            row = grid.cell(column.name, line.name)
            rows = [grid.models_of(row), row] if row.ensemble_of else [row]
            data += [each for one in rows for each in describe_data(one, language)]
            lines = describe_runs(run for one in rows for run in read_runs(one, folder))
            commands.append("\n".join([f"#### {line.label[language]}\n", *lines]))
        if commands:
            yield f"### {column.label[language]}"
            yield "\n".join(dict.fromkeys(data))
            yield from commands
