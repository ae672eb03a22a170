from xml.etree import ElementTree

import pytest
from docutils import nodes

from docs._extensions.mathml import to_mathml

MATHML = "{http://www.w3.org/1998/Math/MathML}"


def parse(latex, display="inline"):
    return ElementTree.fromstring(to_mathml(nodes.math("", latex), display))


def texts(element, tag):
    return ["".join(found.itertext()) for found in element.iter(MATHML + tag)]


def test_a_formula_is_inline_or_a_block():
    assert parse("x").get("display") == "inline"
    assert parse("x", "block").get("display") == "block"


def test_fractions_sums_matrices_and_text_with_accents():
    assert [len(fraction) for fraction in parse(r"\frac{QK^\top}{\sqrt{d_k}}").iter(MATHML + "mfrac")] == [2]
    assert [len(limits) for limits in parse(r"\sum_{i=1}^n x_i", "block").iter(MATHML + "munderover")] == [3]
    assert texts(parse(r"\begin{pmatrix} 0 & 1 \\ 2 & 3 \end{pmatrix}"), "mtd") == ["0", "1", "2", "3"]
    assert texts(parse(r"\text{atenção}"), "mtext") == ["atenção"]


def test_aligned_lines_are_rows_of_two_cells():
    found = parse(r"\begin{aligned} a &= 1 \\ b &= 2 \end{aligned}", "block")
    assert texts(found, "mtd") == ["a", "=1", "b", "=2"]
    assert [cell.get("columnalign") for cell in found.iter(MATHML + "mtd")] == ["right", "left"] * 2


def test_a_space_separates_a_function_from_its_argument_but_not_from_a_bracket():
    assert len(list(parse(r"\log p").iter(MATHML + "mspace"))) == 1
    assert not list(parse(r"\log(p)").iter(MATHML + "mspace"))


def test_a_comma_in_braces_is_part_of_a_number():
    assert texts(parse("0{,}5"), "mn") == ["0", ",", "5"]
    assert texts(parse("0,5"), "mo") == [","]


def test_a_prime_is_not_raised_twice():
    found = parse("f'(x)")
    assert texts(found, "mo")[0] == "\u2032"
    assert not list(found.iter(MATHML + "msup"))


@pytest.mark.parametrize(("latex", "warnings"), [(r"\nosuchcommand{x}", 1), (r"\sqrt{x} \le \infty", 0)])
def test_an_unknown_command_is_a_warning(caplog, latex, warnings):
    parse(latex)
    assert [record.args for record in caplog.records] == [(r"\nosuchcommand",)] * warnings
