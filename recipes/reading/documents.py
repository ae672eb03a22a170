"""Texts to pre-train on: whole files, their paragraphs, lines or sentences."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
        sample_by: what is a document. By the names of `datasets`: `document`, the whole file, which is read at once;
            `paragraph`, what blank lines part; or `line`. What is blank is no document. Or `sentence`: see
            `cut_sentences`; a paragraph is read at once, and one with a malformed line is bad as a whole.

    Raises:
        ValueError: another `sample_by`, or a file without text.
        OSError: the file cannot be read.
    """
    expect_way_to_cut(sample_by)
    return expect_any(_records(path, sample_by), f"{path}: found no text; expected at least one line of it")


def cut_documents(batch: Mapping[str, list], sample_by: str) -> dict[str, list[str]]:
    """Cut texts that are in memory as `read_documents` cuts files; those that are cut already stay as they are.

    Args:
        batch: column `text`.
        sample_by: as in `read_documents`.

    Returns:
        `text`, as many rows as there are documents.

    Raises:
        ValueError: another `sample_by`.
    """
    expect_way_to_cut(sample_by)
    lines_of_texts = (enumerate(text.split("\n")) for text in batch["text"])
    return {"text": [text for lines in lines_of_texts for _, text in _cut(lines, sample_by)]}


def cut_sentences(text: str) -> list[tuple[int, str]]:
    """Return a paragraph's sentences, each with the number of line ends before it.

    A sentence ends with `.`, `!`, `?` or `…`, the quotes and brackets that close behind it, and white space, or where
    the paragraph ends; not at the end of a line, where texts may be wrapped. So abbreviations end one (`o Sr.` /
    `Alves`), and a heading without a full stop begins the next one. All characters are kept but the white space at
    both ends of a sentence.
    """
    return [(text.count("\n", 0, match.start()), match[0].rstrip()) for match in _SENTENCE.finditer(text)]


def expect_way_to_cut(sample_by: str) -> None:
    """Check the option.

    Raises:
        ValueError: there is no such way to cut texts.
    """
    if sample_by not in _WAYS:
        raise ValueError(f"--sample_by {sample_by}: expected {', '.join(list(_WAYS)[:-1])} or {list(_WAYS)[-1]}")


def _records(path: str | Path, sample_by: str) -> Iterator[Record | BadRow]:
    for found in _cut(read_lines(path), sample_by):
        yield found if isinstance(found, BadRow) else (f"{path}, line {found[0]}", {"text": found[1]})


def _is_blank(line: str | BadRow) -> bool:
    return isinstance(line, str) and not line.strip()


def _whole(text: str) -> list[tuple[int, str]]:
    return [(0, text)]


_SENTENCE = re.compile(r"""\S.*?(?:[.!?…]["'”’»)\]]*(?=\s)|\Z)""", re.DOTALL)

# What consecutive lines have in common that are read together, and how they are cut then.
_WAYS: dict[str, tuple[Callable[[int, str | BadRow], Any], Callable[[str], list[tuple[int, str]]]]] = {
    "document": (lambda number, line: None, _whole),
    "paragraph": (lambda number, line: _is_blank(line), _whole),
    "line": (lambda number, line: number, _whole),
    "sentence": (lambda number, line: _is_blank(line), cut_sentences),
}


def _cut(lines: Iterable[tuple[int, str | BadRow]], sample_by: str) -> Iterator[tuple[int, str] | BadRow]:
    """Documents, each with the number of its first line."""
    part, cut = _WAYS[sample_by]
    for _, together in groupby(lines, lambda line: part(*line)):
        numbers, texts = zip(*together)
        if bad := [text for text in texts if isinstance(text, BadRow)]:
            yield from bad
        elif not all(map(_is_blank, texts)):
            yield from ((numbers[0] + before, text) for before, text in cut("\n".join(texts)))
