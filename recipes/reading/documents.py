"""Texts to pre-train on: whole files, their paragraphs or their lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Features, Value

from atenta.recipes.reading.lines import decode, read_lines
from atenta.recipes.reading.records import BadRow, Record
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
    """Yield the documents of a UTF-8 text file.

    Args:
        path: the file.
        sample_by: what is a document, by the names of `datasets`: `document`, the whole file, which is read at once;
            `paragraph`, what blank lines part; or `line`. Blank lines are no documents.

    Raises:
        ValueError: another `sample_by`.
        OSError: the file cannot be read.
    """
    if sample_by == "document":
        text = decode(Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path))
        yield text if isinstance(text, BadRow) else (str(path), {"text": text.replace("\r\n", "\n")})
    elif sample_by == "paragraph":
        yield from _paragraphs(path)
    elif sample_by == "line":
        for number, line in read_lines(path):
            if isinstance(line, BadRow):
                yield line
            elif line.strip():
                yield f"{path}, line {number}", {"text": line}
    else:
        raise ValueError(f"--sample_by {sample_by}: expected document, paragraph or line")


def _paragraphs(path: str | Path) -> Iterator[Record | BadRow]:
    lines: list[str] = []
    start = 1
    for number, line in read_lines(path):
        if isinstance(line, BadRow):
            yield line
        elif line.strip():
            start = start if lines else number
            lines.append(line)
        elif lines:
            yield f"{path}, line {start}", {"text": "\n".join(lines)}
            lines = []
    if lines:
        yield f"{path}, line {start}", {"text": "\n".join(lines)}
