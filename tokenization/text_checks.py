"""Checks of what goes into a model, texts, and of what comes out of it, numbers."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
Texts: TypeAlias = Collection[str]
"""A list or tuple of texts, or a column of them of datasets, pandas or NumPy."""


def check_texts(texts: str | Sequence, name: str = "text") -> None:
    """Raise an error if an input is not a text, before any of it is tokenized.

    `AtentaTokenizer` calls this function. Call it yourself before a tokenizer loaded by `AutoTokenizer`, whose errors
    do not give the position.

    Args:
        texts: a text, or a list or tuple of texts, of pairs or of lists of words, nested to any depth.
        name: name of the input in errors.

    Raises:
        TypeError: If an item is not a str. The message gives its position and value.
        ValueError: If a text has a lone surrogate, which is half of a UTF-16 character and not a Unicode character.
    """
    if isinstance(texts, str):
        _check_surrogates(texts, name)
    elif isinstance(texts, (list, tuple)):
        for index, text in enumerate(texts):
            check_texts(text, f"{name}[{index}]")
    else:
        raise TypeError(
            f"`{name}` is {texts!r:.80} ({type(texts).__name__}), expected a str, or a list or tuple of str. "
            "Convert it to str, or leave it out."
        )


def list_of_texts(texts: Texts, name: str = "texts") -> list[str]:
    """Return texts as a list.

    Raises:
        TypeError: If it is not a sequence, or an item is not a str. The message gives its position and value.
        ValueError: If a text has a lone surrogate.
    """
    found = list(check_sequence(texts, name, "a list or tuple of str, or a column of a table"))
    for index, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"`{name}[{index}]` is {text!r:.80} ({type(text).__name__}), expected a str.")
        _check_surrogates(text, f"{name}[{index}]")
    return list(map(str, found))  # an array of NumPy has a type of its own for its items


def check_sequence(items: Collection[T], name: str, expected: str) -> Collection[T]:
    """Return what is a sequence of items, or raise a TypeError that says what was expected.

    A column of datasets or pandas is one, and an array of one dimension; a text, a set, a dictionary, a table is not.
    """
    is_row = isinstance(items, Collection) and getattr(items, "ndim", 1) == 1
    if not is_row or isinstance(items, str | bytes | Mapping | Set):
        found = " ".join(repr(items).split())  # of a table, several lines
        raise TypeError(f"`{name}` is {found:.80} ({type(items).__name__}), expected {expected}.")
    return items


def flat_texts(texts: str | Sequence | None) -> Iterator[str]:
    """Yield each text of an input that `check_texts` accepts; of `None`, no text."""
    if isinstance(texts, str):
        yield texts
    elif texts is not None:
        for text in texts:
            yield from flat_texts(text)


def _check_surrogates(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`{name}` has the lone surrogate {text[error.start]!r} at position {error.start}, which is half of a "
            "character. Read the source with its correct encoding, or join or replace the surrogates: "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')."
        ) from None


def check_outputs(*outputs: "np.ndarray") -> None:
    """Check that outputs of a model are finite. Finite weights give others if they are damaged, or too large.

    Raises:
        ValueError: If a number is infinite or NaN.
    """
    import numpy as np  # here, because texts are checked where it is not needed

    if not all(np.isfinite(values).all() for values in outputs):
        raise ValueError(
            "The outputs of the model are not finite numbers, because weights are damaged or too large; expected "
            "those of a trained model: save it again, or train it again."
        )
