"""Sphinx extension for pages in two languages.

Each page declares its language and links to its translation. The theme's words are Portuguese on Portuguese pages,
which have a search page of their own, and English on all others.
"""

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

LANGUAGES = {"pt": ("pt-BR", "Português"), "en": ("en", "English")}  # folder: (language tag, name)
OTHER = {"pt": "en", "en": "pt"}
SEARCH = "pesquisa"  # the Portuguese search page; in the root, since links of results start from there

# What the templates of the theme and ours say, and the writer's and the tree's attributes.
PORTUGUESE = {
    "Back to top": "Voltar ao início",
    "Download the notebook": "Baixar o caderno",
    "Error": "Erro",
    "Home": "Início",
    "Index": "Índice",
    "Made with ": "Feito com ",
    "Next": "Próxima",
    "On this page": "Nesta página",
    "Open in Binder": "Abrir no Binder",
    "Open in Colab": "Abrir no Colab",
    "Please activate JavaScript to enable the search functionality.": "A busca precisa de JavaScript.",
    "Previous": "Anterior",
    "Search": "Buscar",
    "Skip to content": "Pular para o conteúdo",
}
ATTRIBUTES = {
    "Link to this code": "Link para este código",
    "Link to this definition": "Link para esta definição",
    "Link to this equation": "Link para esta equação",
    "Link to this heading": "Link para este título",
    "Link to this image": "Link para esta imagem",
    "Link to this table": "Link para esta tabela",
    "Toggle Light / Dark / Auto color theme": "Mudar as cores: claras, escuras ou automáticas",
    "Toggle hidden content": "Mostrar ou esconder o código",
    "Toggle navigation of ": "Abrir ou fechar: ",
    "Toggle site navigation sidebar": "Abrir ou fechar o menu do site",
    "Toggle table of contents sidebar": "Abrir ou fechar o índice da página",
}
ENTRIES = {"Reference": "Referência (em inglês)", "The five documents": "Os cinco documentos"}  # of the site's menu

_ATTRIBUTE = re.compile(rf'(?<=(?:title|label)=")(?:{"|".join(map(re.escape, ATTRIBUTES))})')
_ENTRY = re.compile(rf"(?<=>)(?:{'|'.join(map(re.escape, ENTRIES))})(?=</a>)")


def in_portuguese(html: str) -> str:
    """Return the HTML of a page's body with the attributes in Portuguese that no translation function is asked for."""
    return _ATTRIBUTE.sub(lambda found: ATTRIBUTES[found[0]], html)


def add_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Set `language` for the template, and `twin` (link, tag, name) if the page has a translation.

    On a Portuguese page the functions by which templates translate words are ours.
    """
    folder, _, name = ("pt/" if page == SEARCH else page).partition("/")
    if folder not in LANGUAGES:
        return
    context["language"], _ = LANGUAGES[folder]
    other = OTHER[folder]
    if f"{other}/{name}" in app.env.found_docs:
        context["twin"] = (context["pathto"](f"{other}/{name}"), *LANGUAGES[other])
    if folder == "pt":
        pathto = context["pathto"]
        context["pathto"] = lambda target, *options: pathto(SEARCH if target == "search" else target, *options)
        context["gettext"] = lambda word: PORTUGUESE.get(word, word)  # `_` and `trans` look for it here, too
        context["in_portuguese"] = in_portuguese
        context["furo_navigation_tree"] = _ENTRY.sub(
            lambda found: ENTRIES[found[0]], context.get("furo_navigation_tree", "")
        )


def add_search(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the Portuguese search page."""
    yield SEARCH, {}, "search.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to each HTML page, after the theme has made its menu."""
    app.connect("html-page-context", add_language, priority=600)
    app.connect("html-collect-pages", add_search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
