"""Phones that would have to be changed."""

import evaluate
import jiwer

from .inputs import TEXTS, comparable_texts, require_words, split_words


class PhoneErrorRate(evaluate.Metric):
    """`phone_error_rate`: substituted, deleted and inserted phones / all reference phones.

    Both are texts whose phones are parted by spaces, as in `k a z ɐ`: a phone may have several characters. They are
    compared in NFC, with as few edits as possible, over all texts together; 0 is best. The share of words with any
    phone wrong, which grapheme-to-phoneme work calls word error rate, is 1 − `exact_match`.

    Raises:
        ValueError: there are no examples, more of predictions or references, or a reference has no phone.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        require_words(references)
        return {"phone_error_rate": jiwer.wer(references, predictions, split_words, split_words)}
