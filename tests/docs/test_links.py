"""Tests of the links of pages that are read in the repository; the build of the site checks those of the site."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "benchmarks", "recipes", "recipes/data", "recipes/data/portugues", "recipes/launch", "results")
PAGES = [
    "docs/README.md",
    *(str(path.relative_to(ROOT)) for each in FOLDERS for path in sorted((ROOT / each).glob("*.md"))),
]


def tokens(path):
    for token in MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8")):
        yield from [token, *(token.children or [])]


def links(path):
    for token in tokens(path):
        yield from (str(token.attrs[name]) for name in ("href", "src") if name in token.attrs)
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r'(?:href|src)="([^"]+)"', token.content)


def anchors(path):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    all_tokens = list(tokens(path))
    titles = (
        "".join(part.content for part in inline.children)
        for opening, inline in pairwise(all_tokens)
        if opening.type == "heading_open"
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    broken = []
    for link in links(ROOT / page):
        if re.match(r"[a-z]+:", link):
            continue  # the network
        name, _, anchor = unquote(link).partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize(
    ("page", "language", "other"), [("README.md", "en", "README.pt.md"), ("README.pt.md", "pt", "README.md")]
)
def test_a_readme_is_short_and_its_first_screen_leads_on(page, language, other):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    first_screen = set(re.findall(r'[("]([^()"\s]+)[)"]', text.partition("\n## ")[0]))
    assert {
        f"docs/{language}/index.md",
        f"docs/_static/restored.{language}.svg",
        f"results/{page}",
        other,
    } <= first_screen
