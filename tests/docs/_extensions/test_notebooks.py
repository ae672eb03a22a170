"""Tests of the notebooks that the site offers, on a small site, and of what Colab and Binder install."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from sphinx.errors import ConfigError

from docs._extensions.notebooks import colab_setup, to_notebook

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = "https://github.com/ana/atenta"
CODE = "```{code-cell} ipython3\nx = 1\n```\n"
SOLUTION = '<details class="solution">\n<summary>Solution 1</summary>'
PAGE = f"""# Page

See [other](b.md#part), [documents](../sources.md) and [elsewhere](https://example.org/c.md).

{CODE}
## Solutions

{SOLUTION}

First this.

{CODE}
Then that.

{CODE}
</details>

The end.
"""
INDEX = "# Site\n\n```{toctree}\nen/a\nen/b\nsources\n```\n"
PAGES = {"index.md": INDEX, "en/a.md": PAGE, "en/b.md": "(part)=\n# Part\n", "sources.md": "# Sources\n"}
EXTENSIONS = ["myst_nb", "notebooks"]


@pytest.fixture(scope="module")
def site(tmp_path_factory, build_site):
    return build_site(tmp_path_factory.mktemp("site"), PAGES, extensions=EXTENSIONS)


@pytest.fixture
def page(site):
    return site.parent / "source" / "en" / "a.md"


@pytest.fixture(scope="module")
def public_site(tmp_path_factory, build_site):
    return build_site(tmp_path_factory.mktemp("public"), PAGES, extensions=EXTENSIONS, repository=ADDRESS + ".git")


def links(site, name):
    return re.findall(r'<a href="([^"]+)"[^>]*>(.*?)</a>', (site / name).read_text(encoding="utf-8").split("<h1")[0])


def test_a_page_with_code_links_to_its_notebook(site):
    assert ("a.ipynb", "Download the notebook (.ipynb)") in links(site, "en/a.html")
    notebook = nbformat.read(site / "en" / "a.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == ["x = 1"] * 3
    assert notebook.metadata["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("name", ["en/b", "sources", "index"])
def test_a_page_without_code_has_no_notebook(site, name):
    assert not (site / f"{name}.ipynb").exists()
    assert "notebook-links" not in (site / f"{name}.html").read_text(encoding="utf-8")


def test_without_an_address_there_are_no_buttons(site):
    text = (site / "en" / "a.html").read_text(encoding="utf-8")
    assert "colab" not in text.lower()
    assert "binder" not in text.lower()
    assert "colab" not in (site / "en" / "a.ipynb").read_text(encoding="utf-8")


def test_with_an_address_there_are_buttons_of_colab_and_binder(public_site):
    found = links(public_site, "en/a.html")
    colab = "https://colab.research.google.com/github/ana/atenta/blob/gh-pages/en/a.ipynb"
    binder = "https://mybinder.org/v2/gh/ana/atenta/main?urlpath=lab/tree/docs/en/a.ipynb"
    assert found[-3:] == [
        ("a.ipynb", "Download the notebook (.ipynb)"),
        (colab, "Open in Colab"),
        (binder, "Open in Binder"),
    ]
    first = nbformat.read(public_site / "en" / "a.ipynb", as_version=4).cells[0]
    assert first.source == colab_setup(ADDRESS)


@pytest.mark.parametrize("address", ["github.com/ana/atenta", "https://gitlab.com/ana/atenta", f"{ADDRESS}/tree/main"])
def test_an_address_that_the_buttons_cannot_use_is_an_error(tmp_path, build_site, address):
    with pytest.raises(ConfigError, match=r"expected https://github\.com/OWNER/NAME"):
        build_site(tmp_path, PAGES, extensions=EXTENSIONS, repository=address)


def test_what_is_folded_stays_so_in_each_cell(page):
    cells = to_notebook(page).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert texts[1:] == [
        f"## Solutions\n\n{SOLUTION}\n\nFirst this.\n\n</details>",
        f"{SOLUTION}\n\nThen that.\n\n</details>",
        "The end.",
    ]
    hidden = [cell.metadata.get("jupyter") for cell in cells if cell.cell_type == "code"]
    assert hidden == [None, {"source_hidden": True}, {"source_hidden": True}]


def test_links_lead_to_the_repository_if_there_is_one(page):
    assert "[other](b.md#part), [documents](../sources.md)" in to_notebook(page).cells[0].source
    text = to_notebook(page, ADDRESS, "en").cells[1].source
    assert f"[other]({ADDRESS}/blob/main/docs/en/b.md#part)" in text
    assert f"[documents]({ADDRESS}/blob/main/docs/sources.md)" in text
    assert "(https://example.org/c.md)" in text


def test_the_cell_for_colab_does_nothing_elsewhere():
    code = colab_setup(ADDRESS)
    lines = [re.sub(r"[!%].*", "install()", line) for line in code.splitlines()]
    exec(compile(ast.parse("\n".join(lines)), "cell", "exec"), {})  # `install` is not defined


def test_the_cell_for_colab_installs_extras_that_there_are():
    (extras,) = re.findall(r"\[([\w,]+)\]", colab_setup(ADDRESS))
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    assert f"atenta[{extras}]" in PROJECT["optional-dependencies"]["docs"]  # what the site's build runs pages with


def test_binder_installs_the_project_with_a_torch_that_it_accepts():
    environment = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text(encoding="utf-8"))
    versions = dict(re.split(r"(?<=\w)(?=[=>])|$", each, maxsplit=1) for each in environment["dependencies"])
    (torch,) = [each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "torch"]
    assert versions["pytorch-cpu"] == str(torch.specifier)
    assert SpecifierSet(PROJECT["requires-python"]).contains(versions["python"].removeprefix("="))
    script = ROOT / ".binder" / "postBuild"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert script.stat().st_mode & 0o111
    (extra,) = re.findall(r'pip install --quiet --editable "\.\[(\w+)\]"', script.read_text(encoding="utf-8"))
    assert extra in PROJECT["optional-dependencies"]


def test_binder_writes_notebooks_beside_the_pages(tmp_path, page):
    line = (ROOT / ".binder" / "postBuild").read_text(encoding="utf-8").splitlines()[-1]
    assert line == "python docs/_extensions/notebooks.py docs/pt docs/en"
    for name in ("a.md", "b.md"):
        shutil.copy(page.with_name(name), tmp_path)
    subprocess.run([sys.executable, DOCS / "_extensions" / "notebooks.py", tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "a.md", "b.md"]
    assert json.loads((tmp_path / "a.ipynb").read_text(encoding="utf-8"))["cells"]
