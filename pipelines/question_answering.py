"""A pipeline of transformers for questions about a text, for encoders of this package and of others.

transformers 5 has dropped its own. It is saved with the models of this package, and runs without the package.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from ..generation_options import is_whole
from ..tokenization.offsets import character_span
from ..tokenization.text_checks import check_outputs, check_texts
from .saved_pipeline import SavedPipeline

_WINDOWS_AT_ONCE = 16
_LEAST = {"top_k": 1, "max_seq_len": 1, "doc_stride": 0, "max_answer_len": 1, "max_question_len": 1}
_SWITCHES = ("handle_impossible_answer", "align_to_words")
_NO_ANSWER = 0  # the position of <bos>, or [CLS], for no answer (Devlin et al., 2019, section 4.3)


class AnswerSpan(NamedTuple):
    """A part of a context that answers a question.

    Attributes:
        start: its first character.
        end: the character after its last.
        score: log p(start) + log p(end), each a softmax over the tokens of the context in a window, and `<bos>`.
    """

    start: int
    end: int
    score: float


def answers_in_window(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    context: str,
    offsets: Sequence[tuple[int, int]],
    max_answer_len: int,
    align_to_words: bool = True,
    top_k: int = 1,
) -> tuple[list[AnswerSpan], float]:
    """Return the best answers in a window of a context, best first, and the score of having none.

    Args:
        start_logits: (length,), how well an answer starts at each token of the window; padding may follow.
        end_logits: (length,), how well it ends there.
        context: the whole context.
        offsets: (start, end) of each token in the context, and (0, 0) outside it.
        max_answer_len: largest number of tokens of an answer.
        align_to_words: whether an answer begins and ends with whole words or signs. It does not where a window is
            within a word.
        top_k: number of answers; there may be fewer.
    """
    places = np.array(offsets)
    inside = np.flatnonzero(places[:, 1] > places[:, 0])
    starts, ends = (_log_softmax(logits, np.append(inside, _NO_ANSWER)) for logits in (start_logits, end_logits))
    no_answer = float(starts[_NO_ANSWER] + ends[_NO_ANSWER])
    if not len(inside):
        return [], no_answer
    starts, ends, places = starts[inside], ends[inside], places[inside]
    is_new = np.append(True, places[1:, 0] != places[:-1, 0])  # all bytes of a character have its place
    can_start, can_end = is_new, np.append(is_new[1:], True)
    found: list[tuple[int, int, float]] = []
    if align_to_words:
        is_first, is_last = _word_borders(context, places)
        found = _best_spans(starts, ends, can_start & is_first, can_end & is_last, max_answer_len, top_k)
    if not found:
        found = _best_spans(starts, ends, can_start, can_end, max_answer_len, top_k)
    answers = []
    for first, last, score in found:
        span = character_span(context, offsets, int(inside[first]), int(inside[last]))
        answers.append(AnswerSpan(span.start, span.end, score))
    return answers, no_answer


def _best_spans(
    starts: np.ndarray, ends: np.ndarray, can_start: np.ndarray, can_end: np.ndarray, longest: int, top_k: int
) -> list[tuple[int, int, float]]:
    """Return the first token, the last token and the sum of the spans with the highest sums of start and end."""
    is_possible = can_start[:, None] & can_end  # (first token, last token)
    sums: np.ndarray = np.where(is_possible, starts[:, None] + ends, -np.inf)
    is_reversed = np.tri(len(starts), k=-1, dtype=bool)  # the last token precedes the first
    is_short = np.tri(len(starts), k=longest - 1, dtype=bool)
    sums[is_reversed | ~is_short] = -np.inf
    order = [sums.argmax()] if top_k == 1 else np.argsort(-sums, axis=None, kind="stable")[:top_k]
    found = [(*np.unravel_index(each, sums.shape), sums.flat[each]) for each in order]
    return [(int(first), int(last), float(score)) for first, last, score in found if score > -np.inf]


def _word_borders(context: str, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which tokens begin a word or are a sign, and which end one, (tokens,) each, without white space."""
    in_word, is_mark, is_space = _describe_characters(context)
    starts, ends = places.T
    after = ends.copy()
    has_no_token = np.append(starts[1:] != ends[:-1], True)  # what follows, such as a mark composed with its letter
    for number in np.flatnonzero(has_no_token & is_mark[ends]):
        while is_mark[after[number]]:
            after[number] += 1
    # Before the first character is the last element, no word.
    is_first = ~(in_word[starts] & in_word[starts - 1]) & ~is_space[starts]
    is_last = ~(in_word[ends - 1] & in_word[after]) & ~is_space[ends - 1]
    return is_first, is_last


@lru_cache(maxsize=16)  # a context has several windows
def _describe_characters(context: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which characters belong to words, are marks and are white space; one that is none of them is added."""
    kinds = [unicodedata.category(character)[0] for character in context]
    in_word = [kind in "LMN" or character == "_" for kind, character in zip(kinds, context)]
    is_mark, is_space = [kind == "M" for kind in kinds], [character.isspace() for character in context]
    return np.array([*in_word, False]), np.array([*is_mark, False]), np.array([*is_space, False])


class ExtractiveQuestionAnsweringPipeline(SavedPipeline):
    """The pipeline `question-answering`: the parts of a text that answer a question about it.

    Called with `question=…` and `context=…`, a dictionary of both, or a list of dictionaries. As in transformers 4,
    the result is `{"score": …, "start": …, "end": …, "answer": …}`, where `answer` is `context[start:end]`; a list of
    results for a list; and a list of answers, best first, with `top_k` above 1.

    The score is p(start) · p(end), each a softmax over the tokens of the context in one window, and `<bos>`. Texts
    that do not fit are read in windows that overlap; the same span has the score of its best window.

    Options, of the call or the pipeline. Those that the model was scored with are saved in its configuration, under
    `question-answering` of `task_specific_params`; the defaults below are for models that have none there.

    - `top_k`: number of answers; there may be fewer. 1 by default.
    - `max_seq_len`: tokens of a window with the question; 512 by default, or fewer if the tokenizer has a limit.
    - `doc_stride`: tokens by which windows overlap; 128 by default, or half of a short window.
    - `max_answer_len`: largest number of tokens of an answer; 15 by default for word pieces, 60 for characters.
    - `max_question_len`: questions with more tokens are refused; no limit by default.
    - `handle_impossible_answer`: whether "no answer" is one of the answers: from 0 to 0, and an empty text. It is the
      only one for a text of which the tokenizer reads nothing.
    - `align_to_words`: whether an answer begins and ends with whole words or signs: `Rio`, not `io`. Yes by default;
      not for languages written without spaces.
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
        saved = getattr(self.model.config, "task_specific_params", None) or {}
        try:
            _, options, after = self._sanitize_parameters(**saved.get("question-answering", {}))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"task_specific_params of the model's config.json: {error}") from None
        self._forward_params = options | self._forward_params
        self._postprocess_params = after | self._postprocess_params

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
        self, **options: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        given = {name: value for name, value in options.items() if value is not None}
        for name, value in given.items():
            if name not in (*_LEAST, *_SWITCHES):
                raise TypeError(f"There is no option {name}; expected one of {', '.join([*_LEAST, *_SWITCHES])}.")
            if name in _SWITCHES and not isinstance(value, bool):
                raise ValueError(f"{name}={value!r:.60}; expected True or False.")
            if name in _LEAST and not is_whole(value, _LEAST[name]):
                raise ValueError(f"{name}={value!r:.60}; expected {_LEAST[name]} or more.")
        return {}, given, {"top_k": given["top_k"]} if "top_k" in given else {}

    def preprocess(self, inputs: Mapping[str, str]) -> dict[str, Any]:  # type: ignore[override]
        """Return the question and its text; `_forward` encodes them."""
        found = {}
        for name in ("question", "context"):
            text = inputs.get(name) if isinstance(inputs, Mapping) else None
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"Found {text!r:.80} as the {name}; expected a text that is not empty.")
            check_texts(text, name)
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
        no_answer = [0.0] * len(questions)
        for number, starts, ends in self._logits(encoded):
            row = rows[number]
            places = [
                place if sequence == 1 else (0, 0)
                for place, sequence in zip(offsets[number], encoded.sequence_ids(number))
            ]
            found, none = answers_in_window(starts, ends, contexts[row], places, longest, align_to_words, top_k)
            no_answer[row] = min(no_answer[row], none)
            for start, end, score in found:
                spans[row][start, end] = max(spans[row].get((start, end), -np.inf), score)
        for of_question, score in zip(spans, no_answer):
            # Without an answer, the text has no character that is read.
            if handle_impossible_answer or not of_question:
                of_question[0, 0] = score
        answers = [
            [
                {"score": float(np.exp(score)), "start": start, "end": end, "answer": context[start:end]}
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
                check_outputs(logits[:, index, :length])
                yield number, logits[0, index, :length], logits[1, index, :length]


def _log_softmax(logits: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return logits as log-probabilities over the tokens that are counted."""
    largest = logits[counted].max()
    return logits - largest - np.log(np.exp(logits[counted] - largest).sum())
