import pytest
from docutils.core import publish_string
from sphinx.ext.napoleon import Config, GoogleDocstring

from docs._extensions.markdown_docstrings import to_restructured

DOCSTRING = """Score texts. See [`AtentaDecoderModel.forward`].

Args:
    size (`int`, defaults to 6): number of blocks.

Example:

```python
>>> if True:
...     print("`a` [`b`]")
```
"""


def test_a_link_is_a_reference_to_the_name_wherever_it_is_defined():
    assert to_restructured("see [`A.b`].") == "see :py:obj:`.A.b`."


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_fence_is_a_code_block_of_its_language(indent):
    fence = f"{indent}```python\n{indent}a = 1\n\n{indent}if a:\n{indent}    b = 2\n{indent}```"
    expected = f"{indent}.. code-block:: python\n\n{indent}   a = 1\n\n{indent}   if a:\n{indent}       b = 2\n"
    assert to_restructured(fence) == expected


def test_other_backticks_and_brackets_stay():
    text = "`[a]` and [b] and ``c``, `[` `]`"
    assert to_restructured(text) == text


def test_docutils_reads_what_comes_out_without_a_complaint():
    text = to_restructured(DOCSTRING).replace(":py:obj:", ":literal:")
    napoleon = str(GoogleDocstring(text, Config(napoleon_use_param=False)))
    html = publish_string(napoleon, writer="html5", settings_overrides={"halt_level": 2}).decode()
    assert "print" in html
    assert "```" not in html
