"""Pages in two languages: each tells browsers its own and links to the same page in the other."""

from typing import Any

from sphinx.application import Sphinx

LANGUAGES = {"pt": ("pt-BR", "Português"), "en": ("en", "English")}  # folder: tag for browsers, name
OTHER = {"pt": "en", "en": "pt"}


def add_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the page's template its `language`, and for pages of either folder the `twin`: link, tag and name."""
    folder, _, name = page.partition("/")
    if folder not in LANGUAGES:
        return
    context["language"], _ = LANGUAGES[folder]
    other = OTHER[folder]
    if f"{other}/{name}" in app.env.found_docs:
        context["twin"] = (context["pathto"](f"{other}/{name}"), *LANGUAGES[other])


def setup(app: Sphinx) -> dict[str, Any]:
    """Run on each page."""
    app.connect("html-page-context", add_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
