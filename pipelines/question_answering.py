"""A pipeline of transformers for questions about a text, for encoders of this package and of others.

transformers 5 has dropped its own. It is saved with the models of this package, and runs without the package.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..tokenization.offsets import character_span
from .saved_pipeline import SavedPipeline

_WINDOWS_AT_ONCE = 16
_SPANS_OF_WORDS = 10  # spans that are looked at for each answer, because several may be extended to the same words
_NO_ANSWER = 0  # the position of <bos>, or [CLS], for no answer (Devlin et al., 2019, section 4.3)
_WORD = re.compile(r"\w+|[^\w\s]")  # what `align_to_words` extends an answer to


class AnswerSpan(NamedTuple):
    """Tokens of a window that answer a question.

    Attributes:
        first: index of the first token.
        last: index of the last token, which is included.
        score: what the start of the first and the end of the last add up to.
    """

    first: int
    last: int
    score: float


def best_spans(
    starts: np.ndarray, ends: np.ndarray, inside: np.ndarray, max_answer_length: int, top_k: int = 1
) -> list[AnswerSpan]:
    """Return the spans with the highest sums of start and end, best first.

    Args:
        starts: (length,), how well an answer starts at each token: logits or log-probabilities.
        ends: (length,), how well it ends there.
        inside: indices of the tokens that may be in an answer, in order.
        max_answer_length: largest number of tokens of a span.
        top_k: number of spans.
    """
    sums = starts[inside, None] + ends[inside]  # (first token, last token)
    is_reversed = np.tri(len(inside), k=-1, dtype=bool)  # the last token precedes the first
    is_short = np.tri(len(inside), k=max_answer_length - 1, dtype=bool)
    sums[is_reversed | ~is_short] = -np.inf
    order = sums.argmax(keepdims=True).ravel() if top_k == 1 else np.argsort(-sums, axis=None, kind="stable")[:top_k]
    found = [(*np.unravel_index(each, sums.shape), sums.flat[each]) for each in order]
    return [
        AnswerSpan(int(inside[first]), int(inside[last]), float(score))
        for first, last, score in found
        if score > -np.inf
    ]


class ExtractiveQuestionAnsweringPipeline(SavedPipeline):
    """The pipeline `question-answering`: the parts of a text that answer a question about it.

    Called with `question=…` and `context=…`, a dictionary of both, or a list of dictionaries. As in transformers 4,
    the result is `{"score": …, "start": …, "end": …, "answer": …}`, where `answer` is `context[start:end]`; a list of
    results for a list; and a list of answers, best first, with `top_k` above 1.

    The score is p(start) · p(end), each a softmax over the tokens of the context in one window, and `<bos>`. Texts
    that do not fit are read in windows that overlap; the same span has the score of its best window.

    Options, of the call or the pipeline:

    - `top_k`: number of answers; there may be fewer. 1 by default.
    - `max_seq_len`: tokens of a window with the question; 512 by default, or fewer if the tokenizer has a limit.
    - `doc_stride`: tokens by which windows overlap; 128 by default, or half of a short window.
    - `max_answer_len`: largest number of tokens of an answer; 15 by default for word pieces, 60 for characters.
    - `max_question_len`: questions with more tokens are refused; no limit by default.
    - `handle_impossible_answer`: whether "no answer" is one of the answers: from 0 to 0, and an empty text.
    - `align_to_words`: whether an answer is extended to whole words and signs, such as `Rio` for `io`. Yes by default.
    - `batch_size`: number of questions that are read together.

    Example:

    ```python
    >>> from transformers import pipeline

    >>> answer = pipeline("question-answering", "outputs/faquad", trust_remote_code=True)
    >>> answer(question="Onde nasceu Machado?", context="Machado nasceu no Rio de Janeiro.")["answer"]
    ```
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not type(self.model).__name__.endswith("ForQuestionAnswering"):
            raise ValueError(
                f"{type(self.model).__name__} does not answer questions, which the pipeline {self.task!r} needs: give "
                "a model that AutoModelForQuestionAnswering loads, with its head."
            )
        if not self.tokenizer.is_fast:
            raise ValueError(f"{type(self.tokenizer).__name__} has no offsets; give a fast tokenizer.")

    def __call__(self, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions; the class says what the options are and what is returned.

        Args:
            args: a dictionary with `question` and `context`, or a list, a generator or a data set of dictionaries.
            question: instead, the question, or a list of questions.
            context: with it, the text that answers it, or one for each question; one text may serve all questions.
            kwargs: options.

        Raises:
            ValueError: If a question or its text is missing, empty or no text, an option is out of range, or a
                question leaves no room for its text.
        """
        if (question is None) != (context is None) or bool(args) == (question is not None) or len(args) > 1:
            raise ValueError(
                f"Found {len(args)} arguments, question={question!r:.40} and context={context!r:.40}; expected "
                'question=… and context=…, or one dictionary {"question": …, "context": …} or list of them.'
            )
        if args:
            return super().__call__(args[0], **kwargs)
        if isinstance(question, str):
            return super().__call__({"question": question, "context": context}, **kwargs)
        contexts = [context] * len(question) if isinstance(context, str) else context
        if len(contexts) != len(question):
            raise ValueError(f"Found {len(question)} questions and {len(contexts)} contexts; expected one for each.")
        rows = [{"question": each, "context": text} for each, text in zip(question, contexts)]
        return super().__call__(rows, **kwargs)

    # transformers declares these methods with any options, and lists fewer types than it accepts.
    def _sanitize_parameters(  # type: ignore[override]
        self,
        top_k: int | None = None,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        max_answer_len: int | None = None,
        max_question_len: int | None = None,
        handle_impossible_answer: bool | None = None,
        align_to_words: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        sizes = {
            "top_k": top_k,
            "max_seq_len": max_seq_len,
            "doc_stride": doc_stride,
            "max_answer_len": max_answer_len,
            "max_question_len": max_question_len,
        }
        for name, value in sizes.items():
            least = 0 if name == "doc_stride" else 1
            if value is not None and value < least:
                raise ValueError(f"{name}={value}; expected {least} or more.")
        choices = {"handle_impossible_answer": handle_impossible_answer, "align_to_words": align_to_words}
        given = {name: value for name, value in (sizes | choices).items() if value is not None}
        return {}, given, {} if top_k is None else {"top_k": top_k}

    def preprocess(self, inputs: Mapping[str, str]) -> dict[str, Any]:  # type: ignore[override]
        """Return the question and its text; `_forward` encodes them."""
        found = {}
        for name in ("question", "context"):
            text = inputs.get(name) if isinstance(inputs, Mapping) else getattr(inputs, f"{name}_text", None)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"Found {text!r:.80} as the {name}; expected a text that is not empty.")
            found[name] = text
        return found

    def _forward(  # type: ignore[override]
        self,
        model_inputs: Mapping[str, Any],
        top_k: int = 1,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        max_answer_len: int | None = None,
        max_question_len: int | None = None,
        handle_impossible_answer: bool = False,
        align_to_words: bool = True,
    ) -> dict[str, Any]:
        questions, contexts = model_inputs["question"], model_inputs["context"]
        is_batch = not isinstance(questions, str)  # of several questions
        if not is_batch:
            questions, contexts = [questions], [contexts]
        window = min(self.tokenizer.model_max_length, max_seq_len or 512)
        stride = min(128, window // 2) if doc_stride is None else doc_stride
        longest = max_answer_len or (60 if self.model.config.model_type.startswith("atenta") else 15)
        self._check_questions(questions, window, stride, max_question_len)
        encoded = self.tokenizer(
            questions,
            contexts,
            split_special_tokens=True,  # a text may have them as characters
            truncation="only_second",
            max_length=window,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        rows = encoded.pop("overflow_to_sample_mapping")
        offsets = encoded.pop("offset_mapping")
        spans: list[dict[tuple[int, int], float]] = [{} for _ in questions]
        no_answer = [1.0] * len(questions)
        for number, starts, ends in self._logits(encoded):
            row = rows[number]
            is_context = np.array([sequence == 1 for sequence in encoded.sequence_ids(number)])
            widths = np.diff(np.array(offsets[number]), axis=1)[:, 0]
            inside = np.flatnonzero(is_context & (widths > 0))
            counted = np.append(inside, _NO_ANSWER)
            starts, ends = _log_softmax(starts, counted), _log_softmax(ends, counted)
            if align_to_words:
                texts = [contexts[row][slice(*offsets[number][token])] for token in inside]
                starts[inside], ends[inside] = (
                    np.where([text.isspace() for text in texts], -np.inf, values[inside]) for values in (starts, ends)
                )
            no_answer[row] = min(no_answer[row], float(np.exp(starts[_NO_ANSWER] + ends[_NO_ANSWER])))
            wanted = top_k * _SPANS_OF_WORDS if align_to_words else top_k
            for found in best_spans(starts, ends, inside, longest, wanted):
                span = character_span(contexts[row], offsets[number], found.first, found.last)
                place = _align(contexts[row], *span) if align_to_words else (span.start, span.end)
                spans[row][place] = max(spans[row].get(place, 0.0), float(np.exp(found.score)))
        if handle_impossible_answer:
            for of_question, score in zip(spans, no_answer):
                of_question[0, 0] = score
        answers = [
            [
                {"score": score, "start": start, "end": end, "answer": context[start:end]}
                for (start, end), score in sorted(found.items(), key=lambda item: -item[1])[:top_k]
            ]
            for context, found in zip(contexts, spans)
        ]
        return {"answers": answers if is_batch else answers[0]}

    def postprocess(  # type: ignore[override]
        self, model_outputs: Mapping[str, Any], top_k: int = 1
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the answer, or the answers."""
        return model_outputs["answers"][0] if top_k == 1 else model_outputs["answers"]

    def _check_questions(self, questions: Sequence[str], window: int, stride: int, limit: int | None) -> None:
        """Refuse questions that are too long, or leave no room for windows that overlap."""
        for question, ids in zip(
            questions, self.tokenizer(questions, add_special_tokens=False, split_special_tokens=True).input_ids
        ):
            if limit is not None and len(ids) > limit:
                raise ValueError(f"The question {question!r:.60} has {len(ids)} tokens; max_question_len is {limit}.")
            if window - len(ids) - self.tokenizer.num_special_tokens_to_add(pair=True) <= stride:
                raise ValueError(
                    f"The question {question!r:.60} has {len(ids)} tokens, which leaves too few for its text in "
                    f"windows of {window} that overlap by {stride}: raise max_seq_len or lower doc_stride."
                )

    def _logits(self, encoded: Mapping[str, Any]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the number of each window, and its start and end logits, (length,) each. Long windows come last."""
        in_order = sorted(range(len(encoded["input_ids"])), key=lambda number: len(encoded["input_ids"][number]))
        for start in range(0, len(in_order), _WINDOWS_AT_ONCE):
            numbers = in_order[start : start + _WINDOWS_AT_ONCE]
            windows = {name: [values[number] for number in numbers] for name, values in encoded.items()}
            outputs = self.model(
                **self.tokenizer.pad(windows, padding_side="right", return_tensors="pt").to(self.device)
            )
            logits = torch.stack([outputs.start_logits, outputs.end_logits]).float().cpu().numpy()
            for index, number in enumerate(numbers):
                length = len(encoded["input_ids"][number])
                yield number, logits[0, index, :length], logits[1, index, :length]


def _log_softmax(logits: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return logits as log-probabilities over the tokens that are counted."""
    largest = logits[counted].max()
    return logits - largest - np.log(np.exp(logits[counted] - largest).sum())


def _align(context: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of the words and signs that a span has a part of."""
    for word in _WORD.finditer(context):
        if word.start() < end and word.end() > start:
            start, end = min(start, word.start()), max(end, word.end())
        elif word.start() >= end:
            break
    return start, end
