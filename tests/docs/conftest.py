"""Small sites, built with the extensions, templates and style of the real one."""

import io
import sys
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def build_site():
    """Return a function that builds pages, texts by their names, in a folder, and returns where their HTML is.

    Further arguments are settings of Sphinx. A warning fails the test.
    """

    def build(folder, pages, **settings):
        for name, text in pages.items():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_text(text, encoding="utf-8")
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
