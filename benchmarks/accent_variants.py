"""Accents of Brazil and of Portugal: what is gained by naming which of the two a text has.

`python -m benchmarks.accent_variants` restores and checks the sentences of the model's test, and writes the figures.
"""

import csv
import re
from collections.abc import Sequence

from atenta import restore_accents
from atenta.recipes.training.results import table
from atenta.restoration.portuguese import MODEL_FOLDER
from benchmarks import measuring
from benchmarks.benchmark_report import FOLDER
from benchmarks.missing_marks import check_texts, lost_marks
from results.figures import write_json

_OF_BRAZIL = re.compile(r"\w*(?:(?<!\bf)(?<!\bs)ê|(?<!\best)ô)[mn][aeiou]\w*", re.IGNORECASE)  # not fêmea, estômago
_OF_PORTUGAL = re.compile(r"\w*[éó][mn][aeiou]\w*", re.IGNORECASE)


def main() -> None:
    """Restore the sentences with and without their variant, print the figures, and write them."""
    with (MODEL_FOLDER / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        rows = [(row["source"], row["gold"]) for row in csv.DictReader(file, delimiter="\t")]
    shown = [(bool(_OF_BRAZIL.search(gold)), bool(_OF_PORTUGAL.search(gold))) for _, gold in rows]
    groups = {
        name: [row for row, of_row in zip(rows, shown) if of_row == has]
        for name, has in {"Brazil": (True, False), "Portugal": (False, True), "neither": (False, False)}.items()
    }
    figures = {}
    for name, named in {"Brazil": ("br",), "Portugal": ("pt",), "neither": ("br", "pt")}.items():
        figures[name] = {str(variant): _figures(groups[name], variant) for variant in (None, *named)}
        print(f"sentences with words as in {name}\n{table(figures[name])}\n", flush=True)
    about = measuring.describe_run(measuring.Settings(), "python -m benchmarks.accent_variants")
    write_json(FOLDER / "results" / "accent_variants.json", {**figures, "about": about})


def _figures(rows: Sequence[tuple[str, str]], variant: str | None) -> dict[str, int]:
    """Return how much is wrong, and how many of the words that differ `atenta check` finds."""
    sources, golds = zip(*rows)
    restored = restore_accents(sources, variant=variant)
    counts = {"sentences": len(rows), "wrong": sum(map(str.__ne__, restored, golds))}
    counts["characters wrong"] = sum(map(str.__ne__, "".join(restored), "".join(golds)))
    text, bare = "\n\n".join(golds), "\n\n".join(sources)
    found = {(number, *change) for number, each in check_texts([bare], variant=variant) for change in each.changes}
    lacking = lost_marks([text], [bare], [_OF_BRAZIL, _OF_PORTUGAL])
    counts["words that differ"] = sum(map(bool, lacking))
    counts["found by check"] = sum(bool(marks) and marks <= found for marks in lacking)
    return counts


if __name__ == "__main__":
    main()
