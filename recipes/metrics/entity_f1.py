"""Named entities that were found whole, with the right type."""

import evaluate
from seqeval.metrics import sequence_labeling

from .inputs import TAGS, comparable_tags


class EntityF1(evaluate.Metric):
    """Three figures, 0 to 1, over the entities of all sentences together and all types (the micro average).

    - `precision`: predicted entities that are right / predicted entities.
    - `recall`: predicted entities that are right / reference entities.
    - `f1`: their harmonic mean, 2 × right / (predicted + reference).

    Right is an entity with the first word, last word and type of one in the reference; 0 / 0 counts as 0. Both are
    lists of tags, one list a sentence and one tag a word (`O`, `B-PERSON`, `I-PERSON`), compared in NFC. Entities are
    read as conlleval, the CoNLL-2000 shared task's program, reads them (seqeval's default): `B-` begins one, and so
    does an `I-` that continues none of its type.

    Raises:
        ValueError: there is no tag at all, there are more of predictions or references, a sentence has more or fewer
            tags than its reference, or a tag is none of those three.
    """

    def _info(self):
        return evaluate.MetricInfo(description=self.__doc__, citation="", features=TAGS)

    def _compute(self, predictions, references):
        predictions, references = comparable_tags(predictions, references)
        for tag in {tag for sentence in predictions + references for tag in sentence}:
            if tag != "O" and not (tag.startswith(("B-", "I-")) and len(tag) > 2):
                raise ValueError(f"found the tag {tag!r}; expected O, or B- or I- and a type, as in B-PERSON")
        precision, recall, f1, _ = sequence_labeling.precision_recall_fscore_support(
            references, predictions, average="micro", zero_division=0
        )
        return {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
