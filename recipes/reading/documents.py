"""Texts to pre-train on: whole files, their paragraphs or their lines."""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from datasets import Features, Value

from atenta.recipes.reading.lines import read_lines
from atenta.recipes.reading.records import BadRow, Record, expect_any
from atenta.recipes.reading.texts import expect_text

FEATURES = Features({"text": Value("string")})


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a document.

    Args:
        fields: `text`.

    Raises:
        ValueError: it is missing, blank or no text.
    """
    return {"text": expect_text(fields.get("text"), "text")}


def read_documents(path: str | Path, sample_by: str) -> Iterator[Record | BadRow]:
    """Return the documents of a UTF-8 text file, read one by one. Where a line is malformed its document is bad.

    Args:
        path: the file.
        sample_by: what is a document, by the names of `datasets`: `document`, the whole file, which is read at once;
            `paragraph`, what blank lines part; or `line`. What is blank is no document.

    Raises:
        ValueError: another `sample_by`, or a file without text.
        OSError: the file cannot be read.
    """
    if sample_by not in _PARTS:
        raise ValueError(f"--sample_by {sample_by}: expected document, paragraph or line")
    return expect_any(_cut(path, _PARTS[sample_by]), f"{path}: found no text; expected at least one line of it")


def _is_blank(line: str | BadRow) -> bool:
    return isinstance(line, str) and not line.strip()


# What consecutive lines of one document have in common.
_PARTS: dict[str, Callable[[int, str | BadRow], Any]] = {
    "document": lambda number, line: None,
    "paragraph": lambda number, line: _is_blank(line),
    "line": lambda number, line: number,
}


def _cut(path: str | Path, part: Callable[[int, str | BadRow], Any]) -> Iterator[Record | BadRow]:
    for _, numbered in groupby(read_lines(path), lambda line: part(*line)):
        numbers, lines = zip(*numbered)
        if bad := [line for line in lines if isinstance(line, BadRow)]:
            yield from bad
        elif not all(map(_is_blank, lines)):
            yield f"{path}, line {numbers[0]}", {"text": "\n".join(lines)}
