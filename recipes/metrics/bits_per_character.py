"""How well a language model foresees text, whatever its tokens are."""

import math

import datasets
import evaluate

from .inputs import in_nfc


class BitsPerCharacter(evaluate.Metric):
    """Three figures over all texts together; the lower, the better.

    - `bits_per_character`: nats / ln 2 / characters.
    - `character_perplexity`: exp(nats / characters), which is 2 to the power of `bits_per_character`.
    - `word_perplexity`: exp(nats / words), to compare with models of words; infinite where a float cannot hold it.

    `predictions` are the nats of each text: minus the natural logarithm of the probability that the model gives it.
    `references` are the texts, whose characters are the code points of their NFC, spaces and line ends among them,
    and whose words are what white space separates. A model that also foresees where texts end may count that in the
    nats; it adds no character.

    Raises:
        ValueError: the texts hold no word, there are more of predictions or references, or nats are negative.
    """

    def _info(self):
        features = datasets.Features(
            {"predictions": datasets.Value("float64"), "references": datasets.Value("string")}
        )
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=features)

    def _compute(self, predictions, references):
        words = sum(len(text.split()) for text in references)
        if not words:
            raise ValueError(f"found no word in {len(references)} references; expected at least one")
        for index, nats in enumerate(predictions):
            if nats < 0:
                raise ValueError(f"found {nats} nats for text {index}; expected minus its log-probability, 0 or more")
        nats = math.fsum(predictions)
        characters = sum(map(len, in_nfc(references)))
        return {
            "bits_per_character": nats / math.log(2) / characters,
            "character_perplexity": _exp(nats / characters),
            "word_perplexity": _exp(nats / words),
        }


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
