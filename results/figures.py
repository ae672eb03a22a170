"""The figures of runs, read from their metrics, and how English and Portuguese write them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from atenta.hub.card_words import less_is_better, with_separators
from results.rows import Row

ENDINGS = {"en": "", "pt": ".pt"}  # of the names of pages and pictures
_PORTUGUESE = {
    "task | measure | model | without a model | published | weights | minutes of a run | target": "tarefa | medida | "
    "modelo | sem modelo | publicado | pesos | minutos de uma execução | meta",
    "{label}, 0 to {most}": "{label}, 0 a {most}",
    "not run": "não executada",
    "not run: needs data that are not shipped": "não executada: precisa de dados à parte",
    "Data that are not shipped": "Dados à parte",
    "reached": "atingida",
    "missed": "não atingida",
    "mean of {count} seeds, {low} to {high}": "média de {count} sementes, {low} a {high}",
    "{count} of {all} seeds": "{count} de {all} sementes",
    "weights": "pesos",
    "minutes": "minutos",
    "Errors of the models, without a model, and published": "Erros dos modelos, sem modelo, e publicados",
    "How each was made": "Como cada um foi feito",
    "Published": "Publicado",
    "{file}: the pairs of {sample}, a sample": "{file}: os pares de {sample}, uma amostra",
    "All runs together: {minutes} minutes.": "Todas as execuções juntas: {minutes} minutos.",
    "less is better": "quanto menor, melhor",
    "more is better": "quanto maior, melhor",
    "Differences from the line “{line}”, for each column": "Diferenças em relação à linha “{line}”, em cada coluna",
    "{figure} against minutes, for each line": "{figure} em função dos minutos, em cada linha",
    # of the pictures
    "model": "modelo",
    "without a model": "sem modelo",
    "published": "publicado",
    "bits per character": "bits por caractere",
    "error, on a logarithmic scale": "erro, em escala logarítmica",
    "percentage points; to the right is better →": "pontos percentuais; à direita é melhor →",
    "minutes of training, on a logarithmic scale": "minutos de treino, em escala logarítmica",
    "best at its time": "melhor de cada tempo",
}


def translated(portuguese: Mapping[str, str], text: str, language: str, **values: Any) -> str:
    """Return an English text in a language, with values in their places."""
    return (portuguese[text] if language == "pt" else text).format(**values)


say = partial(translated, _PORTUGUESE)


def number_text(value: float, language: str, digits: int | None = None) -> str:
    """Return a number as the language writes it; without `digits`, with three, or four below 0.01."""
    if digits is None:
        digits = 4 if 0 < value < 0.01 else 3
    return with_separators(f"{value:,.{digits}f}", language)


def plain_number(value: float, language: str) -> str:
    """Return a number with no more digits than it needs, as the language writes it."""
    return with_separators(f"{value:g}", language)


def write_json(path: Path, content: Any) -> None:
    """Write a file of figures, which is complete, also if this process is stopped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def write_parts(path: Path, parts: Iterable[str]) -> None:
    """Write a page of its parts, without empty ones."""
    path.write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")


def read_run(path: Path) -> dict[str, Any]:
    """Return the metrics of a run.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
        is_complete = isinstance(metrics["test"], dict) and isinstance(metrics["run"]["command"], str)
    except (ValueError, KeyError, TypeError):
        is_complete = False
    if not is_complete:
        raise ValueError(f"{path} is damaged; expected the metrics of a run: remove it and run the row again.")
    return metrics


def read_runs(row: Row, folder: Path) -> list[dict[str, Any]]:
    """Return the metrics of the runs of a row that are there, in the order of its seeds.

    Raises:
        ValueError: If a file is damaged.
    """
    paths = (folder / f"{row.name}-{seed}.json" for seed in row.seeds)
    return [read_run(path) for path in paths if path.is_file()]


def figures_of(
    runs: Iterable[Mapping[str, Any]], row: Row, figure: Mapping[str, Any], answers: str | None
) -> list[float]:
    """Return a figure of each run: a score of `answers`, or what it lacks to 1 if the figure is an error.

    Without `answers` there is none. The row is for the error.

    Raises:
        ValueError: If a run has no such answers or no such score. The message lists those that it has.
    """
    test, score, values = figure.get("test", "test"), figure["score"], []
    for run in runs if answers else ():
        scores_of = run.get(test, {})
        if score not in scores_of.get(answers, {}):
            there = "; ".join(f"{name}: {', '.join(scores)}" for name, scores in scores_of.items()) or "nothing"
            raise ValueError(f"{row.name}: no {score} of {answers!r} in {test!r} of a run; there is {there}.")
        values.append(1 - scores_of[answers][score] if figure.get("error") else scores_of[answers][score])
    return values


def minutes_of(runs: Iterable[Mapping[str, Any]]) -> list[float]:
    """Return the minutes of each run; 0 if it has none, as the scoring of an ensemble."""
    return [run.get("card", {}).get("cost", {}).get("minutes") or 0.0 for run in runs]


def is_error(figure: Mapping[str, Any]) -> bool:
    """Return whether less of a figure is better."""
    return bool(figure.get("error")) or less_is_better(figure["score"])


def describe_spread(values: Sequence[float], seeds: int, language: str) -> str:
    """Return the mean of a figure, and if several of the seeds were run, how many and from where to where."""
    about = []
    if len(values) > 1:
        low, high = (number_text(value, language) for value in (min(values), max(values)))
        about.append(say("mean of {count} seeds, {low} to {high}", language, count=len(values), low=low, high=high))
    if len(values) < seeds:
        about.append(say("{count} of {all} seeds", language, count=len(values), all=seeds))
    shown = number_text(mean(values), language)
    return f"{shown} ({'; '.join(about)})" if about else shown


def who(published: Mapping[str, Any], language: str) -> str:
    """Return who published a figure: a name, or one in each language."""
    by = published["by"]
    return by if isinstance(by, str) else by[language]


def describe_data(row: Row, language: str) -> list[str]:
    """Return items of a list in Markdown: the data of a row that are not shipped, and the sources of figures."""
    lines = []
    if row.files:
        where = f": {row.where[language]}" if row.where else ""
        files = ", ".join(f"`{name}`" for name in row.files)
        lines.append(f"- {say('Data that are not shipped', language)}: {files}{where}")
    for sample, target in row.samples.items():
        names = {"file": f"`{{outputs}}/{target}`", "sample": f"`{sample}`"}
        lines.append(f"- {say('{file}: the pairs of {sample}, a sample', language, **names)}")
    for each in row.published:
        note = f": {each['note'][language]}" if "note" in each else ""
        lines.append(f"- {say('Published', language)}: {who(each, language)}, <{each['source']}>{note}")
    return list(dict.fromkeys(lines))  # two figures of one source have one note


def describe_runs(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return items of a list in Markdown: the command of each run, the machine, the versions and the date."""
    lines = []
    for run in runs:
        about = run["run"]
        processor = run.get("card", {}).get("cost", {}).get("processor")
        machine = ", ".join(filter(None, [about.get("machine"), processor]))
        versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
        lines.append(f"- `{about['command']}`  \n  {'; '.join(filter(None, [machine, versions, about.get('date')]))}")
    return list(dict.fromkeys(lines))
