"""How close outputs are to the texts expected: words, whole texts and characters, counted by jiwer."""

import unicodedata
from collections.abc import Sequence

import jiwer

# jiwer's own default for characters strips each text; here a space too many is an error like any other.
_CHARACTERS = jiwer.Compose([jiwer.ReduceToListOfListOfChars()])


def score(references: Sequence[str], hypotheses: Sequence[str]) -> dict[str, float]:
    """Compare each hypothesis with its reference, both in NFC, and return three figures over all of them.

    - `word_accuracy`: reference words that the hypotheses got right / all reference words, 0 to 1. Words are what
      white space separates. Right are the words that jiwer matches when it turns the reference into the hypothesis
      with the fewest substituted, deleted and inserted words; of several such ways it is the one jiwer finds. Words
      too many cost nothing of themselves, and an empty hypothesis has none right.
    - `exact_match`: hypotheses equal to their reference, spaces included / all hypotheses, 0 to 1.
    - `character_error_rate`: substituted, deleted and inserted characters / all reference characters; 0 is best, and
      long hypotheses can bring it above 1. Characters are code points, spaces among them.

    Raises:
        ValueError: if the two differ in length, if they are empty, or if a reference has no word.
    """
    if len(references) != len(hypotheses):
        raise ValueError(f"found {len(references)} references and {len(hypotheses)} hypotheses; expected one for each")
    if not references:
        raise ValueError("found no references; expected at least one")
    references = [unicodedata.normalize("NFC", text) for text in references]
    hypotheses = [unicodedata.normalize("NFC", text) for text in hypotheses]
    for index, reference in enumerate(references):
        if not reference.strip():
            raise ValueError(f"found {reference!r} as reference {index}; expected at least one word in each")

    # jiwer parts words at the space alone: other white space is made a space first.
    words = jiwer.process_words([" ".join(r.split()) for r in references], [" ".join(h.split()) for h in hypotheses])
    characters = jiwer.process_characters(references, hypotheses, _CHARACTERS, _CHARACTERS)
    return {
        "word_accuracy": words.hits / (words.hits + words.substitutions + words.deletions),
        "exact_match": sum(r == h for r, h in zip(references, hypotheses)) / len(references),
        "character_error_rate": characters.cer,
    }
