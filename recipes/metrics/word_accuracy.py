"""Reference words that were got right."""

import evaluate
import jiwer

from .inputs import TEXTS, comparable_texts, require_words, split_words


class WordAccuracy(evaluate.Metric):
    """`word_accuracy`: reference words that the predictions got right / all reference words, 0 to 1.

    Both are texts, compared in NFC; words are what white space separates. Right are the words that jiwer matches when
    it turns the reference into the prediction with the fewest substituted, deleted and inserted words; of several
    such ways it is the one jiwer finds. Words too many cost nothing of themselves (`word_error_rate` counts them),
    and an empty prediction has none right.

    Raises:
        ValueError: there are no examples, more of predictions or references, or a reference has no word.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        require_words(references)
        words = jiwer.process_words(references, predictions, split_words, split_words)
        return {"word_accuracy": words.hits / (words.hits + words.substitutions + words.deletions)}
