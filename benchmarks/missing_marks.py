"""Missing accents in files: how many of the marks that are taken away from documents `atenta check` finds.

`python -m benchmarks.missing_marks` writes the figures, and what is found in the documents as they are.
"""

import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from atenta.checking.checker import check_files
from atenta.checking.findings import Finding
from atenta.checking.settings import Settings
from atenta.recipes.samples.files import DATA
from atenta.recipes.training.results import table
from atenta.tokenization.base_letters import strip_accents
from benchmarks import measuring
from benchmarks.benchmark_report import FOLDER
from results.figures import write_json

_TEXTS = {
    "documentation": (
        "portugues/docs-python-br.txt",
        "portugues/docs-react-br.txt",
        "portugues_2/tutorial-django-girls-br.txt",
    ),
    "not learned from": ("portugues/enciclopedia-wikipedia.txt", "portugues/guia-codigo-aberto.txt"),
}
_PARAGRAPHS = 40  # of a file
_ONE_IN = 50  # words
_CONFIDENCES = (0.99, 0.98, 0.95)
_WORD = re.compile(r"\w+")


def main() -> None:
    """Check the documents as they are and with marks taken away, print the figures, and write them."""
    figures, speeds, as_they_are = {}, {}, {}
    for name, files in _TEXTS.items():
        right = list(_documents(files))
        less = list(_take_marks(right))
        started = perf_counter()
        own = check_texts(right)
        size, seconds = sum(len(text.encode()) for text in right), perf_counter() - started
        speeds[name] = {"megabytes": size / 1e6, "seconds": seconds, "bytes a second": size / seconds}
        as_they_are[name] = [f"{each.before} → {each.after}: {each.sentence[0]}" for _, each in own]
        figures[name] = {
            f"{share}": _figures(right, less, check_texts(less, min_confidence=share)) for share in _CONFIDENCES
        }
        print(f"{name}\n{table(figures[name])}\n\nas they are:", *as_they_are[name], sep="\n", end="\n\n", flush=True)
    print(table(speeds))
    about = measuring.describe_run(measuring.Settings(), "python -m benchmarks.missing_marks")
    written = {**figures, "as they are": as_they_are, "speed": speeds, "about": about}
    write_json(FOLDER / "results" / "missing_marks.json", written)


def _documents(files: Sequence[str]) -> Iterator[str]:
    """Yield documents of paragraphs, which are the lines of the files."""
    for file in files:
        lines = (DATA / file).read_text(encoding="utf-8").splitlines()
        for first in range(0, len(lines), _PARAGRAPHS):
            yield "\n\n".join(lines[first : first + _PARAGRAPHS]) + "\n"


def _take_marks(documents: Sequence[str]) -> Iterator[str]:
    """Yield documents in which some words, drawn at random, are without their marks."""
    numbers = random.Random(0)
    for text in documents:
        yield _WORD.sub(lambda match: strip_accents(match[0]) if numbers.random() < 1 / _ONE_IN else match[0], text)


def check_texts(documents: Sequence[str], **options: Any) -> list[tuple[int, Finding]]:
    """Return what is found in documents, read as Markdown, each with the number of its document."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.md") for number in range(len(documents))]
        for path, text in zip(paths, documents):
            path.write_text(text, encoding="utf-8")
        findings = check_files(paths, Settings(Path(folder), **options)).findings
    return [(int(path.stem), each) for path, of_file in findings.items() for each in of_file]


def lost_marks(
    right: Sequence[str], less: Sequence[str], words: Sequence[re.Pattern[str]]
) -> list[set[tuple[int, int, str]]]:
    """Return the marks that each word of documents has lost: the number of the document, the place, the character."""
    return [
        {(number, place, text[place]) for place in range(*match.span()) if text[place] != bare[place]}
        for number, (text, bare) in enumerate(zip(right, less))
        for pattern in words
        for match in pattern.finditer(text)
    ]


def _figures(right: Sequence[str], less: Sequence[str], findings: Sequence[tuple[int, Finding]]) -> dict[str, int]:
    """Return how many words lost marks, how many of them are found with the right ones, and what else is found."""
    found = {(number, *change) for number, each in findings for change in each.changes}
    lost = lost_marks(right, less, [_WORD])
    of_all = {mark for marks in lost for mark in marks}
    others = [each for number, each in findings if not of_all & {(number, *change) for change in each.changes}]
    return {
        "words without their marks": sum(map(bool, lost)),
        "found": sum(bool(marks) and marks <= found for marks in lost),
        "others found": len(others),
    }


if __name__ == "__main__":
    main()
