"""Tests that the reference pages match the package."""

import importlib.util
import re
from pathlib import Path

import atenta

DOCS = Path(__file__).parents[2] / "docs"


def test_every_public_name_has_an_entry():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    entries = re.findall(r"^\.\. auto(?:class|function|data):: atenta\.(\w+)(?![\w.])", pages, re.MULTILINE)
    assert sorted(entries) == sorted(set(atenta.__all__) - {"__version__"})


def test_the_modules_named_for_each_document_exist():
    modules = re.findall(r"`(atenta\.[\w.]+)`", (DOCS / "sources.md").read_text(encoding="utf-8"))
    assert modules
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []
