"""Sphinx extension that converts formulas to MathML, which browsers display without a script.

For readers who have no font made for formulas it adds one of matplotlib's, with the heights of exponents set right.
"""

import re
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_FUNCTION = re.compile(r"(?<=<mi>)(log|ln|exp|sin|cos|tanh)</mi>(?=<m(?:i|n|sub)>)")
_PRIME = re.compile(r"<msup>(<mi>.</mi>)<mi>(&#x02032;)</mi></msup>")
_BRACED_COMMA = "<mrow><mo>&#x0002C;</mo></mrow>"
_COMMAND = re.compile(r"\\[A-Za-z]+")

# Where exponents, indices and limits are, in thousandths of the font's size. DejaVu Serif leaves most of it out, so
# that browsers put exponents on top of what they belong to. These are the values of TeX Gyre DejaVu Math.
HEIGHTS = {
    "UpperLimitGapMin": 96,
    "LowerLimitGapMin": 96,
    "SubscriptShiftDown": 277,
    "SubscriptTopMax": 330,
    "SubscriptBaselineDropMin": 138,
    "SuperscriptShiftUp": 381,
    "SuperscriptShiftUpCramped": 312,
    "SuperscriptBottomMin": 220,
    "SuperscriptBaselineDropMax": 277,
    "SubSuperscriptGapMin": 120,
    "SuperscriptBottomMaxWithSubscript": 335,
}

logger = logging.getLogger(__name__)


def to_mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    """Return a formula as MathML and warn about LaTeX commands that were not converted.

    A space separates a function from its argument, as in TeX. A comma in braces is a decimal comma (`0{,}5`). A prime
    stands beside its letter: fonts have it raised, and raised twice it looks like an accent.
    `display` is `inline` or `block`.
    """
    latex = node.astext().replace("{aligned}", "{split}")  # latex2mathml knows it as `split`
    formula = convert(latex, display=display)
    if unknown := sorted(set(_COMMAND.findall(formula))):
        logger.warning(
            "latex2mathml does not support %s; use a command that it does", ", ".join(unknown), location=node
        )
    formula = _PRIME.sub(r'<mrow>\1<mo lspace="0.1em" rspace="0">\2</mo></mrow>', formula)
    return _FUNCTION.sub(r'\1</mi><mspace width="0.17em"/>', formula.replace(_BRACED_COMMA, "<mn>,</mn>"))


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number if it has one. The theme adds the element with its id."""
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    translator.body.append(f'<div class="math">{number}{to_mathml(node, "block")}</div>')
    raise nodes.SkipNode


def add_font(app: Sphinx, exception: Exception | None) -> None:
    """Put the font of formulas beside the style sheet."""
    if exception is not None or app.builder.format != "html":
        return
    font = TTFont(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSerif.ttf"))
    for name, thousandths in HEIGHTS.items():
        getattr(font["MATH"].table.MathConstants, name).Value = round(thousandths * font["head"].unitsPerEm / 1000)
    font["name"].setName("Formulas", 1, 3, 1, 0x409)  # its family, no longer DejaVu Serif
    font.save(Path(app.outdir, "_static", "Formulas.ttf"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register and select this renderer of formulas, and add their font at the end of a build."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", add_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
