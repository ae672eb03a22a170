"""Questions in the JSON of SQuAD 1.1 (Rajpurkar et al., 2016)."""

import json
from collections.abc import Iterator
from pathlib import Path

from atenta.recipes.reading.records import BadRow, Record


def read_squad(path: str | Path) -> Iterator[Record | BadRow]:
    """Yield the questions of a SQuAD file: `id`, `context`, `question`, `answers` (lists `text` and `answer_start`).

    Questions without an answer, as in SQuAD 2.0, come with empty lists.

    Raises:
        ValueError: the file is no JSON, or has no list of articles under `data`.
        OSError: the file cannot be read.
    """
    try:
        articles = json.loads(Path(path).read_text(encoding="utf-8-sig"))["data"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: found no SQuAD JSON ({error!r}); expected an object with a list 'data'") from None
    for number, article in enumerate(articles, start=1):
        where = f"{path}, article {number}"
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    where = f"{path}, question {question['id']}"
                    answers = [(answer["text"], answer["answer_start"]) for answer in question["answers"]]
                    texts, starts = zip(*answers) if answers else ((), ())
                    yield (
                        where,
                        {
                            "id": question["id"],
                            "context": paragraph["context"],
                            "question": question["question"],
                            "answers": {"text": list(texts), "answer_start": list(starts)},
                        },
                    )
        except (KeyError, TypeError) as error:
            yield BadRow(where, f"found no {error}; expected paragraphs of context and qas of id, question, answers")
