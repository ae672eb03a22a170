import re

import pytest
from docutils.core import publish_string
from sphinx.ext.napoleon import Config, GoogleDocstring

from docs._extensions.markdown_docstrings import to_restructured

DOCSTRING = """Score texts (document 1). See [`AtentaDecoderModel.forward`].

Args:
    size (`int`, defaults to 6): number of blocks, as in documents
        2 and 3.

Example:

```python
>>> if True:
...     print("`a` [`b`]")
```
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [`A.b`].", "see :py:obj:`.A.b`."),  # the name in any module
        ("(document 3's)", "(:ref:`document 3 <document-3>`'s)"),
        ("Documents 2 to 5.", "Documents :ref:`2 <document-2>` to :ref:`5 <document-5>`."),
        *((text, text) for text in ("``document 3``", "document 10", "documents 6", "three documents")),
        ("`[a]` and [b] and ``c``, `[` `]`", "``[a]`` and [b] and ``c``, ``[`` ``]``"),
        ("```\na  # document 3, [`a`]\n```", ".. code-block:: text\n\n   a  # document 3, [`a`]\n"),
    ],
)
def test_links_citations_and_code_become_those_of_sphinx(text, expected):
    assert to_restructured(text) == expected


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_fence_becomes_a_code_block_of_its_language(indent):
    fence = f"{indent}```python\n{indent}a = 1\n\n{indent}if a:\n{indent}    b = 2\n{indent}```"
    expected = f"{indent}.. code-block:: python\n\n{indent}   a = 1\n\n{indent}   if a:\n{indent}       b = 2\n"
    assert to_restructured(fence) == expected


def test_a_parameter_keeps_its_text_before_a_special_token():
    docstring = "Args:\n    length (`int`, *optional*): highest number, `<eos>` included, of\n        a window."
    napoleon = str(GoogleDocstring(to_restructured(docstring), Config(napoleon_use_param=False)))
    assert "highest number, ``<eos>`` included, of\n" in napoleon


def test_docutils_parses_the_result_without_warnings():
    text = re.sub(":(py:obj|ref):", ":literal:", to_restructured(DOCSTRING))
    napoleon = str(GoogleDocstring(text, Config(napoleon_use_param=False)))
    html = publish_string(napoleon, writer="html5", settings_overrides={"halt_level": 2}).decode()
    assert "print" in html
    assert "```" not in html
    assert ":literal:" not in html
