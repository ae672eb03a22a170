"""Predictors for each kind of model: they turn lines into texts, labels, tags, answers or filled masks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


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
        format: the format by default.
    """

    columns: Sequence[str] = ()
    json_fields: Sequence[str] = ("text",)
    format = "text"

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the results for lines, each given by its fields."""
        raise NotImplementedError


class TextPredictor(Predictor):
    """An encoder-decoder or a decoder: the generated texts."""

    columns = ("output", "score")

    def __init__(self, generate: Callable[[list[Mapping[str, Any]]], list[list[tuple[str, float]]]]) -> None:
        self._generate = generate

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the texts that the model generates for each line, best first."""
        return [
            Prediction(
                ranked[0][0] if ranked else "",
                [(text, f"{score:.6f}") for text, score in ranked],
                {"outputs": [{"text": text, "score": score} for text, score in ranked]},
            )
            for ranked in self._generate(list(fields))
        ]


class LabelPredictor(Predictor):
    """A classifier: the label and its probability."""

    columns = ("label", "probability")

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the most probable label of each line."""
        found = []
        for outputs in self._engine.predict([each["text"] for each in fields]):
            probabilities = _softmax(outputs["logits"])
            labels = [self._engine.config["id2label"][str(index)] for index in range(len(probabilities))]
            best = int(probabilities.argmax())
            record = {"label": labels[best], "probabilities": dict(zip(labels, map(float, probabilities)))}
            found.append(Prediction(labels[best], [(labels[best], f"{probabilities[best]:.6f}")], record))
        return found


class TagPredictor(Predictor):
    """A tagger of words, which white space parts: the tag of each, read at its first character, as in training."""

    columns = ("word", "tag", "probability")

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the words of each line with their tags; as text, a line for each word, as in CoNLL files."""
        rows = [each.get("words") or each["text"].split() for each in fields]
        encode, id2label = self._engine.tokenizer.encode, self._engine.config["id2label"]
        outputs = iter(self._engine.predict([" ".join(words) for words in rows if words]))
        found = []
        for words in rows:
            tagged = []
            if words:
                probabilities = _softmax(next(outputs)["logits"])
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
    """A tagger of characters: the restored text."""

    columns = ("restored",)

    def __init__(self, restorer: Any, min_confidence: float) -> None:
        self._restorer, self._min_confidence = restorer, min_confidence

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the restored text of each line, and in JSON the probability of each character."""
        restored = self._restorer.restore([each["text"] for each in fields], self._min_confidence)
        return [
            Prediction(
                each.text, [(each.text,)], {"restored": each.text, "probabilities": each.probabilities.tolist()}
            )
            for each in restored
        ]


class AnswerPredictor(Predictor):
    """A model that answers questions: the part of the context, from lines of JSON."""

    columns = ("answer", "start", "end", "score")
    json_fields = ("question", "context")

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return the best answer to each question."""
        rows = [{name: each[name] for name in self.json_fields} for each in fields]
        names = ("answer", "start", "end", "score")
        return [Prediction(each["answer"], [[each[name] for name in names]], each) for each in self._answer(rows)]


class MaskPredictor(Predictor):
    """An encoder that fills in masks: the text with the most probable character at each `<mask>`."""

    columns = ("filled",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def predict(self, fields: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return each line with its masks filled in, all at once."""
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


def _softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)
