from xml.etree import ElementTree

import pytest
from docutils import nodes

from docs._extensions.mathml import to_mathml

MATHML = "{http://www.w3.org/1998/Math/MathML}"


def parse(latex, display="inline"):
    return ElementTree.fromstring(to_mathml(nodes.math("", latex), display))


def texts(element, tag):
    return ["".join(found.itertext()) for found in element.iter(MATHML + tag)]


@pytest.mark.parametrize(
    ("latex", "tag", "expected"),
    [
        ("0{,}5", "mn", ["0", ",", "5"]),  # a comma in braces is part of a number
        ("0,5", "mo", [","]),
        (r"\log p", "mspace", [""]),  # a space separates a function from its argument, but not from a bracket
        (r"\log(p)", "mspace", []),
        ("f'(x)", "mo", ["\u2032", "(", ")"]),
        ("f'(x)", "msup", []),  # a prime is not raised twice
    ],
)
def test_formulas_have_their_parts(latex, tag, expected):
    assert texts(parse(latex, "block"), tag) == expected


def test_aligned_lines_are_rows_of_two_cells():
    found = parse(r"\begin{aligned} a &= 1 \\ b &= 2 \end{aligned}", "block")
    assert texts(found, "mtd") == ["a", "=1", "b", "=2"]
    assert [cell.get("columnalign") for cell in found.iter(MATHML + "mtd")] == ["right", "left"] * 2


@pytest.mark.parametrize(("latex", "warnings"), [(r"\nosuchcommand{x}", 1), (r"\sqrt{x} \le \infty", 0)])
def test_an_unknown_command_is_a_warning(caplog, latex, warnings):
    parse(latex)
    assert [record.args for record in caplog.records] == [(r"\nosuchcommand",)] * warnings
