"""Accents of Brazil and of Portugal: what `restore_accents` gains by being told which of the two a text has.

`python -m benchmarks.accent_variants` restores the sentences of the model's test again, and writes the figures.
"""

import csv
import re
from collections.abc import Sequence

from atenta import restore_accents
from atenta.recipes.training.results import table
from atenta.restoration.portuguese import MODEL_FOLDER
from atenta.restoration.spans import count_marks
from benchmarks.benchmark_report import FOLDER
from benchmarks.measuring import Settings, describe_run
from results.figures import write_json

_SURE = 0.99  # the default of `atenta check`


def main() -> None:
    """Restore the sentences with and without their variant, print the figures, and write them."""
    with (MODEL_FOLDER / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        rows = [(row["source"], row["gold"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    marks = [count_marks(gold) for _, gold in rows]
    groups = {
        "with words as in Brazil": (
            "br",
            [row for row, of_row in zip(rows, marks) if of_row["br"] > 0 == of_row["pt"]],
        ),
        "as in Portugal": ("pt", [row for row, of_row in zip(rows, marks) if of_row["pt"] > 0 == of_row["br"]]),
        "with neither": ("br", [row for row, of_row in zip(rows, marks) if not of_row.total()]),
    }
    figures = {}
    for name, (variant, of_group) in groups.items():
        figures[name] = {"told nothing": _figures(of_group, None), f"told {variant}": _figures(of_group, variant)}
        print(f"{name}\n{table(figures[name])}\n", flush=True)
    about = describe_run(Settings(), "python -m benchmarks.accent_variants")
    write_json(FOLDER / "results" / "accent_variants.json", {**figures, "about": about})


def _figures(rows: Sequence[tuple[str, str]], variant: str | None) -> dict[str, int]:
    """Return how many sentences and characters are wrong, and how many of the words that differ are surely right."""
    found = restore_accents([source for source, _ in rows], variant=variant, return_probabilities=True)
    counts = {"sentences": len(rows), "sentences wrong": 0, "characters wrong": 0}
    counts |= {"words that differ": 0, "restored, sure": 0, "of these, wrong": 0}
    for (source, gold), each in zip(rows, found):
        counts["sentences wrong"] += each.text != gold
        counts["characters wrong"] += sum(map(str.__ne__, each.text, gold))
        for start, end in (match.span() for match in re.finditer(r"\w+", gold)):
            changed = [place for place in range(start, end) if source[place] != each.text[place]]
            if count_marks(gold[start:end]).total() and source[start:end] != gold[start:end]:
                is_sure = bool(changed) and bool(min(each.probabilities[changed]) >= _SURE)
                counts["words that differ"] += 1
                counts["restored, sure"] += is_sure
                counts["of these, wrong"] += is_sure and each.text[start:end] != gold[start:end]
    return counts


if __name__ == "__main__":
    main()
