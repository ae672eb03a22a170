"""Questions on contexts that hold their answers, as in SQuAD 1.1, that extractive question answering learns from."""

from collections.abc import Mapping
from typing import Any

from datasets import Features, List, Value

from atenta.recipes.reading.texts import expect_name, expect_text

FEATURES = Features(
    {
        "id": Value("string"),
        "context": Value("string"),
        "question": Value("string"),
        "answers": {"text": List(Value("string")), "answer_start": List(Value("int64"))},
        "mended": Value("int64"),
    }
)


def check(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a question, with every answer where it stands in the context.

    A wrong `answer_start` is mended if the context holds the answer exactly once. The row's `mended` is the number of
    answers so moved: whoever reads the rows tells their sum.

    Args:
        fields: `id`, `context`, `question` and `answers`, lists `text` and `answer_start` of one length, the latter
            in characters from 0, as they stand in the context before any normalization.

    Raises:
        ValueError: a text that is missing or blank, no answer, lists of two lengths, or an answer that is not where
            it is said to stand and that the context holds never, or more than once.
    """
    context = expect_text(fields.get("context"), "context")
    texts, given = _expect_answers(fields.get("answers"))
    starts = [_find(text, start, context) for text, start in zip(texts, given)]
    return {
        "id": expect_name(fields.get("id"), "id"),
        "context": context,
        "question": expect_text(fields.get("question"), "question"),
        "answers": {"text": texts, "answer_start": starts},
        "mended": sum(start != was for start, was in zip(starts, given)),
    }


def _expect_answers(answers: Any) -> tuple[list[str], list[int]]:
    try:
        texts, starts = list(answers["text"]), list(answers["answer_start"])
    except (KeyError, TypeError):
        raise ValueError(f"found {answers!r:.80} as the answers; expected lists 'text' and 'answer_start'") from None
    if len(texts) != len(starts):
        raise ValueError(f"found {len(texts)} answer(s) and {len(starts)} answer_start(s); expected one for each")
    if not texts:
        raise ValueError("found no answer; expected at least one: leave out questions that the context cannot answer")
    for start in starts:
        if not isinstance(start, int):
            raise ValueError(f"found {start!r} ({type(start).__name__}) as an answer_start; expected a whole number")
    return [expect_text(text, "answer") for text in texts], starts


def _find(answer: str, start: int, context: str) -> int:
    """Return where the answer stands: at `start`, or else at its only place in the context."""
    if start >= 0 and context.startswith(answer, start):
        return start
    places = [place for place in range(len(context)) if context.startswith(answer, place)]
    if len(places) == 1:
        return places[0]
    there = context[start : start + len(answer)] if start >= 0 else ""
    raise ValueError(
        f"found {there!r} at answer_start {start}, and the answer {answer!r} {len(places)} times in the context; "
        "expected it at its answer_start, or once in the context: mend its answer_start or its text"
    )
