"""Passages to search in, and queries of which it is known where their answers stand."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset

from atenta.recipes.reading.documents import read_documents
from atenta.recipes.reading.records import BadRow, Record
from atenta.recipes.reading.squad import read_squad
from atenta.recipes.reading.tables import read_table
from atenta.recipes.reading.texts import expect_text
from atenta.recipes.samples.files import DATA

FAQUAD = (DATA / "faquad" / "train.json", DATA / "faquad" / "dev.json")


class LabelledQuery(NamedTuple):
    """A query, and the indices of the passages that answer it, one or more."""

    text: str
    answers: frozenset[int]


def read_folder(folder: str | Path, sample_by: str) -> Dataset:
    """Return the passages of all txt files in a folder and the folders in it, in the order of their names.

    Args:
        folder: the folder.
        sample_by: what of a file is a passage: see `read_documents`.

    Returns:
        Rows of `file`, its path in the folder; `id`, the file and the line where the passage begins, such as
        `dom_casmurro.txt:12`; and `text`.

    Raises:
        ValueError: there is no txt file, another `sample_by`, or a malformed text: the message says where.
        OSError: a file cannot be read.
    """
    paths = sorted(Path(folder).rglob("*.txt"))
    if not paths:
        raise ValueError(f"--text_folder {folder}: found no txt file; expected one at least")
    rows = []
    for path in paths:
        file = path.relative_to(folder).as_posix()
        for where, fields in _good(read_documents(path, sample_by)):
            rows.append({"file": file, "id": f"{file}:{where.rpartition(' ')[2]}", "text": fields["text"]})
    return Dataset.from_list(rows)


def read_questions(paths: Sequence[Path] = FAQUAD) -> tuple[Dataset, list[LabelledQuery]]:
    """Return the contexts of SQuAD files as passages, each once, and their questions as queries.

    The answers themselves are not looked at: a question is answered by its context.

    Returns:
        Passages, as in `read_folder`, their `id` the file and the number of the context in it; and the queries.

    Raises:
        ValueError: a file is malformed: the message says where.
        OSError: a file cannot be read, such as the sample data in an installed package, which ships none.
    """
    rows: list[dict[str, str]] = []
    numbers: dict[str, int] = {}  # of each context
    queries = []
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(
                f"found no {path.name} in {path.parent}; expected the sample data, which only the repository holds: "
                "run from a clone, or name your own texts with --text_folder"
            )
        before = len(rows)
        for _, fields in _good(read_squad(path)):
            context, question = (expect_text(fields[name], name) for name in ("context", "question"))
            if context not in numbers:
                numbers[context] = len(rows)
                rows.append({"file": path.name, "id": f"{path.name}:{len(rows) - before + 1}", "text": context})
            queries.append(LabelledQuery(question, frozenset([numbers[context]])))
    return Dataset.from_list(rows), queries


def read_queries(path: str | Path, passages: Dataset) -> list[LabelledQuery]:
    """Return the queries of a table with the columns `query` and `passage`.

    Args:
        path: a tsv, csv, jsonl or parquet file; `passage` is a passage's `id`, or a `file`, any passage of which
            answers the query.
        passages: as `read_folder` returns them.

    Raises:
        ValueError: a malformed row, or one that names no passage: the message says where.
        OSError: the file cannot be read.
    """
    named: defaultdict[str, set[int]] = defaultdict(set)
    for column in ("file", "id"):
        for index, name in enumerate(passages[column]):
            named[name].add(index)
    queries = []
    for where, fields in _good(read_table(path, columns=["query", "passage"])):
        if fields["passage"] not in named:
            expected = f"a file, such as {passages[0]['file']}, or a passage, such as {passages[0]['id']}"
            raise BadRow(where, f"found {fields['passage']!r}; expected {expected}")
        queries.append(LabelledQuery(expect_text(fields["query"], "query"), frozenset(named[fields["passage"]])))
    return queries


def _good(records: Iterator[Record | BadRow]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for record in records:
        if isinstance(record, BadRow):
            raise record
        yield record
