"""Tests that the reference pages match the package, and that their examples do what they show."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import atenta
from atenta.recipes import tasks
from support.command import run

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.name for path in (DOCS / "api").glob("*.md"))


def test_every_public_name_has_an_entry():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    entries = re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: atenta\.(\w+)(?![\w.])", pages, re.MULTILINE)
    assert sorted(entries) == sorted(set(atenta.__all__) - {"__version__"})


def test_every_task_has_an_entry():
    page = (DOCS / "api" / "recipes.md").read_text(encoding="utf-8")
    modules = [path.stem for path in Path(tasks.__path__[0]).glob("[!_]*.py")]
    assert not [name for name in modules if f".. automodule:: atenta.recipes.tasks.{name}\n" not in page]


def test_the_modules_named_for_each_document_exist():
    modules = re.findall(r"`(atenta\.[\w.]+)`", (DOCS / "sources.md").read_text(encoding="utf-8"))
    assert modules
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != "command.md"])
def test_a_page_has_an_example_that_does_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "api" / page).read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(>>> .*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        test = doctest.DocTestParser().get_doctest(example, {}, page, page, 0)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_the_example_of_the_command_does_what_it_shows():
    text = (DOCS / "api" / "command.md").read_text(encoding="utf-8")
    ((given, shown),) = re.findall(r'^\$ atenta restore "(.*)"\n(.*)$', text, re.MULTILINE)
    assert run("restore", given).stdout == f"{shown}\n"
