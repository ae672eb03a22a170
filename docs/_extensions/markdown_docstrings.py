"""Docstrings written as transformers writes them, with fences and [`links`], as the reStructuredText of Sphinx."""

import re
import textwrap
from typing import Any

from sphinx.application import Sphinx

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[`(?P<name>[\w.]+)`\]")


def to_restructured(text: str) -> str:
    """Return the text with its fences as `code-block` directives and its [`Name`] as cross-references."""
    return _LINK.sub(r":py:obj:`.\g<name>`", _FENCE.sub(_code_block, text))


def _code_block(fence: re.Match[str]) -> str:
    code = textwrap.indent(textwrap.dedent(fence["code"]), fence["indent"] + "   ")
    return f"{fence['indent']}.. code-block:: {fence['language'] or 'text'}\n\n{code}"


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the docstring that autodoc hands on, in place."""
    lines[:] = to_restructured("\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Run on each docstring, before napoleon reads its sections."""
    app.connect("autodoc-process-docstring", rewrite, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
