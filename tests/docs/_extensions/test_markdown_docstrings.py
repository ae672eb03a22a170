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


def test_a_link_becomes_a_reference_to_the_name_in_any_module():
    assert to_restructured("see [`A.b`].") == "see :py:obj:`.A.b`."


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_fence_becomes_a_code_block_of_its_language(indent):
    fence = f"{indent}```python\n{indent}a = 1\n\n{indent}if a:\n{indent}    b = 2\n{indent}```"
    expected = f"{indent}.. code-block:: python\n\n{indent}   a = 1\n\n{indent}   if a:\n{indent}       b = 2\n"
    assert to_restructured(fence) == expected


def test_a_citation_becomes_a_link_to_each_document():
    assert to_restructured("(document 3's)") == "(:ref:`document 3 <document-3>`'s)"
    both = "Documents :ref:`2 <document-2>` to :ref:`5 <document-5>`."
    assert to_restructured("Documents 2 to 5.") == both


@pytest.mark.parametrize("text", ["``document 3``", "document 10", "documents 6", "three documents"])
def test_other_documents_and_literals_are_not_linked(text):
    assert to_restructured(text) == text


def test_code_in_a_fence_is_not_linked():
    assert ":" not in to_restructured("```python\na  # document 3, [`a`]\n```").removeprefix(".. code-block::")


def test_code_gets_two_backticks_and_brackets_stay():
    assert to_restructured("`[a]` and [b] and ``c``, `[` `]`") == "``[a]`` and [b] and ``c``, ``[`` ``]``"


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
