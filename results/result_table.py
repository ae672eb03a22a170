"""The table of the figures of runs, in English and Portuguese, with how each was made."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

_LANGUAGES = {"en": "README.md", "pt": "README.pt.md"}
_WORDS: dict[str, dict[str, str]] = {
    "columns": {
        "en": "task | measure | model | without a model | published | weights | minutes | target",
        "pt": "tarefa | medida | modelo | sem modelo | publicado | pesos | minutos | meta",
    },
    "not run": {"en": "not run", "pt": "não executada"},
    "reached": {"en": "reached", "pt": "atingida"},
    "missed": {"en": "missed", "pt": "não atingida"},
    "spread": {"en": "mean of {count} seeds, {low} to {high}", "pt": "média de {count} sementes, {low} a {high}"},
    "how": {"en": "How each was made", "pt": "Como cada um foi feito"},
    "source": {"en": "Published", "pt": "Publicado"},
    "together": {
        "en": "All runs together: {minutes} minutes.",
        "pt": "Todas as execuções juntas: {minutes} minutos.",
    },
}


def write_tables(rows: Iterable[Any], runs: Path, folder: Path) -> None:
    """Write README.md and README.pt.md: what is in preface.md and preface.pt.md, the table, and each row's commands.

    Args:
        rows: rows of rows.yaml.
        runs: folder of the figures, `<row>-<seed>.json`.
        folder: where the tables are written, and the prefaces are, if there are any.
    """
    rows = list(rows)
    for language, name in _LANGUAGES.items():
        preface = folder / name.replace("README", "preface")
        parts = [preface.read_text(encoding="utf-8").rstrip()] if preface.is_file() else []
        parts.append("\n".join(_table(rows, runs, language)))
        parts.append("\n".join(_how(rows, runs, language)))
        (folder / name).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def read_runs(row: Any, runs: Path) -> list[dict[str, Any]]:
    """Return the metrics of the runs of a row that are there, in the order of its seeds."""
    paths = (runs / f"{row.name}-{seed}.json" for seed in row.seeds)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def figures_of(found: Sequence[Mapping[str, Any]], row: Any, figure: Mapping[str, Any], answers: str) -> list[float]:
    """Return a figure of each run: a score, or what it lacks to 1 if the figure is an error."""
    scores = [each[figure.get("test", "test")].get(answers, {}).get(figure["score"]) for each in found]
    return [1 - score if figure.get("error") else score for score in scores if score is not None]


def _table(rows: Sequence[Any], runs: Path, language: str) -> Iterable[str]:
    columns = _WORDS["columns"][language].split(" | ")
    yield f"| {' | '.join(columns)} |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    minutes = 0.0
    for row in rows:
        found = read_runs(row, runs)
        of_row = [each.get("card", {}).get("cost", {}).get("minutes") or 0.0 for each in found]
        minutes += sum(of_row)
        for index, figure in enumerate(row.figures):
            values = figures_of(found, row, figure, row.answers)
            baseline = figures_of(found, row, figure, row.baseline) if row.baseline else []
            published = [each for each in row.published if each.get("figure_of", 0) == index]
            target, reached = figure.get("target"), ""
            if target is not None and values:
                lower_is_better = figure.get("error") or figure["score"].endswith(("error_rate", "per_character"))
                good = mean(values) <= target if lower_is_better else mean(values) >= target
                reached = f"{_number(target, language)}: {_WORDS['reached' if good else 'missed'][language]}"
            weights = f"{found[0]['weights']:,}" if found and index == 0 else ""
            cells = [
                row.task[language] if index == 0 else "",
                figure["label"][language],
                _spread(values, language) if values else _WORDS["not run"][language],
                _number(baseline[0], language) if baseline else "",
                "; ".join(f"{_number(each['figure'], language)} ({each['by']})" for each in published),
                weights.replace(",", "." if language == "pt" else ","),
                _number(mean(of_row), language, 1) if any(of_row) and index == 0 else "",
                reached,
            ]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield _WORDS["together"][language].format(minutes=_number(minutes, language, 0))


def _how(rows: Sequence[Any], runs: Path, language: str) -> Iterable[str]:
    yield f"## {_WORDS['how'][language]}"
    for row in rows:
        found = read_runs(row, runs)
        yield f"\n### {row.task[language]}\n"
        if row.note:
            yield f"{row.note[language]}\n"
        for each in row.published:
            note = f": {each['note'][language]}" if "note" in each else ""
            yield f"- {_WORDS['source'][language]}: {each['by']}, <{each['source']}>{note}"
        for each in found:
            about = each["run"]
            processor = each.get("card", {}).get("cost", {}).get("processor")
            machine = ", ".join(filter(None, [about.get("machine"), processor]))
            versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
            yield f"- `{about['command']}`  \n  {'; '.join(filter(None, [machine, versions, about['date']]))}"


def _spread(values: Sequence[float], language: str) -> str:
    if len(values) == 1:
        return _number(values[0], language)
    low, high = (_number(value, language) for value in (min(values), max(values)))
    said = _WORDS["spread"][language].format(count=len(values), low=low, high=high)
    return f"{_number(mean(values), language)} ({said})"


def _number(value: float, language: str, digits: int = 3) -> str:
    text = f"{value:.{digits}f}"
    return text.replace(".", ",") if language == "pt" else text
