"""Conversion of Markdown docstrings, written in the style of transformers, to the reStructuredText of Sphinx."""

import re
import textwrap
from typing import Any

from sphinx.application import Sphinx

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[`(?P<name>[\w.]+)`\]")
_CITATION = re.compile(
    r"(?P<role>:`[^`]+`)|(?P<literal>`+[^`]+`+)|\b[Dd]ocuments?\s+[1-5](?:(?:,| and| or| to)\s+[1-5])*\b"
)
_CITED = re.compile(r"(?:[Dd]ocument\s+)?(?P<number>[1-5])")


def to_restructured(text: str) -> str:
    """Return the text with fences as `code-block` directives and with links.

    [`Name`] becomes a cross-reference to the name. "document 3", and each number in "documents 2 and 3", becomes a
    reference to the label `document-3`. Code is not searched for citations. It gets double backticks: napoleon takes
    what is between one backtick and `<eos>` later in the line for a link with a target, and loses the text between.
    """
    pieces, end = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_link(text[end : fence.start()]), _code_block(fence)]
        end = fence.end()
    return "".join([*pieces, _link(text[end:])])


def _link(text: str) -> str:
    return _CITATION.sub(_cite, _LINK.sub(r":py:obj:`.\g<name>`", text))


def _cite(citation: re.Match[str]) -> str:
    if citation["role"]:
        return citation[0]
    if citation["literal"]:
        return f"``{citation['literal'].strip('`')}``"
    return _CITED.sub(r":ref:`\g<0> <document-\g<number>>`", citation[0])


def _code_block(fence: re.Match[str]) -> str:
    code = textwrap.indent(textwrap.dedent(fence["code"]), fence["indent"] + "   ")
    return f"{fence['indent']}.. code-block:: {fence['language'] or 'text'}\n\n{code}"


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Convert the docstring that autodoc passes as `lines`, in place."""
    text = "\n".join(line for line in lines if not line.startswith("Create new instance of "))  # Python's own
    lines[:] = to_restructured(text).split("\n")


def skip_tuple_field(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of a named tuple, which the class describes; Python's own docstrings only number them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def shorten_factories(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return a signature with `...` for a default that a dataclass makes: lines with `<factory>` are not wrapped."""
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect all to autodoc, the conversion before napoleon parses sections."""
    app.connect("autodoc-process-docstring", rewrite, priority=400)
    app.connect("autodoc-process-signature", shorten_factories)
    app.connect("autodoc-skip-member", skip_tuple_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
