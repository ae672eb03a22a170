"""Every worked example has a test."""

import ast
from pathlib import Path

from support.documents import EXAMPLES


def test_every_worked_example_is_tested():
    """A test of its document names it, for example `"1/votes-two"` in a file `test_1_*.py`."""
    named = set()
    for file in Path(__file__).parent.glob("test_[0-9]_*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "worked_example":
                name = call.args[0].value
                if name.split("/")[0] == file.name[len("test_")]:
                    named.add(name)
    assert named == EXAMPLES.keys()
