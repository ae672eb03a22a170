"""Extractive question answering: rows, windows of a context, answers from logits, scores and baselines."""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from datasets import Features, List, Value
from transformers import PreTrainedTokenizerBase

from atenta import character_span
from atenta.pipelines.question_answering import answers_in_window
from atenta.recipes.metrics import scores
from atenta.recipes.reading.file_formats import read_squad
from atenta.recipes.reading.records import expect_name, expect_text
from atenta.recipes.reading.splits import RowFormat
from atenta.recipes.tasks.task import Answers, Baselines, Row, Task

# The position of the <bos>, for an answer that the window does not contain (Devlin et al., 2019, section 4.3).
_NO_ANSWER = 0


def check_question(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a question, with the position of each answer in the context.

    A wrong `answer_start` is corrected if the answer occurs exactly once in the context. `corrected` is the number of
    such answers; the caller reports their sum.

    Args:
        fields: `id`, `context`, `question` and `answers`, lists `text` and `answer_start` of the same length. Starts
            are counted in characters, from 0, in the context before any normalization.

    Raises:
        ValueError: If a text is missing or blank, there is no answer, the lists differ in length, or an answer is not
            at its `answer_start` and does not occur exactly once in the context.
    """
    context = expect_text(fields.get("context"), "context")
    texts, given = _expect_answers(fields.get("answers"))
    starts = [_find(text, start, context) for text, start in zip(texts, given)]
    return {
        "id": expect_name(fields.get("id"), "id"),
        "context": context,
        "question": expect_text(fields.get("question"), "question"),
        "answers": {"text": texts, "answer_start": starts},
        "corrected": sum(start != was for start, was in zip(starts, given)),
    }


QUESTIONS = RowFormat(
    Features(
        {
            "id": Value("string"),
            "context": Value("string"),
            "question": Value("string"),
            "answers": {"text": List(Value("string")), "answer_start": List(Value("int64"))},
            "corrected": Value("int64"),
        }
    ),
    check_question,
    columns=("id", "context", "question", "answers"),
    readers={".json": read_squad},
    key="id",  # scores are of the answer to each id
    together="context",
)


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
            raise ValueError(f"found {start!r} ({type(start).__name__}) as an answer_start; expected an integer")
    return [expect_text(text, "answer") for text in texts], starts


def _find(answer: str, start: int, context: str) -> int:
    """Return `start` if the answer is there, or else its only position in the context."""
    if start >= 0 and context.startswith(answer, start):
        return start
    places = [place for place in range(len(context)) if context.startswith(answer, place)]
    if len(places) == 1:
        return places[0]
    found = context[start : start + len(answer)] if start >= 0 else ""
    raise ValueError(
        f"found {found!r} at answer_start {start}, and the answer {answer!r} {len(places)} times in the context; "
        "expected it at its answer_start, or once in the context: correct its answer_start or its text"
    )


def encode_questions(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int, stride: int
) -> dict[str, list]:
    """Encode each question with its context, in as many overlapping windows as the context needs.

    Args:
        batch: Columns `id`, `question`, `context` and `answers`. The first answer is the one to predict.
        tokenizer: An encoder's tokenizer.
        max_length: The maximum tokens of a window, the question included.
        stride: The tokens that consecutive windows share. An answer of at most that length is complete in a window.

    Returns:
        One row per window. Each has the output of the tokenizer, `<bos> question <eos> part of the context <eos>`;
        `example_id`, the `id` of the question; `offset_mapping`, the (start, end) of each token in the context, (0, 0)
        outside it; `start_positions` and `end_positions`, the first and last token of the answer, both 0 if the window
        does not contain the complete answer.

    Raises:
        ValueError: If a question leaves at most `stride` tokens for its context.
    """
    for id_, question in zip(batch["id"], tokenizer(batch["question"], split_special_tokens=True).input_ids):
        room = max_length - len(question) - 1  # `question` has its <bos> and <eos>; 1 is the <eos> of the context
        if room <= stride:
            raise ValueError(
                f"found {len(question) - 2} tokens in question {id_}, for which --max_length {max_length} leaves "
                f"{max(room, 0)} tokens of context; expected more than --stride {stride}: raise --max_length or lower "
                "--stride."
            )
    windows = tokenizer(
        batch["question"],
        batch["context"],
        split_special_tokens=True,
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    rows = windows.pop("overflow_to_sample_mapping")
    offsets = [
        [place if sequence == 1 else (0, 0) for place, sequence in zip(places, windows.sequence_ids(window))]
        for window, places in enumerate(windows["offset_mapping"])
    ]
    positions = [
        _positions(of_window, batch["context"][row], batch["answers"][row]) for of_window, row in zip(offsets, rows)
    ]
    return {
        **windows,
        "example_id": [batch["id"][row] for row in rows],
        "offset_mapping": offsets,
        "start_positions": [start for start, _ in positions],
        "end_positions": [end for _, end in positions],
    }


def _positions(offsets: list[tuple[int, int]], context: str, answers: Mapping[str, list]) -> tuple[int, int]:
    """Return the first and last token of the first answer, if the window contains all of it."""
    if not answers["text"]:
        return _NO_ANSWER, _NO_ANSWER
    start = answers["answer_start"][0]
    end = start + len(answers["text"][0])
    inside = np.flatnonzero(np.diff(offsets)[:, 0])  # the tokens of the context
    starts = np.array(offsets)[inside, 0]  # in characters; all bytes of a character have the same start
    window_end = character_span(context, offsets, int(inside[-1]), int(inside[-1])).end
    if start < starts[0] or window_end < end:
        return _NO_ANSWER, _NO_ANSWER
    # A combining mark that was composed with a letter has no token: an answer that begins with it gets the letter.
    first = np.searchsorted(starts, starts[starts <= start][-1])
    last = np.searchsorted(starts, end) - 1
    return int(inside[first]), int(inside[last])


def count_lost_answers(windows: Iterable[Mapping[str, Any]], max_answer_length: int) -> tuple[int, int]:
    """Return how many questions have their answer in no window, and how many one of more than the maximum tokens."""
    lengths: dict[str, int] = {}
    for window in windows:
        start, end = window["start_positions"], window["end_positions"]
        length = 0 if start == _NO_ANSWER else end - start + 1
        lengths[window["example_id"]] = max(length, lengths.get(window["example_id"], 0))
    return list(lengths.values()).count(0), sum(length > max_answer_length for length in lengths.values())


def answers_from_logits(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    windows: Iterable[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    max_answer_length: int,
    align_to_words: bool = False,
) -> list[str]:
    """Return the best answer to each question, in all windows of its context, as the pipeline does.

    Args:
        start_logits: (windows, length); values after the end of a window are padding.
        end_logits: Like `start_logits`.
        windows: The output of `encode_questions`, in the order of the logits.
        rows: The questions, each with an `id` of its own and its `context`.
        max_answer_length: The maximum tokens of an answer.
        align_to_words: Whether answers begin and end with whole words or signs.

    Returns:
        One answer for each of `rows`, a substring of its context.
    """
    contexts = {row["id"]: row["context"] for row in rows}
    best = dict.fromkeys(contexts, (-np.inf, ""))
    for window, of_start, of_end in zip(windows, start_logits, end_logits):
        id_, context = window["example_id"], contexts[window["example_id"]]
        offsets = window["offset_mapping"]
        found, _ = answers_in_window(of_start, of_end, context, offsets, max_answer_length, align_to_words)
        for start, end, score in found:
            if score > best[id_][0]:
                best[id_] = score, context[start:end]
    return [answer for _, answer in best.values()]


# Baselines


def random_spans(train: Iterable[Row], rows: Iterable[Row], seed: int) -> list[str]:
    """Return for each question a random sequence of consecutive words of its `context`.

    Its number of words is that of a random answer among the accepted `answers` of training. Its first word is drawn
    uniformly from those after which enough words follow. A context with fewer words is returned completely. Words are
    separated by white space.
    """
    lengths = [len(text.split()) for row in train for text in row["answers"]["text"]]
    chance = random.Random(seed)

    def answer(context: str) -> str:
        words = list(re.finditer(r"\S+", context))
        length = min(chance.choice(lengths), len(words))
        first = chance.randint(0, len(words) - length)
        return context[words[first].start() : words[first + length - 1].end()]

    return [answer(row["context"]) for row in rows]


def most_similar_sentences(rows: Iterable[Row]) -> list[str]:
    """Return for each question the sentence of its `context` sharing most words with it (the first on ties).

    Sentences end with `.`, `!` or `?` before white space; upper and lower case are the same.
    """

    def answer(row: Row) -> str:
        asked = _words(row["question"])
        sentences = re.split(r"(?<=[.!?])\s+", row["context"].strip())
        return max(sentences, key=lambda sentence: len(asked & _words(sentence)))

    return [answer(row) for row in rows]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class QuestionTask(Task):
    """Answers to questions, cut out of their contexts.

    Its options are named as the pipeline names them, which reads them too: `max_seq_len`, `doc_stride`,
    `max_answer_len` and `align_to_words`.
    """

    kind = "question-answering"
    row_format = QUESTIONS
    columns = ("question", "context")

    def score(self, rows: Sequence[Row], answers: Answers) -> dict[str, float]:
        """Return exact match and F1, each compared with all accepted answers."""
        return scores(["squad"], predictions=answers, references=[row["answers"]["text"] for row in rows])

    def baselines(self, train: Sequence[Row] | None = None, seed: int = 0) -> Baselines:
        """Return those that draw an answer, with a seed, and that compare words; only after training."""
        if train is None:
            return {}
        return {
            "random span": partial(random_spans, train, seed=seed),
            "most similar sentence": most_similar_sentences,
        }
