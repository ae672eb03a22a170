"""Tests of a small site built with the extensions `languages` and `mathml`."""

import re

import pytest
from fontTools.ttLib import TTFont

PAGES = {
    "index.md": "# Site\n\n[Em português](pt/a.md)\n\n```{toctree}\npt/a\nen/a\nReference <api>\n```\n",
    "pt/a.md": "# Página\n\n$x$\n\n$$\ny = 1\n$$ (one)\n\n{eq}`one`\n\n## Parte\n\nReference\n",
    "en/a.md": "# Votes\n\n## Part\n\nReference\n",
    "api.md": "# API\n\n```{toctree}\nen/alone\n```\n",
    "en/alone.md": "# Alone\n",
}

ENGLISH = re.compile(
    r"\b(toggle|link to|this|page|next|previous|search|home|skip|back|with|index|content)\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def site(tmp_path_factory, build_site):
    return build_site(
        tmp_path_factory.mktemp("site"),
        PAGES,
        extensions=["myst_nb", "languages", "mathml"],
        html_sidebars={"**": ["sidebar/search.html", "language.html", "sidebar/navigation.html"]},
    )


def page(site, name):
    return (site / name).read_text(encoding="utf-8")


def test_a_page_declares_its_language_and_links_to_its_translation(site):
    assert re.search(r'<html[^>]* lang="pt-BR"', page(site, "pt/a.html"))
    assert re.search(r'<html[^>]* lang="en"', page(site, "en/a.html"))
    assert '<a class="twin" href="../en/a.html" hreflang="en" lang="en">English</a>' in page(site, "pt/a.html")
    assert 'href="../pt/a.html" hreflang="pt-BR" lang="pt-BR">Português</a>' in page(site, "en/a.html")
    for name in ("index.html", "en/alone.html"):
        assert 'class="twin"' not in page(site, name)


def texts(html):
    """Return what a page says: the texts between tags, and the attributes that are read aloud or shown."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", "", html, flags=re.DOTALL)
    shown = re.findall(r' (?:title|aria-label|placeholder)="([^"]*)"', html) + re.findall(r">([^<]+)<", html)
    return {" ".join(text.split()) for text in shown} - {""}


def test_the_words_of_the_theme_are_portuguese_on_portuguese_pages(site):
    ours = {"Nesta página", "Próxima", "Início", "Buscar", "Pular para o conteúdo", "Voltar ao início", "Feito com"}
    assert ours <= texts(page(site, "pt/a.html"))
    theirs = {"On this page", "Next", "Search", "Skip to content", "Back to top", "Made with"}
    assert theirs <= texts(page(site, "en/a.html"))
    assert not [word for word in texts(page(site, "pt/a.html")) if ENGLISH.search(word)]


def test_words_in_a_portuguese_text_are_left_alone(site):
    assert "<p>Reference</p>" in page(site, "pt/a.html")
    assert ">Referência (em inglês)</a>" in page(site, "pt/a.html")
    assert ">Reference</a>" in page(site, "en/a.html")


def test_portuguese_pages_have_a_search_page_of_their_own(site):
    assert 'action="../pesquisa.html"' in page(site, "pt/a.html")
    assert 'action="../search.html"' in page(site, "en/a.html")
    search = page(site, "pesquisa.html")
    assert '<html class="no-js" lang="pt-BR"' in search
    assert "<title>Buscar - " in search
    assert 'src="searchindex.js"' in search


def test_formulas_need_no_script_and_their_numbers_are_link_targets(site):
    text = page(site, "pt/a.html")
    assert text.count("<math") == 2
    assert not [source for source in re.findall(r'<script[^>]* src="([^"]+)"', text) if "math" in source.lower()]
    (target,) = re.findall(r'href="#([^"]+)">\(1\)', text)
    assert re.search(rf'<div[^>]* id="{target}">\s*<div class="math"><span class="eqno">\(1\)</span><math', text)


def test_the_font_of_formulas_says_where_exponents_are(site):
    constants = TTFont(site / "_static" / "Formulas.ttf")["MATH"].table.MathConstants
    assert 0 < constants.SuperscriptBaselineDropMax.Value < constants.SuperscriptShiftUp.Value
