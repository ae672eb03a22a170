"""Tests of a small site built with the extensions `languages` and `mathml`."""

import io
import re
import sys
from pathlib import Path

import pytest
from sphinx.application import Sphinx

DOCS = Path(__file__).parents[3] / "docs"
PAGES = {
    "index.md": "# Site\n\n[Português](pt/a.md), [English](en/a.md)\n\n```{toctree}\npt/a\nen/a\nen/alone\n```\n",
    "pt/a.md": "# Página\n\n$x$\n\n$$\ny = 1\n$$ (one)\n\n{eq}`one`\n",
    "en/a.md": "# Page\n",
    "en/alone.md": "# Alone\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name, text in PAGES.items():
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_text(text, encoding="utf-8")
    settings = {
        "extensions": ["myst_nb", "languages", "mathml"],
        "myst_enable_extensions": ["dollarmath"],
        "templates_path": [str(DOCS / "_templates")],
        "html_theme": "furo",
        "html_sidebars": {"**": ["language.html"]},
    }
    warnings = io.StringIO()
    sys.path.insert(0, str(DOCS / "_extensions"))
    try:
        app = Sphinx(
            *(folder / "source", None, folder / "html", folder / "doctrees", "html"),
            confoverrides=settings,
            status=None,
            warning=warnings,
        )
        app.build()
    finally:
        sys.path.remove(str(DOCS / "_extensions"))
    assert warnings.getvalue() == ""
    return folder / "html"


def page(site, name):
    return (site / name).read_text(encoding="utf-8")


def test_a_page_declares_its_language(site):
    assert re.search(r'<html[^>]* lang="pt-BR"', page(site, "pt/a.html"))
    assert re.search(r'<html[^>]* lang="en"', page(site, "en/a.html"))


def test_a_page_links_to_the_same_page_in_the_other_language(site):
    assert '<a class="twin" href="../en/a.html" hreflang="en" lang="en">English</a>' in page(site, "pt/a.html")
    assert 'href="../pt/a.html" hreflang="pt-BR" lang="pt-BR">Português</a>' in page(site, "en/a.html")


@pytest.mark.parametrize("name", ["index.html", "en/alone.html"])
def test_a_page_without_a_translation_has_no_language_link(site, name):
    assert 'class="twin"' not in page(site, name)


def test_formulas_need_no_script_and_their_numbers_are_link_targets(site):
    text = page(site, "pt/a.html")
    assert text.count("<math") == 2
    assert not [source for source in re.findall(r'<script[^>]* src="([^"]+)"', text) if "math" in source.lower()]
    (target,) = re.findall(r'href="#([^"]+)">\(1\)', text)
    assert re.search(rf'<div[^>]* id="{target}">\s*<div class="math"><span class="eqno">\(1\)</span><math', text)
