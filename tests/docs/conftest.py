"""Small sites, built with the extensions, templates and style of the real one, and pages with its scripts."""

import io
import re
import sys
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = re.findall(
    r'"(\w+\.js)"', (DOCS / "conf.py").read_text(encoding="utf-8")
)  # those of all pages, in their order
NOTEBOOK = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""
PAGE = """<!DOCTYPE html><html lang="{language}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src file:; style-src file:">
{head}<article>{article}</article>"""


@pytest.fixture(scope="session")
def build_site():
    """Return a function that builds pages, texts by their names, in a folder, and returns where their HTML is.

    Further arguments are settings of Sphinx. A warning fails the test. A page with code cells is a notebook.
    """

    def build(folder, pages, **settings):
        for name, text in pages.items():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            head = NOTEBOOK if "{code-cell}" in text else ""
            (folder / "source" / name).write_text(head + text, encoding="utf-8")
        common = {
            "myst_enable_extensions": ["amsmath", "dollarmath"],
            "nb_execution_mode": "off",
            "templates_path": [str(DOCS / "_templates")],
            "html_theme": "furo",
            "html_copy_source": False,
            "html_show_sphinx": False,
        }
        folders = (folder / "source", None, folder / "html", folder / "doctrees")
        warnings = io.StringIO()
        sys.path.insert(0, str(DOCS / "_extensions"))
        try:
            with docutils_namespace():  # a process may build several sites
                Sphinx(*folders, "html", confoverrides=common | settings, status=None, warning=warnings).build()
        finally:
            sys.path.remove(str(DOCS / "_extensions"))
        assert warnings.getvalue() == ""
        return folder / "html"

    return build


@pytest.fixture(params=[(390, "pt-BR", "dark"), (1280, "en", "light")], ids=["phone", "screen"])
def reader(request):
    """The options of `open_page` for a Portuguese reader with a phone, and for an English one with a wide screen."""
    width, language, scheme = request.param
    return {"language": language, "viewport": {"width": width, "height": 900}, "color_scheme": scheme}


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens an article with the site's scripts, from a file, as from a disk.

    In the end no page may be wider than its window, or have written to the console.
    """
    contexts, messages = [], []

    def open_article(article, language="en", **options):
        head = "".join(f'<script defer src="{(DOCS / "_static" / script).as_uri()}"></script>' for script in SCRIPTS)
        head += f'<link rel="stylesheet" href="{(DOCS / "_static" / "laboratory.css").as_uri()}">'
        html = PAGE.format(language=language, head=head, article=article)
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        context.on("console", lambda message: messages.append(message.text))
        context.on("weberror", lambda error: messages.append(str(error.error)))
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_article
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        context.close()
    assert messages == []
