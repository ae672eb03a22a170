"""What the metrics share: the columns they take, and how these are made ready to be compared."""

import unicodedata
from collections.abc import Sequence

import datasets

TEXTS = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
TAGS = datasets.Features(
    {"predictions": datasets.List(datasets.Value("string")), "references": datasets.List(datasets.Value("string"))}
)


def in_nfc(texts: Sequence[str]) -> list[str]:
    """Return each text in NFC, so that a letter and its accent compare equal however they are encoded."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def comparable_texts(predictions: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return both in NFC.

    Raises:
        ValueError: there are none.
    """
    if not references:
        raise ValueError("found no references; expected at least one")
    return in_nfc(predictions), in_nfc(references)


def comparable_tags(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return both in NFC.

    Raises:
        ValueError: there is no tag at all, or a sentence has more or fewer tags than its reference.
    """
    if not any(references):
        raise ValueError(f"found no tags in {len(references)} references; expected at least one")
    for index, (prediction, reference) in enumerate(zip(predictions, references)):
        if len(prediction) != len(reference):
            raise ValueError(
                f"found {len(prediction)} tags in prediction {index} and {len(reference)} in its reference; "
                "expected one for each word in both"
            )
    return [in_nfc(tags) for tags in predictions], [in_nfc(tags) for tags in references]


def require_words(references: Sequence[str]) -> None:
    """Check that there is something to count errors against in each reference.

    Raises:
        ValueError: one holds nothing but white space.
    """
    for index, reference in enumerate(references):
        if not reference.strip():
            raise ValueError(f"found {reference!r} as reference {index}; expected at least one word in each")


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text: what white space separates (jiwer's own default parts them at spaces alone)."""
    return [text.split() for text in texts]
