"""Answers cut out of a text: right as a whole, and words in common."""

import re
import string
from collections import Counter

import datasets
import evaluate

from .inputs import in_nfc

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Squad(evaluate.Metric):
    """Two means over all questions, 0 to 1 (the SQuAD script prints 100 times as much).

    - `exact_match`: whether the answer is one of those accepted.
    - `f1`: 2 × words in common / (words of the answer + words of the accepted one), of the accepted answer for which
      this is highest; 0 without a word in common.

    As in SQuAD 1.1 (Rajpurkar et al., 2016, "SQuAD: 100,000+ questions for machine comprehension of text", section
    6.1) both are compared in lower case, without ASCII punctuation and the English articles "a", "an" and "the", and
    words are what white space separates. This holds for other languages too, so that figures compare with those
    published (FaQuAD's are counted this way): of the Portuguese articles only "a" goes, and “ ” « » – stay. Texts are
    in NFC besides.

    `predictions` are texts ("" for no answer) and `references` lists of one or more accepted texts.

    Raises:
        ValueError: there are no examples, more of predictions or references, or a question has no accepted answer.
    """

    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": datasets.List(text)})
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=features)

    def _compute(self, predictions, references):
        if not references:
            raise ValueError("found no references; expected at least one")
        for index, accepted in enumerate(references):
            if not accepted:
                raise ValueError(f"found no accepted answer as reference {index}; expected at least one in each")
        answers = [_words(answer) for answer in in_nfc(predictions)]
        accepted_answers = [[_words(text) for text in in_nfc(accepted)] for accepted in references]
        exact = [answer in accepted for answer, accepted in zip(answers, accepted_answers)]
        f1 = [max(_f1(answer, text) for text in accepted) for answer, accepted in zip(answers, accepted_answers)]
        return {"exact_match": sum(exact) / len(exact), "f1": sum(f1) / len(f1)}


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _f1(answer: list[str], accepted: list[str]) -> float:
    common = (Counter(answer) & Counter(accepted)).total()
    return 2 * common / (len(answer) + len(accepted)) if common else 0.0
