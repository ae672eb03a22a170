"""Characters that would have to be changed."""

import evaluate
import jiwer

from .inputs import TEXTS, comparable_texts, require_words


class CharacterErrorRate(evaluate.Metric):
    """`character_error_rate`: substituted, deleted and inserted characters / all reference characters.

    0 is best, and long predictions can bring it above 1. Both are texts, compared in NFC; characters are code points,
    spaces among them. Edits are as few as possible (Levenshtein distance, counted by jiwer), and the figure is over
    all texts together, not a mean of each text's.

    Raises:
        ValueError: there are no examples, more of predictions or references, or a reference has no word.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TEXTS)

    def _compute(self, predictions, references):
        predictions, references = comparable_texts(predictions, references)
        require_words(references)
        return {"character_error_rate": jiwer.cer(references, predictions, _split_characters, _split_characters)}


def _split_characters(texts: list[str]) -> list[list[str]]:
    # jiwer's own default strips each text; here a space too many is an error like any other.
    return [list(text) for text in texts]
