"""Runs of words in common: for translations and other longer texts."""

import evaluate
import sacrebleu

from .inputs import TEXTS, comparable_texts


class Bleu(evaluate.Metric):
    """`bleu`: how many runs of 1 to 4 words of the predictions stand in the references, 0 to 100.

    BLEU over all texts together (Papineni et al., 2002, "BLEU: a method for automatic evaluation of machine
    translation", section 2.3) with sacrebleu's defaults, so that it compares with published figures. Words are made by
    its tokenisation `13a`, that of the WMT campaigns: white space separates them, and ASCII punctuation stands for
    itself ("Olá, mundo!" is 4 words), but a full stop or comma between digits stays with them. Both are texts,
    compared in NFC; case counts. A length of run with no match counts as half a match, the next such as a quarter,
    and so on (`exp` smoothing). It says little about single words: use `chrf` or error rates for those.

    Raises:
        ValueError: there are no examples, or more of predictions or references.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        return {"bleu": sacrebleu.BLEU().corpus_score(predictions, [references]).score}
