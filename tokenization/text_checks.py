"""What can be tokenized: text, made of characters. All else is refused by name and place."""

from collections.abc import Sequence


def check_texts(texts: str | Sequence, name: str = "text") -> None:
    """Refuse what is no text before any of it is tokenized.

    The package's own tokenizer calls it. Call it yourself before a tokenizer that `AutoTokenizer` loaded: that one
    raises an error without the place.

    Args:
        texts: a text, or a list or tuple of texts, of pairs or of lists of words, however deep.
        name: what the errors call it.

    Raises:
        TypeError: something is not a str. The message says where it stands and what it is.
        ValueError: a text holds a lone surrogate, half of a character of UTF-16, which no encoding of Unicode has.
    """
    if isinstance(texts, str):
        _check_surrogates(texts, name)
    elif isinstance(texts, (list, tuple)):
        for index, text in enumerate(texts):
            check_texts(text, f"{name}[{index}]")
    else:
        raise TypeError(
            f"`{name}` is {texts!r:.80} ({type(texts).__name__}), expected a str, or a list or tuple of str. "
            "Convert it, or leave it out."
        )


def _check_surrogates(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`{name}` has the lone surrogate {text[error.start]!r} at position {error.start}, which is half of a "
            "character. Read the source with its right encoding, or join or replace the surrogates: "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')."
        ) from None
