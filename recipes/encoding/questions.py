"""Questions on texts: windows of a text that a model can read whole, and answers read back from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from atenta import character_span

NOT_HERE = 0  # position of an answer that the window does not hold: the <bos>'s (Devlin et al., 2019, section 4.3)


def encode_questions(
    batch: Mapping[str, list], tokenizer: PreTrainedTokenizerBase, max_length: int, stride: int
) -> dict[str, list]:
    """Encode each question with its context, in as many overlapping windows of the context as it takes.

    Args:
        batch: columns `id`, `question`, `context` and `answers`; of several answers the first is learned.
        tokenizer: an encoder's.
        max_length: most tokens of a window, the question included.
        stride: tokens that a window has in common with the next: an answer no longer than that is whole in one.

    Returns:
        A row each window: what the tokenizer gives, `<bos> question <eos> part of the context <eos>`; `example_id`,
        the question's `id`; `offset_mapping`, the (start, end) in the context of each token, (0, 0) outside it;
        `start_positions` and `end_positions`, the answer's first and last token, both 0 where the window does not
        hold all of it.

    Raises:
        ValueError: a question leaves no more than `stride` tokens to its context.
    """
    for id_, question in zip(batch["id"], tokenizer(batch["question"], split_special_tokens=True).input_ids):
        room = max_length - len(question) - 1  # its <bos> and <eos> are counted, the context's <eos> is not
        if room <= stride:
            raise ValueError(
                f"found {len(question) - 2} tokens in question {id_}, which --max_length {max_length} leaves "
                f"{max(room, 0)} tokens of context; expected more than --stride {stride}: raise the one or lower the "
                "other."
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
    """First and last token of the first answer, if the window holds all of it."""
    if not answers["text"]:
        return NOT_HERE, NOT_HERE
    start = answers["answer_start"][0]
    end = start + len(answers["text"][0])
    inside = _tokens_of_context(offsets)
    starts = np.array(offsets)[inside, 0]  # in characters; the bytes of one character have one start
    window_end = character_span(context, offsets, int(inside[-1]), int(inside[-1])).end
    if start < starts[0] or window_end < end:
        return NOT_HERE, NOT_HERE
    # A mark that was folded into a letter has no token: an answer that starts with it starts with the letter.
    first = np.searchsorted(starts, starts[starts <= start][-1])
    last = np.searchsorted(starts, end) - 1
    return int(inside[first]), int(inside[last])


def _tokens_of_context(offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.flatnonzero(np.diff(offsets)[:, 0])


def answers_from_logits(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    windows: Iterable[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    max_answer_length: int,
) -> list[str]:
    """Read the best answer to each question: the span of context, of all windows, with the highest sum of logits.

    Args:
        start_logits: (windows, length); what stands beyond a window's own length is padding.
        end_logits: like `start_logits`.
        windows: what `encode_questions` made, in the order of the logits.
        rows: the questions, with their `id` and `context`.
        max_answer_length: most tokens of an answer.

    Returns:
        One answer for each of `rows`, as it stands in the context.

    Raises:
        ValueError: the windows are not those of the rows, or two rows have one `id`.
    """
    windows, rows = list(windows), list(rows)
    contexts = {row["id"]: row["context"] for row in rows}
    of_windows = {window["example_id"] for window in windows}
    if len(contexts) < len(rows) or of_windows != contexts.keys():
        raise ValueError(
            f"found {len(rows)} questions with {len(contexts)} ids, and windows of {len(of_windows)}; expected "
            "an id for each question, and the windows of just these questions."
        )
    best = dict.fromkeys(contexts, (-np.inf, ""))
    for window, of_start, of_end in zip(windows, start_logits, end_logits):
        context, offsets = contexts[window["example_id"]], window["offset_mapping"]
        inside = _tokens_of_context(offsets)
        scores = of_start[inside, None] + of_end[inside]  # (first token, last token)
        too_late = np.tri(len(inside), k=-1, dtype=bool)  # the last token stands before the first
        short_enough = np.tri(len(inside), k=max_answer_length - 1, dtype=bool)
        scores[too_late | ~short_enough] = -np.inf
        first, last = np.unravel_index(scores.argmax(), scores.shape)
        if scores[first, last] > best[window["example_id"]][0]:
            span = character_span(context, offsets, int(inside[first]), int(inside[last]))
            best[window["example_id"]] = scores[first, last], context[span.start : span.end]
    return [answer for _, answer in best.values()]
