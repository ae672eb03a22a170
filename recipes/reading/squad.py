"""Questions in the JSON of SQuAD 1.1 (Rajpurkar et al., 2016)."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from atenta.recipes.reading.records import BadRow, Record, expect_any


def read_squad(path: str | Path) -> Iterator[Record | BadRow]:
    """Return the questions of a SQuAD file: `id`, `context`, `question`, `answers` (lists `text` and `answer_start`).

    The file is one JSON object and is read at once. Questions without an answer, as in SQuAD 2.0, come with empty
    lists. An article or a paragraph that is malformed is one bad row.

    Raises:
        ValueError: the file is no JSON, has no list of articles under `data`, or no question.
        OSError: the file cannot be read.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path}: found no JSON ({error}); expected an object with a list 'data'") from None
    if not (isinstance(content, dict) and isinstance(content.get("data"), list)):
        raise ValueError(f"{path}: found {content!r:.80}; expected an object with a list 'data'")
    problem = f"{path}: found no questions; expected an object with a list 'data' of articles that have some"
    return expect_any(_questions(path, content), problem)


def _questions(path: str | Path, content: dict[str, Any]) -> Iterator[Record | BadRow]:
    articles = _items([(str(path), content)], "data", "article")
    for paragraph in _items(articles, "paragraphs", "paragraph"):
        for question in _items([paragraph], "qas", "question"):
            yield question if isinstance(question, BadRow) else _record(path, paragraph[1].get("context"), *question)


def _items(holders: Iterable[tuple[str, Any] | BadRow], name: str, kind: str) -> Iterator[tuple[str, Any] | BadRow]:
    """Yield the items of each holder's list of that name, and where they stand."""
    for holder in holders:
        if isinstance(holder, BadRow):
            yield holder
            continue
        where, value = holder
        if isinstance(value, dict) and isinstance(value.get(name), list):
            yield from ((f"{where}, {kind} {number}", item) for number, item in enumerate(value[name], start=1))
        else:
            yield BadRow(where, f"found {value!r:.80}; expected an object with a list {name!r}")


def _record(path: str | Path, context: Any, where: str, question: Any) -> Record | BadRow:
    try:
        where = f"{path}, question {question['id']}"
        answers = {name: [answer[name] for answer in question["answers"]] for name in ("text", "answer_start")}
        values = {"id": question["id"], "context": context, "question": question["question"], "answers": answers}
    except (KeyError, TypeError):
        expected = "an object with 'id', 'question' and a list 'answers' of objects with 'text' and 'answer_start'"
        return BadRow(where, f"found {question!r:.200}; expected {expected}")
    return where, values
