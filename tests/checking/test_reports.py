"""Reports of findings, whatever the name of a file."""

import json
import os
from pathlib import Path

import pytest

from atenta.checking.checker import CheckedFiles
from atenta.checking.findings import Finding
from atenta.checking.reports import report

FINDING = Finding(1, 1, 3, "nao", "não", 0.999, 0.001, False, ("nao", 0), [(1, "ã")], 0.999)


@pytest.mark.parametrize(
    ("format", "expected"),
    [("text", r"\xff.md:1:1"), ("json", r"\xff.md"), ("github", r"file=\xff.md,"), ("sarif", "%FF.md")],
)
def test_names_that_are_no_utf_8_are_escaped(format, expected):
    checked = CheckedFiles({Path(os.fsdecode(b"\xff.md")): [FINDING]}, {}, {}, 1, 1, 0, [])
    printed = report(checked, format, explain=True, version="1").encode().decode()
    if format == "json":
        assert json.loads(printed)["file"] == expected
    else:
        assert expected in printed
