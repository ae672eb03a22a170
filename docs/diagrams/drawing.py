"""An SVG drawing: boxes, arrows, tokens, matrices and texts in one language.

It lies on a light card. On a dark page the style sheet of the site makes it dark (docs/_static/atenta.css).
"""

from xml.sax.saxutils import escape

FILL = {  # and the outline, of what the diagrams have in common
    "attention": ("#d8e7fb", "#2f6db3"),
    "feed-forward": ("#fde5c4", "#b5721a"),
    "norm": ("#daf0dc", "#3f8a4d"),
    "add": ("#ffffff", "#3f4a56"),
    "embedding": ("#e8e1f6", "#7257a8"),
    "head": ("#fadbe0", "#b3475d"),
    "token": ("#ffffff", "#9aa5b1"),
    "hidden": ("#56616d", "#56616d"),
    "frame": ("#f2f4f7", "#c3cad2"),
}
STYLE = """
text { font: 16px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: #1f2933 }
.middle { text-anchor: middle }
.end { text-anchor: end }
.bold { font-weight: 600 }
.shape { font-size: 15px; fill: #48545f }
.tiny { font-size: 15px }
.attention { fill: #245a96 }
.feed-forward { fill: #875211 }
.light { fill: #ffffff }
.line { fill: none; stroke: #3f4a56; stroke-width: 1.6 }
.cross { fill: none; stroke: #2f6db3; stroke-width: 2.6 }
.dashed { stroke-dasharray: 5 4 }
"""


class Diagram:
    """An SVG drawing in one language.

    Args:
        language: `pt` or `en`.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.parts: list[str] = []

    def __call__(self, portuguese: str, english: str) -> str:
        """Return the text in the language of the drawing."""
        return portuguese if self.language == "pt" else english

    def number(self, value: float) -> str:
        """Return a number with two decimals."""
        return f"{value:.2f}".replace(".", self(",", "."))

    def text(self, x: float, y: float, lines: str, classes: str = "", step: int = 19) -> None:
        """Write lines; `^` raises the character after it."""
        for row, line in enumerate(lines.split("\n")):
            content = escape(line)
            while "^" in content:
                at = content.index("^")
                raised = f'<tspan dy="-6" font-size="12">{content[at + 1]}</tspan><tspan dy="6">&#8203;</tspan>'
                content = content[:at] + raised + content[at + 2 :]
            self.parts.append(f'<text x="{x:g}" y="{y + row * step:g}" class="{classes}">{content}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, label: str = "") -> None:
        """Draw a box with its label in the middle."""
        fill, line = FILL[kind]
        radius = 3 if kind in ("token", "hidden") else 7
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" fill="{fill}" '
            f'stroke="{line}" stroke-width="1.5"/>'
        )
        if label:
            lines = label.count("\n")
            small = " tiny" if label.startswith("<") else ""
            classes = f"middle{small}{' light' if kind == 'hidden' else ''}"
            self.text(x + width / 2, y + height / 2 + 5.5 - 9.5 * lines, label, classes)

    def line(self, *points: tuple[float, float], kind: str = "line", arrow: bool = True) -> None:
        """Draw a line through points, with an arrow at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        end = f' marker-end="url(#{kind.split()[0]}-end)"' if arrow else ""
        self.parts.append(f'<polyline points="{path}" class="{kind}"{end}/>')

    def sign(self, x: float, y: float, sign: str = "+") -> None:
        """Draw a sum or a product: a circle with a sign."""
        fill, line = FILL["add"]
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="12" fill="{fill}" stroke="{line}" stroke-width="1.6"/>')
        arms = {"+": "M-6,0H6M0,-6V6", "×": "M-4.5,-4.5L4.5,4.5M-4.5,4.5L4.5,-4.5"}[sign]
        self.parts.append(f'<path d="{arms}" transform="translate({x:g},{y:g})" class="line"/>')

    def tiles(self, x: float, y: float, tokens: str, ids: str = "", letter: float = 58) -> float:
        """Draw tokens side by side, `■` for a hidden one, and their ids below them. Return where they end."""
        numbers = ids.split()
        for place, token in enumerate(tokens.split()):
            width = 58 if token.startswith("<") else letter
            kind, label = ("hidden", "") if token == "■" else ("token", token)
            self.box(x, y, width - 4, 32, kind, label)
            if numbers:
                self.text(x + width / 2 - 2, y + 51, numbers[place], "middle shape")
            x += width
        return x

    def matrix(self, x: float, y: float, rows: int, columns: int, kind: str) -> None:
        """Draw a matrix without numbers, in squares of 20 pixels."""
        fill, line = FILL[kind]
        steps = "".join(f"M{x:g},{y + 20 * row:g}h{20 * columns}" for row in range(rows + 1))
        steps += "".join(f"M{x + 20 * column:g},{y:g}v{20 * rows}" for column in range(columns + 1))
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{20 * columns}" height="{20 * rows}" fill="{fill}"/>')
        self.parts.append(f'<path d="{steps}" stroke="{line}" fill="none"/>')

    def sees(self, x: float, y: float, seen: list[str], rows: str, columns: str, size: float = 21) -> None:
        """Draw who (row) sees whom (column): `1` for what is seen."""
        for column, name in enumerate(columns.split()):
            self.text(x + (column + 0.5) * size, y - 5, name, "middle tiny")
        for row, name in enumerate(rows.split()):
            self.text(x - 6, y + (row + 0.5) * size + 5, name, "end tiny")
            for column, mark in enumerate(seen[row]):
                fill, line = FILL["attention" if mark == "1" else "hidden"]
                self.parts.append(
                    f'<rect x="{x + column * size:g}" y="{y + row * size:g}" width="{size:g}" height="{size:g}" '
                    f'fill="{fill}" stroke="{line if mark == "1" else "#ffffff"}" stroke-width="0.8"/>'
                )

    def block(self, x: float, y: float, width: float, layers: list[tuple[str, str]]) -> float:
        """Draw a pile of blocks, its sub-layers inside it, each with sum and norm. Return where it ends."""
        height = 80 * len(layers) + 16
        for shift in (10, 5, 0):
            self.box(x - 12 + shift, y + shift, width + 24, height, "frame")
        for row, (kind, label) in enumerate(layers):
            top = y + 14 + 80 * row
            self.box(x, top, width, 40, kind, label)
            self.line((x + width / 2, top + 40), (x + width / 2, top + 46), arrow=False)
            self.box(x, top + 46, width, 24, "norm", self("soma e LayerNorm", "add & LayerNorm"))
        return y + height + 10

    def svg(self, width: int, height: int, title: str, description: str) -> str:
        """Return the drawing."""
        markers = "".join(
            f'<marker id="{kind}-end" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="{size}" '
            f'markerHeight="{size}" orient="auto"><path d="M0,0L10,5L0,10z" fill="{colour}"/></marker>'
            for kind, colour, size in (("line", "#3f4a56", 6), ("cross", "#2f6db3", 4.5))
        )
        parts = "\n".join(self.parts)
        return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"
     viewBox="0 0 {width} {height}" role="img" aria-labelledby="title description" lang="{self.language}">
<title id="title">{escape(title)}</title>
<desc id="description">{escape(description)}</desc>
<style>{STYLE}</style>
<defs>{markers}</defs>
<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="#fdfdfe" stroke="#d5dae0"/>
{parts}
</svg>
"""
