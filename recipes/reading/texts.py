"""What the checks of all tasks ask of a text and of a name."""

from typing import Any


def expect_text(value: Any, name: str) -> str:
    """Return the value if it is a text that is not blank and has no lone surrogate; `name` says what it is.

    Raises:
        ValueError: it is no such text; the message says what was found and what is expected.
    """
    if value is None:
        raise ValueError(f"found no {name}; expected a text")
    if not isinstance(value, str):
        raise ValueError(f"found {value!r:.80} ({type(value).__name__}) as the {name}; expected a text")
    if not value.strip():
        raise ValueError(f"found an empty {name}; expected at least one character that is not a space")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"found the lone surrogate {value[error.start]!r} at position {error.start} of the {name}; "
            "expected whole characters: write the file anew from its source, in UTF-8"
        ) from None
    return value


def expect_name(value: Any, name: str) -> str:
    """Return what names a class or a row: a text, or a whole number, which is written out.

    Raises:
        ValueError: as in `expect_text`.
    """
    return expect_text(str(value) if isinstance(value, int) else value, name)
