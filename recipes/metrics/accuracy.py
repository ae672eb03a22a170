"""Labels that are right."""

import evaluate
import sklearn.metrics

from .inputs import TEXTS, comparable_texts


class Accuracy(evaluate.Metric):
    """`accuracy`: predicted labels equal to the reference's / all labels, 0 to 1.

    Labels are texts, compared in NFC.

    Raises:
        ValueError: there are no examples, or more of predictions or references.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        return {"accuracy": float(sklearn.metrics.accuracy_score(references, predictions))}
