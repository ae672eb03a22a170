"""The API reference names all that the package exports."""

import re
from pathlib import Path

import atenta

REFERENCE = Path(__file__).parents[2] / "docs" / "api"


def test_every_public_name_has_an_entry():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md"))
    entries = re.findall(r"^\.\. auto(?:class|function|data):: atenta\.(\w+)(?![\w.])", pages, re.MULTILINE)
    assert sorted(entries) == sorted(set(atenta.__all__) - {"__version__"})
