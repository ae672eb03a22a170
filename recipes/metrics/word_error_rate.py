"""Words, or phones, that would have to be changed."""

import evaluate
import jiwer

from .inputs import TEXTS, comparable_texts, require_words, split_words


class WordErrorRate(evaluate.Metric):
    """`word_error_rate`: substituted, deleted and inserted words / all reference words.

    0 is best, and long predictions can bring it above 1. Both are texts, compared in NFC; words are what white space
    separates. Edits are as few as possible (Levenshtein distance, counted by jiwer), and the figure is over all texts
    together, not a mean of each text's.

    Raises:
        ValueError: there are no examples, more of predictions or references, or a reference has no word.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        require_words(references)
        return {"word_error_rate": jiwer.wer(references, predictions, split_words, split_words)}
