"""The pages of the table, in English and in Portuguese, from its cells."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from atenta.hub.card_words import in_one_line, markdown_table
from benchmarks.word_pairs.cells import BEAMS, CONTESTANTS
from benchmarks.word_pairs.data_sets import DATA_SETS
from results.figures import ENDINGS, number_text, translated, write_parts

NAMES = {
    "atenta": {"en": "**atenta**, as its configuration comes", "pt": "**atenta**, com a configuração que vem com ele"},
    "bart": {
        "en": "BART of transformers, as large, `Seq2SeqTrainer`",
        "pt": "BART do transformers, do mesmo tamanho, `Seq2SeqTrainer`",
    },
    "yoyodyne_rotary": {"en": "yoyodyne, rotary Transformer", "pt": "yoyodyne, Transformer rotatório"},
    "yoyodyne_pointer": {
        "en": "yoyodyne, pointer-generator Transformer",
        "pt": "yoyodyne, Transformer com cópia (pointer-generator)",
    },
    "joeynmt": {"en": "JoeyNMT, Transformer", "pt": "JoeyNMT, Transformer"},
    "look_up": {"en": "words looked up in training", "pt": "palavras consultadas no treino"},
    "letters_in_context": {"en": "letters in context, counted", "pt": "letras em contexto, contadas"},
}
_SECONDS = "Where {minutes:g} min were given, training took {first} to {last} s"
_RUN = (
    "`python -m benchmarks.word_pairs`, {days}, {machine}: {count} cells; the command of each is in its "
    "file in `cells/`"
)
_PORTUGUESE = {
    "Which library for words to words?": "Qual biblioteca para transformar palavras em palavras?",
    "[Em português](README.pt.md)": "[In English](README.md)",
    "contestant": "concorrente",
    "words wrong after {minutes:g} min": "palavras erradas após {minutes:g} min",
    "weights": "pesos",
    "words/s, greedy": "palavras/s, gulosa",
    "words/s, {beams} beams": "palavras/s, feixe de {beams}",
    "not run": "não executado",
    "failed": "falhou",
    "What failed": "O que falhou",
    "How it was measured": "Como foi medido",
    _SECONDS: "Com prazo de {minutes:g} min, o treino levou de {first} a {last} s",
    "{first} to {last}": "de {first} a {last}",
    _RUN: "`python -m benchmarks.word_pairs`, {days}, {machine}: {count} células; o comando "
    "de cada uma está em seu arquivo em `cells/`",
    "Versions": "Versões",
    "Data that are not shipped": "Dados à parte",
}
_say = partial(translated, _PORTUGUESE)
_Cell = Mapping[str, Any]


def read_cells(folder: Path) -> list[dict[str, Any]]:
    """Return the cells of a folder, in the order of their times and seeds.

    Raises:
        ValueError: If a file is damaged, or of a data set or a contestant that the table does not have.
    """
    cells = []
    for path in sorted(folder.glob("*.json")):
        try:
            cell = json.loads(path.read_text(encoding="utf-8"))
            known = cell["data_set"] in DATA_SETS and cell["contestant"] in CONTESTANTS
            known &= isinstance(cell["minutes"] + cell["seed"], int | float) and "machine" in cell
            known &= "words_wrong" in cell or "error" in cell
        except (ValueError, LookupError, TypeError):
            known = False
        if not known:
            raise ValueError(f"{path} is not a cell of this table; remove it, and run it again.")
        cells.append(cell)
    return sorted(cells, key=lambda cell: (cell["minutes"], cell["seed"]))


def write_pages(cells: Sequence[_Cell], folder: Path) -> None:
    """Write README.md and README.pt.md: a preface, a table for each data set with cells, and how they were made."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, ending in ENDINGS.items():
        preface = (Path(__file__).parent / f"preface{ending}.md").read_text(encoding="utf-8").strip()
        title = _say("Which library for words to words?", language)
        parts = [f"# {title}", _say("[Em português](README.pt.md)", language), preface]
        for data_set in DATA_SETS.values():
            if of_set := [cell for cell in cells if cell["data_set"] == data_set.name]:
                parts += [f"## {data_set.label[language]}", table(of_set, language)]
        parts += _how(cells, language)
        write_parts(folder / f"README{ending}.md", parts)


def table(cells: Sequence[_Cell], language: str) -> str:
    """Return the table of a data set: a row for each contestant with cells, a column for each time.

    A share of words wrong is the mean of the seeds by beam search, with the lowest and the highest; the smallest of a
    column is marked. Speeds are the means of the runs of the longest time.
    """
    times = sorted({cell["minutes"] for cell in cells if cell["minutes"]})
    of = {name: [cell for cell in cells if cell["contestant"] == name] for name in CONTESTANTS}
    of = {name: of_name for name, of_name in of.items() if of_name}
    shares = {(name, time): _shares(of_name, time) for name, of_name in of.items() for time in times}
    best = {time: min((mean(shares[name, time]) for name in of if shares[name, time]), default=None) for time in times}
    wrong = (_say("words wrong after {minutes:g} min", language, minutes=time) for time in times)
    speeds = (_say("words/s, greedy", language), _say("words/s, {beams} beams", language, beams=BEAMS))
    rows = [[_say("contestant", language), *wrong, _say("weights", language), *speeds]]
    for name, of_name in of.items():
        row = [NAMES[name][language]]
        for time in times:
            share = shares[name, time]
            failed = any("error" in cell for cell in of_name if cell["minutes"] == time)
            shown = _spread(share, language) if share else _say("failed" if failed else "not run", language)
            row.append(f"**{shown}**" if share and mean(share) == best[time] else shown)
        measured = [cell for cell in of_name if "words_wrong" in cell]
        last = [cell for cell in measured if cell["minutes"] == max(each["minutes"] for each in measured)]
        row.append(_mean_of([cell["weights"] for cell in last if "weights" in cell], language))
        for search in ("greedy", "beams"):
            speeds = [cell["words_per_second"][search] for cell in last if search in cell["words_per_second"]]
            row.append(_mean_of(speeds, language))
        rows.append(row)
    return markdown_table(rows, "l" + "r" * (len(rows[0]) - 1))


def _shares(cells: Iterable[_Cell], time: float) -> list[float]:
    """Return the shares of words wrong after a time; a contestant without a model has the same after each."""
    found = [cell["words_wrong"] for cell in cells if cell["minutes"] in (time, 0) and "words_wrong" in cell]
    return [share.get("beams", share["greedy"]) for share in found]


def _spread(shares: Sequence[float], language: str) -> str:
    shown = number_text(mean(shares), language)
    low, high = (number_text(share, language) for share in (min(shares), max(shares)))
    return f"{shown} ({low} … {high})" if len(shares) > 1 else shown


def _mean_of(values: Sequence[float], language: str) -> str:
    return number_text(mean(values), language, 0 if mean(values) >= 10 else 1) if values else ""


def _how(cells: Sequence[_Cell], language: str) -> list[str]:
    """Return the last parts of a page: what failed, and the times, versions, data and machines of the cells."""
    parts = []
    if failed := [cell for cell in cells if "error" in cell]:
        lines = [f"- {NAMES[cell['contestant']][language]}: {in_one_line(cell['error'])}" for cell in failed]
        parts += [f"## {_say('What failed', language)}", "\n".join(dict.fromkeys(lines))]
    lines = []
    for machine in dict.fromkeys(cell["machine"] for cell in cells):
        dates = sorted(cell["date"] for cell in cells if cell["machine"] == machine)
        first, last = dates[0], dates[-1]
        days = first if first == last else _say("{first} to {last}", language, first=first, last=last)
        lines.append(f"- {_say(_RUN, language, days=days, machine=machine, count=len(dates))}.")
    trained = [cell for cell in cells if "training_seconds" in cell]
    for time in sorted({cell["minutes"] for cell in trained}):
        seconds = [cell["training_seconds"] for cell in trained if cell["minutes"] == time]
        first, last = (number_text(each, language, 0) for each in (min(seconds), max(seconds)))
        lines.append(f"- {_say(_SECONDS, language, minutes=time, first=first, last=last)}.")
    for name in CONTESTANTS:
        for versions in sorted({tuple(cell["versions"].items()) for cell in trained if cell["contestant"] == name}):
            shown = ", ".join(f"{package} {number}" for package, number in versions)
            lines.append(f"- {_say('Versions', language)}, {NAMES[name][language]}: {shown}.")
    for data_set in DATA_SETS.values():
        if data_set.where and any(cell["data_set"] == data_set.name for cell in cells):
            apart = _say("Data that are not shipped", language)
            lines.append(f"- {apart}, {data_set.label[language]}: {data_set.where[language]}.")
    return [*parts, f"## {_say('How it was measured', language)}", "\n".join(lines)] if lines else parts
