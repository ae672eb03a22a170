"""What is no text is refused before anything is made of it."""

from typing import Any


def check_texts(texts: Any, name: str = "text") -> None:
    """Refuse what cannot be tokenized: anything that is not a string, and strings with half a surrogate pair.

    Args:
        texts: a text, or lists and tuples of texts, of pairs or of words, nested as a tokenizer takes them.
        name: what to call `texts` in the message.

    Raises:
        TypeError: something that is not a string, with its place and type.
        ValueError: a lone surrogate (U+D800 to U+DFFF), which is no character and has no bytes, with its place.
    """
    if isinstance(texts, list | tuple):
        for index, item in enumerate(texts):
            check_texts(item, f"{name}[{index}]")
    elif not isinstance(texts, str):
        raise TypeError(f"{name} is {texts!r}, of type {type(texts).__name__}. Give a string.")
    else:
        try:
            texts.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} holds a lone surrogate, U+{ord(texts[error.start]):04X}, at position {error.start}. "
                "It is half a character: read the text again as UTF-8, or remove it."
            ) from None
