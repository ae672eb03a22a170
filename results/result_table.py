"""The table of the figures of runs, in English and Portuguese, with how each was made."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from results.result_chart import Measured, draw_errors

_LANGUAGES = {"en": "README.md", "pt": "README.pt.md"}
_PICTURES = {"en": "errors.svg", "pt": "errors.pt.svg"}
_LOWER_IS_BETTER = ("error_rate", "per_character", "per_masked_character", "perplexity", "loss")
_TOLERANCE = 1e-9  # of targets: a mean of decimal fractions is not exact
_FEWEST_DRAWN = 2  # a picture of one task shows nothing that the table does not
_WORDS: dict[str, dict[str, str]] = {
    "columns": {
        "en": "task | measure | model | without a model | published | weights | minutes of a run | target",
        "pt": "tarefa | medida | modelo | sem modelo | publicado | pesos | minutos de uma execução | meta",
    },
    "not run": {"en": "not run", "pt": "não executada"},
    "no data": {"en": "not run: needs data that are not shipped", "pt": "não executada: precisa de dados à parte"},
    "files": {"en": "Data that are not shipped", "pt": "Dados à parte"},
    "reached": {"en": "reached", "pt": "atingida"},
    "missed": {"en": "missed", "pt": "não atingida"},
    "spread": {"en": "mean of {count} seeds, {low} to {high}", "pt": "média de {count} sementes, {low} a {high}"},
    "partly": {"en": "{count} of {all} seeds", "pt": "{count} de {all} sementes"},
    "weights": {"en": "weights", "pt": "pesos"},
    "picture": {
        "en": "Errors of the models, without a model, and published",
        "pt": "Erros dos modelos, sem modelo, e publicados",
    },
    "how": {"en": "How each was made", "pt": "Como cada um foi feito"},
    "source": {"en": "Published", "pt": "Publicado"},
    "sample": {"en": "{file}: the pairs of {sample}, a sample", "pt": "{file}: os pares de {sample}, uma amostra"},
    "together": {
        "en": "All runs together: {minutes} minutes.",
        "pt": "Todas as execuções juntas: {minutes} minutos.",
    },
}


def write_tables(rows: Iterable[Any], runs: Path, folder: Path) -> None:
    """Write README.md and README.pt.md: the preface, the table, what was tried and each row's commands.

    The preface and what was tried are what preface.md, preface.pt.md, tried.md and tried.pt.md have. A picture of the
    errors is written beside each, once two rows have been run.

    Args:
        rows: rows of rows.yaml.
        runs: folder of the figures, `<row>-<seed>.json`.
        folder: where the tables are written, and the texts around them are, if there are any.

    Raises:
        ValueError: If the file of a run is damaged, or lacks what the table shows.
    """
    rows = list(rows)
    for language, name in _LANGUAGES.items():
        before, after = (folder / name.replace("README", part) for part in ("preface", "tried"))
        parts = [before.read_text(encoding="utf-8").rstrip()] if before.is_file() else []
        parts.append("\n".join(_table(rows, runs, language)))
        measured = list(_errors(rows, runs, language))
        picture = folder / _PICTURES[language]
        picture.unlink(missing_ok=True)
        if len(measured) >= _FEWEST_DRAWN:
            draw_errors(picture, measured, language)
            parts.append(f"![{say('picture', language)}]({picture.name})")
        parts += [after.read_text(encoding="utf-8").rstrip()] if after.is_file() else []
        parts.append("\n".join(_how(rows, runs, language)))
        (folder / name).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def say(name: str, language: str, **values: Any) -> str:
    """Return words of the tables, with values in their places."""
    return _WORDS[name][language].format(**values)


def read_run(path: Path) -> dict[str, Any]:
    """Return the metrics of a run.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        told = isinstance(found["test"], dict) and isinstance(found["run"]["command"], str)
    except (ValueError, KeyError, TypeError):
        told = False
    if not told:
        raise ValueError(f"{path} is damaged; expected the metrics of a run: remove it and run the row again.")
    return found


def read_runs(row: Any, runs: Path) -> list[dict[str, Any]]:
    """Return the metrics of the runs of a row that are there, in the order of its seeds.

    Raises:
        ValueError: If a file is damaged.
    """
    paths = (runs / f"{row.name}-{seed}.json" for seed in row.seeds)
    return [read_run(path) for path in paths if path.is_file()]


def figures_of(found: Sequence[Mapping[str, Any]], row: Any, figure: Mapping[str, Any], answers: str) -> list[float]:
    """Return a figure of each run: a score, or what it lacks to 1 if the figure is an error.

    Raises:
        ValueError: If a run has no such answers or no such score. The message lists those that it has.
    """
    test, score, values = figure.get("test", "test"), figure["score"], []
    for each in found:
        of_test = each.get(test, {})
        if score not in of_test.get(answers, {}):
            there = "; ".join(f"{name}: {', '.join(scores)}" for name, scores in of_test.items()) or "nothing"
            raise ValueError(f"{row.name}: no {score} of {answers!r} in {test!r} of a run; there is {there}.")
        values.append(1 - of_test[answers][score] if figure.get("error") else of_test[answers][score])
    return values


def minutes_of(found: Iterable[Mapping[str, Any]]) -> list[float]:
    """Return the minutes of each run; 0 if it has none, as the scoring of an ensemble."""
    return [each.get("card", {}).get("cost", {}).get("minutes") or 0.0 for each in found]


def is_error(figure: Mapping[str, Any]) -> bool:
    """Return whether less of a figure is better."""
    return bool(figure.get("error")) or figure["score"].endswith(_LOWER_IS_BETTER)


def _table(rows: Sequence[Any], runs: Path, language: str) -> Iterable[str]:
    columns = say("columns", language).split(" | ")
    yield f"| {' | '.join(columns)} |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    total = 0.0
    for row in rows:
        found = read_runs(row, runs)
        of_row = minutes_of(found)
        total += sum(of_row)
        for index, figure in enumerate(row.figures):
            values = figures_of(found, row, figure, row.answers)
            baseline = figures_of(found, row, figure, row.baseline) if row.baseline else []
            published = [each for each in row.published if each.get("figure_of", 0) == index]
            weights = found[0].get("weights") if found and index == 0 else None
            cells = [
                row.task[language] if index == 0 else "",
                figure["label"][language],
                describe_spread(values, len(row.seeds), language) if values else _why_not(row, language),
                number_text(mean(baseline), language) if baseline else "",
                "; ".join(_describe_published(each, language) for each in published),
                count_text(weights, language) if weights else "",
                number_text(mean(of_row), language, 1) if any(of_row) and index == 0 else "",
                _target(figure, values, language),
            ]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield say("together", language, minutes=number_text(total, language, 0))


def _why_not(row: Any, language: str) -> str:
    return say("no data" if row.files else "not run", language)


def _target(figure: Mapping[str, Any], values: Sequence[float], language: str) -> str:
    target = figure.get("target")
    if target is None:
        return ""
    said = f"{'≤' if is_error(figure) else '≥'} {number_text(target, language)}"
    if not values:
        return said
    beyond = mean(values) - target if is_error(figure) else target - mean(values)
    return f"{said}: {say('reached' if beyond <= _TOLERANCE else 'missed', language)}"


def _describe_published(published: Mapping[str, Any], language: str) -> str:
    """Return a figure of others, linked to where it is published, with the size of their model if it is known."""
    said = f"{number_text(published['figure'], language)} ([{published['by']}]({published['source']}))"
    weights = published.get("weights")
    return f"{said}, {count_text(weights, language)} {say('weights', language)}" if weights else said


def _errors(rows: Sequence[Any], runs: Path, language: str) -> Iterable[Measured]:
    """Yield the errors of each row that was run, by its first figure; of a share of right answers, the rest to 1."""
    for row in rows:
        found = read_runs(row, runs)
        if not found or not row.figures:
            continue
        figure = row.figures[0]
        own = figures_of(found, row, figure, row.answers)
        others = figures_of(found, row, figure, row.baseline) if row.baseline else []
        published = [each["figure"] for each in row.published if each.get("figure_of", 0) == 0]
        label = figure["label"][language]
        if not is_error(figure):
            own, others, published = ([1 - value for value in values] for values in (own, others, published))
            label = f"1 − {label}"
        yield Measured(f"{row.task[language]}\n{label}", own, others, published)


def _how(rows: Sequence[Any], runs: Path, language: str) -> Iterable[str]:
    yield f"## {say('how', language)}"
    for row in rows:
        yield f"\n### {row.task[language]}"
        lines = [*describe_data(row, language), *describe_runs(read_runs(row, runs))]
        yield from (f"\n{part}" for part in (row.note.get(language), "\n".join(lines)) if part)


def describe_data(row: Any, language: str) -> list[str]:
    """Return items of a list in Markdown: the data of a row that are not shipped, and the sources of figures."""
    lines = []
    if row.files:
        where = f": {row.where[language]}" if row.where else ""
        lines.append(f"- {say('files', language)}: {', '.join(f'`{name}`' for name in row.files)}{where}")
    for name, target in row.samples.items():
        lines.append(f"- {say('sample', language, file=f'`{{outputs}}/{target}`', sample=f'`{name}`')}")
    for each in row.published:
        note = f": {each['note'][language]}" if "note" in each else ""
        lines.append(f"- {say('source', language)}: {each['by']}, <{each['source']}>{note}")
    return list(dict.fromkeys(lines))  # two figures of one source have one note


def describe_runs(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return items of a list in Markdown: the command of each run, the machine, the versions and the date."""
    lines = []
    for each in found:
        about = each["run"]
        processor = each.get("card", {}).get("cost", {}).get("processor")
        machine = ", ".join(filter(None, [about.get("machine"), processor]))
        versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
        lines.append(f"- `{about['command']}`  \n  {'; '.join(filter(None, [machine, versions, about.get('date')]))}")
    return list(dict.fromkeys(lines))


def describe_spread(values: Sequence[float], seeds: int, language: str) -> str:
    """Return the mean of a figure, and if there are several, how many and from where to where.

    Args:
        values: the figure with each seed that was run.
        seeds: how many there are to run.
        language: `en` or `pt`.
    """
    partly = say("partly", language, count=len(values), all=seeds) if len(values) < seeds else ""
    if len(values) == 1:
        return f"{number_text(values[0], language)}{f' ({partly})' if partly else ''}"
    low, high = (number_text(value, language) for value in (min(values), max(values)))
    said = say("spread", language, count=len(values), low=low, high=high)
    return f"{number_text(mean(values), language)} ({'; '.join(filter(None, [said, partly]))})"


def number_text(value: float, language: str, digits: int = 3) -> str:
    """Return a number as the language writes it."""
    text = f"{value:,.{digits}f}"
    return text.translate(str.maketrans(",.", ".,")) if language == "pt" else text


def count_text(value: int, language: str) -> str:
    """Return a whole number as the language writes it."""
    return number_text(value, language, 0)
