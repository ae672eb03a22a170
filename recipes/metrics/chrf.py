"""Runs of characters in common: for outputs that may be right in more than one way."""

import evaluate
import sacrebleu

from .inputs import TEXTS, comparable_texts


class ChrF(evaluate.Metric):
    """`chrf`: how many runs of 1 to 6 characters the predictions share with the references, 0 to 100.

    chrF2 (Popović, 2015, "chrF: character n-gram F-score for automatic MT evaluation") with sacrebleu's defaults:
    precision and recall of each length over all texts together, averaged over the lengths, recall weighing twice as
    much; no word n-grams; spaces are left out. Both are texts, compared in NFC; case counts.

    Raises:
        ValueError: there are no examples, or more of predictions or references.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        return {"chrf": sacrebleu.CHRF().corpus_score(predictions, [references]).score}
