"""Labels that are right, rare ones counting as much as frequent ones."""

import evaluate
import sklearn.metrics

from .inputs import TEXTS, comparable_texts


class MacroF1(evaluate.Metric):
    """`macro_f1`: the mean over labels of each one's F1, 0 to 1.

    A label's F1 is 2 × right / (predicted + expected), by scikit-learn. The labels are all those among predictions
    and references: one that is predicted and never expected, or the other way round, counts as 0. Labels are texts,
    compared in NFC.

    Raises:
        ValueError: there are no examples, or more of predictions or references.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        f1 = sklearn.metrics.f1_score(references, predictions, average="macro", zero_division=0)
        return {"macro_f1": float(f1)}
