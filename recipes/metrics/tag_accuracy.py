"""Words whose tag is right."""

import evaluate

from .inputs import TAGS, comparable_tags


class TagAccuracy(evaluate.Metric):
    """`tag_accuracy`: words tagged as in the reference / all words, 0 to 1.

    Both are lists of tags, one list a sentence and one tag a word, compared in NFC. The figure is over all words
    together, not a mean of each sentence's.

    Raises:
        ValueError: there is no tag at all, there are more of predictions or references, or a sentence has more or
            fewer tags than its reference.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TAGS)

    def _compute(self, predictions, references):
        predictions, references = comparable_tags(predictions, references)
        right = sum(sum(map(str.__eq__, *sentences)) for sentences in zip(predictions, references))
        return {"tag_accuracy": right / sum(map(len, references))}
