"""Predictors for each kind of model: they turn lines into texts, labels, tags, answers or filled masks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from atenta.command.problems import Problems
from atenta.command.text_lines import warn_of_tabs
from atenta.engines.kinds import class_names, saved_options
from atenta.engines.token_search import log_softmax


@dataclass(frozen=True)
class Prediction:
    """The result for a line.

    Attributes:
        text: as text.
        rows: as rows of a table, without the line itself.
        record: as an object of JSON.
    """

    text: str
    rows: Sequence[Sequence[Any]]
    record: Mapping[str, Any]


class Predictor:
    """A kind of model and what it makes of lines.

    Attributes:
        columns: names of the columns of a row, after `text`.
        json_fields: the fields that a JSON line must have.
        record_fields: the fields of a record that are not those of its line.
        reads_pairs: whether a JSON line may have a second text, `text_pair`.
    """

    columns: Sequence[str] = ()
    json_fields: Sequence[str] = ("text",)
    record_fields: Sequence[str] = ()
    reads_pairs = False

    @cached_property
    def problems(self) -> Problems:
        """What is suspicious about outputs."""
        return Problems()

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the results for lines, each given by its fields and by `where` it is.

        Raises:
            ValueError: As in [`Predictor.predict_in_parts`].
        """
        return list(chain.from_iterable(self.predict_in_parts(fields)))

    def predict_in_parts(self, fields: Sequence[Mapping[str, Any]]) -> Iterator[list[Prediction]]:
        """Yield the results for lines: all at once or, if one of them is refused, those before it in parts.

        Raises:
            ValueError: If the model cannot read a line. The message begins with the place of the first such line.
        """
        try:
            pairs = [each["text_pair"] for each in fields if each.get("text_pair") is not None]
            if pairs and not self.reads_pairs:
                raise ValueError(f"found the text_pair {pairs[0]!r:.80}; expected none: the model reads single texts.")
            predictions = self._predict(fields)
        except ValueError as error:
            if len(fields) > 1:  # halves, until the line that is refused is alone
                middle = len(fields) // 2
                yield from self.predict_in_parts(fields[:middle])
                yield from self.predict_in_parts(fields[middle:])
                return
            place = fields[0].get("where", "") if fields else ""
            raise ValueError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None
        yield predictions

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        raise NotImplementedError


class TextPredictor(Predictor):
    """An encoder-decoder or a decoder: the generated texts, best first.

    Those of a decoder begin with the prompt, unless it was trained on prompts and answers: it gives the answer.
    """

    columns = ("output", "score")
    record_fields = ("outputs",)

    def __init__(self, generate: Callable[[list[Mapping[str, Any]], Problems], list[list[tuple[str, float]]]]) -> None:
        self._generate = generate

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        return [
            Prediction(
                ranked[0][0] if ranked else "",
                [(text, f"{score:.6f}") for text, score in ranked],
                {"outputs": [{"text": text, "score": score} for text, score in ranked]},
            )
            for ranked in self._generate(list(fields), self.problems)
        ]


class LabelPredictor(Predictor):
    """A classifier of texts, or of pairs of texts: the most probable label."""

    columns = ("label", "probability")
    record_fields = ("label", "probabilities")

    def __init__(self, engine: Any) -> None:
        self._engine, self._labels = engine, class_names(engine.config)
        problem = engine.config.get("problem_type")
        if problem in ("regression", "multi_label_classification") or len(self._labels) < 2:
            raise ValueError(
                f"the model has {len(self._labels)} label(s) and the problem_type {problem}; expected one that gives "
                "a text one of several labels: use transformers' pipeline text-classification."
            )
        saved = saved_options(engine.config, "text-classification")
        self.reads_pairs = saved.get("text_pairs", True)  # older models do not say what they were trained on

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        warn_of_tabs(fields)
        outputs: dict[int, Any] = {}  # by the number of the line: texts and pairs are read apart
        for is_pair in (False, True):
            of_kind = {n: each for n, each in enumerate(fields) if (each.get("text_pair") is not None) == is_pair}
            texts, pairs = ([each.get(name) for each in of_kind.values()] for name in ("text", "text_pair"))
            if of_kind:  # a model without a segment for second texts refuses even none of them
                outputs |= zip(of_kind, self._engine.predict(texts, pairs if is_pair else None))
        found = []
        for number in range(len(fields)):
            probabilities = np.exp(log_softmax(outputs[number]["logits"]))
            labels = [self._labels[str(index)] for index in range(len(probabilities))]
            best = int(probabilities.argmax())
            record = {"label": labels[best], "probabilities": dict(zip(labels, map(float, probabilities)))}
            found.append(Prediction(labels[best], [(labels[best], f"{probabilities[best]:.6f}")], record))
        return found


class TagPredictor(Predictor):
    """A tagger of words, which white space parts: the tag of each, read at its first character, as in training.

    As text, each word has a line, as in CoNLL files.
    """

    columns = ("word", "tag", "probability")
    record_fields = ("tags", "probabilities")  # `words` are those of the line, if it has them

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        warn_of_tabs(fields)
        rows = [each["text"].split() if each.get("words") is None else each["words"] for each in fields]
        encode, id2label = self._engine.tokenizer.encode, class_names(self._engine.config)
        outputs = iter(self._engine.predict([" ".join(words) for words in rows if words]))
        found = []
        for words in rows:
            tagged = []
            if words:
                probabilities = np.exp(log_softmax(next(outputs)["logits"]))
                lengths = [len(ids) - 2 for ids in encode(words)]  # without <bos> and <eos>
                firsts = np.cumsum([1, *(length + 1 for length in lengths[:-1])])  # a space parts two words
                for word, of_word in zip(words, probabilities[firsts]):
                    best = int(of_word.argmax())
                    tagged.append((word, id2label[str(best)], float(of_word[best])))
            text = "".join(f"{word}\t{tag}\n" for word, tag, _ in tagged)
            record = {name: [each[index] for each in tagged] for index, name in enumerate(("words", "tags"))}
            record["probabilities"] = [each[2] for each in tagged]
            found.append(Prediction(text, [(word, tag, f"{share:.6f}") for word, tag, share in tagged], record))
        return found


class CharacterPredictor(Predictor):
    """A tagger of characters: the restored text, and in JSON the probability of each character."""

    columns = ("restored",)
    record_fields = ("restored", "probabilities")

    def __init__(self, restorer: Any, min_confidence: float) -> None:
        self._restorer, self._min_confidence = restorer, min_confidence

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        restored = self._restorer.restore([each["text"] for each in fields], self._min_confidence)
        return [
            Prediction(
                each.text, [(each.text,)], {"restored": each.text, "probabilities": each.probabilities.tolist()}
            )
            for each in restored
        ]


class AnswerPredictor(Predictor):
    """A model that answers questions: the part of the context, from lines of JSON."""

    columns = record_fields = ("answer", "start", "end", "score")
    json_fields = ("question", "context")

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        rows = [{name: each[name] for name in self.json_fields} for each in fields]
        return [
            Prediction(each["answer"], [[each[name] for name in self.columns]], each) for each in self._answer(rows)
        ]


class MaskPredictor(Predictor):
    """An encoder that fills in masks: the text with the most probable character at each `<mask>`, all at once."""

    columns = ("filled",)
    record_fields = ("filled",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def _predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        texts = [each["text"] for each in fields]
        tokenizer, found = self._engine.tokenizer, []
        for ids, outputs in zip(tokenizer.encode(texts), self._engine.predict(texts)):
            logits = outputs.get("logits", outputs.get("prediction_logits"))
            filled = [
                int(best) if token == tokenizer.mask_token_id else token for token, best in zip(ids, logits.argmax(-1))
            ]
            text = tokenizer.decode(filled)
            found.append(Prediction(text, [(text,)], {"filled": text}))
        return found
