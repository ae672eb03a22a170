"""Outputs that are right as a whole."""

import evaluate

from .inputs import TEXTS, comparable_texts


class ExactMatch(evaluate.Metric):
    """`exact_match`: predictions equal to their reference / all predictions, 0 to 1.

    Both are texts, compared in NFC; case, punctuation and every space count.

    Raises:
        ValueError: there are no examples, or more of predictions or references.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        return {"exact_match": sum(map(str.__eq__, predictions, references)) / len(references)}
