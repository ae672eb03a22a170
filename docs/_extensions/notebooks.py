"""Sphinx extension that puts a Jupyter notebook beside each page with code cells, for reading and running elsewhere.

`python docs/_extensions/notebooks.py FOLDER…` writes them beside the Markdown files of the folders, as Binder's image
does.
"""

import re
import sys
from pathlib import Path
from posixpath import normpath
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

SITE_BRANCH = "gh-pages"  # of the repository, where the built site is published: Colab opens notebooks of branches
SOURCE_BRANCH = "main"

_TAG = re.compile(r"<details\b[^>]*>\s*<summary>.*?</summary>|</details>", re.DOTALL)
_EMPTY = re.compile(r"<details\b[^>]*>\s*<summary>(?:(?!</summary>).)*</summary>\s*</details>", re.DOTALL)
_LINK = re.compile(r"\]\((?P<path>[\w./]+\.md)(?P<anchor>#[\w-]+)?\)")
_GITHUB = re.compile(r"https://github\.com/(?P<name>[\w.-]+/[\w.-]+)")


def to_notebook(path: Path, repository: str = "", folder: str = "") -> NotebookNode:
    """Return a page in MyST Markdown as a notebook without outputs. What is folded stays so in each cell.

    With the address of the repository, a first cell for Colab installs a clone of it, and links lead to it. The folder
    is that of the page in `docs`.
    """
    notebook = jupytext.read(path)
    _fold(notebook)
    if repository:
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = _LINK.sub(lambda link: f"]({_address(link, repository, folder)})", cell.source)
        notebook.cells.insert(0, new_code_cell(colab_setup(repository), metadata={"tags": ["colab"]}, id="colab"))
    return notebook


def colab_setup(repository: str) -> str:
    """Return the code of a cell that does nothing unless it is run in Colab."""
    return f"""# In Colab: a clone of the project, with the sample texts that the package leaves out.
import site
import sys

if "google.colab" in sys.modules:
    !git clone --quiet --depth 1 {repository} course
    %pip install --quiet --editable "./course[energy,recipes,search]"
    site.main()  # finds what was installed after the start"""


def _fold(notebook: NotebookNode) -> None:
    opening = ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if opening:
                cell.metadata["jupyter"] = {"source_hidden": True}
            continue
        before = opening
        for tag in _TAG.findall(cell.source):
            opening = "" if tag == "</details>" else tag
        cell.source = f"{before}\n\n{cell.source}" if before else cell.source
        cell.source = f"{cell.source}\n\n</details>" if opening else cell.source
        cell.source = _EMPTY.sub("", cell.source).strip()
    notebook.cells = [cell for cell in notebook.cells if cell.source]


def _address(link: re.Match[str], repository: str, folder: str) -> str:
    path = normpath(f"docs/{folder}/{link['path']}")
    return f"{repository}/blob/{SOURCE_BRANCH}/{path}{link['anchor'] or ''}"


def _has_code(path: Path) -> bool:
    return "\n```{code-cell}" in path.read_text(encoding="utf-8")


def add_notebook(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the page's notebook, and set `notebook` for the template: its file name, and links in Colab and Binder."""
    folder, _, name = page.partition("/")
    if doctree is None or not name or not _has_code(source := Path(app.env.doc2path(page))):
        return
    repository = app.config.repository
    target = Path(app.outdir, f"{page}.ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    jupytext.write(to_notebook(source, repository, folder), target)
    context["notebook"] = {"file": target.name}
    if repository:
        hub = _GITHUB.fullmatch(repository)["name"]
        context["notebook"] |= {
            "colab": f"https://colab.research.google.com/github/{hub}/blob/{SITE_BRANCH}/{page}.ipynb",
            "binder": f"https://mybinder.org/v2/gh/{hub}/{SOURCE_BRANCH}?urlpath=lab/tree/docs/{page}.ipynb",
        }


def check_repository(app: Sphinx, config: Any) -> None:
    """Check that Colab and Binder can read from the repository."""
    config.repository = config.repository.removesuffix("/").removesuffix(".git")
    if config.repository and not _GITHUB.fullmatch(config.repository):
        raise ConfigError(f"repository = {config.repository!r}; expected https://github.com/OWNER/NAME, or nothing")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the setting `repository`, and connect the extension to each HTML page."""
    app.add_config_value("repository", "", "html", str)
    app.connect("config-inited", check_repository)
    app.connect("html-page-context", add_notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        for page in sorted(Path(argument).glob("*.md")):
            if _has_code(page):
                jupytext.write(to_notebook(page), page.with_suffix(".ipynb"))
