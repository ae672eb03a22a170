"""Sphinx extension for pages in two languages: each declares its language and links to its translation."""

from typing import Any

from sphinx.application import Sphinx

LANGUAGES = {"pt": ("pt-BR", "Português"), "en": ("en", "English")}  # folder: (language tag, name)
OTHER = {"pt": "en", "en": "pt"}


def add_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Set `language` for the template, and `twin` (link, tag, name) if the page has a translation."""
    folder, _, name = page.partition("/")
    if folder not in LANGUAGES:
        return
    context["language"], _ = LANGUAGES[folder]
    other = OTHER[folder]
    if f"{other}/{name}" in app.env.found_docs:
        context["twin"] = (context["pathto"](f"{other}/{name}"), *LANGUAGES[other])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to each HTML page."""
    app.connect("html-page-context", add_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
