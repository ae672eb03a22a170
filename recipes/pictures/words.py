"""The language of pictures, and of what the course says: English, or Portuguese after `set_language("pt")`."""

PORTUGUESE = {
    # the course's checks
    "Right.": "Certo.",
    "Not yet: try again.": "Ainda não: tente de novo.",
    "No answer yet: put one in place of `...`.": "Ainda sem resposta: escreva uma no lugar de `...`.",
}

_chosen = {"language": "en"}


def set_language(language: str) -> None:
    """Choose the language of the pictures that are drawn from now on.

    Args:
        language: `"en"` or `"pt"`.

    Raises:
        ValueError: If the language is another one.
    """
    if language not in ("en", "pt"):
        raise ValueError(f"language={language!r}; expected 'en' or 'pt'.")
    _chosen["language"] = language


def say(text: str) -> str:
    """Return an English text in the chosen language.

    Raises:
        KeyError: If it has no translation, so that no Portuguese picture is left with an English label.
    """
    return PORTUGUESE[text] if _chosen["language"] == "pt" else text
