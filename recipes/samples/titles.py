"""A sample of paragraphs and their titles: public services, help pages and tutorials of Brazil."""

import re
from collections.abc import Iterator
from typing import Any

from atenta.recipes.samples.files import SPLITS, sample_files
from atenta.recipes.samples.portuguese_texts import cut_into_sentences, file_parts, is_known, known_texts

# Of `portugues`, whose held-out parts no model is pre-trained on, and of `portugues_2`, where every tenth is held out.
_HELP = ("ajuda-gnome-br", "ajuda-libreoffice-br", "docs-react-br")
_SERVICES = ("servico-cartas-gov-br", "tutorial-django-girls-br", "tutorial-raspberry-pi-br")
_VALIDATION_DIGIT, _TEST_DIGIT = 6, 9  # the last of a part's number, counted from 0
_TITLE = re.compile(r"(?=.{20,80}\Z)[^\W\d_a-zà-ÿ](?:(?![.:;=…]\s)[^\[\]{}<>|])*\w\)?\Z")
_LONGEST, _SHORTEST = 400, 70  # characters of a text


def titles() -> dict[str, list[dict[str, Any]]]:
    """Return paragraphs with the heading above them.

    A heading is a line that begins with a capital, has at most 80 characters and no sign at its end, above a paragraph
    that is a sentence or more; of that the first sentences count, up to 400 characters. The files are cut into 100
    parts of consecutive lines, and no line is in two splits. Of training, pairs are left out that have a title of
    another split, or half of the runs of eight words of a text there.

    Returns:
        The rows of each split: `source`, the paragraph, and `target`, its title, and no `tags`.
    """
    rows: dict[str, list[dict[str, Any]]] = {split: [] for split in SPLITS}
    for name in _HELP:
        for _, split, part in file_parts(*sample_files("portugues", f"{name}.txt")):
            rows[split] += _pairs(part)
    for name in _SERVICES:
        for index, _, part in file_parts(*sample_files("portugues_2", f"{name}.txt")):
            rows[{_VALIDATION_DIGIT: "validation", _TEST_DIGIT: "test"}.get(index % 10, "train")] += _pairs(part)
    for split, others in (("validation", ["test"]), ("train", ["validation", "test"])):
        held_out = [row for other in others for row in rows[other]]
        known, taken = known_texts(held_out), {row["target"].lower() for row in held_out}
        rows[split] = [
            row for row in rows[split] if row["target"].lower() not in taken and not is_known(row["source"], known)
        ]
    return rows


def _pairs(lines: list[str]) -> Iterator[dict[str, Any]]:
    for title, paragraph in zip(map(str.strip, lines), map(str.strip, lines[1:])):
        text = ""
        for sentence in cut_into_sentences([paragraph]):
            if len(text) + 1 + len(sentence) > _LONGEST:
                break
            text = f"{text} {sentence}".strip()
        if _TITLE.match(title) and len(text) >= _SHORTEST and text[0].isupper() and text[-1] in ".!?":
            yield {"source": text, "target": title, "tags": []}
