"""The picture of the README: sentences before and after `restore_accents`, with its doubts shaded.

`python docs/restored.py` draws it in both languages.
"""

from pathlib import Path
from xml.sax.saxutils import escape

from atenta import restore_accents
from atenta.hub.card_words import with_separators

SENTENCES = ("A acao comecou amanha, nao e?", "Ele esta aqui, e esta casa e dela.", "Ja falei com a secretaria.")
DOUBTFUL = 0.95  # a character with less probability has it written below
LETTER, LINE = 17, 70  # pixels
STYLE = """
text { font: 23px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; text-anchor: middle;
  fill: #1f2933 }
.typed { font-size: 15px; fill: #66717d }
.new { font-weight: 700; fill: #0b4aa2 }
.probability { font-size: 11px; fill: #8a4b00 }
.legend { font: 14px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; text-anchor: start;
  fill: #48545f }
.card { fill: #fdfdfe; stroke: #d5dae0 }
.doubt { fill: #f79d2e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .typed, .legend { fill: #a3adb8 }
  .new { fill: #9ecbff }
  .probability { fill: #ffb662 }
  .card { fill: #161b22; stroke: #30363d }
  .doubt { fill: #b5630a }
}
"""
WORDS = {
    "en": (
        "Accents restored, with the doubts",
        "mark that the model added",
        "where it hesitates, with the probability",
    ),
    "pt": ("Acentos restaurados, com as dúvidas", "acento posto pelo modelo", "onde ele hesita, com a probabilidade"),
}


def draw_restored(language: str) -> str:
    """Draw what was typed, what it became and, for a doubtful character, its probability, in `en` or `pt`."""
    title, added, hesitates = WORDS[language]
    width, height = LETTER * max(map(len, SENTENCES)) + 48, LINE * len(SENTENCES) + 58
    parts = []
    for row, (typed, after) in enumerate(zip(SENTENCES, restore_accents(list(SENTENCES), return_probabilities=True))):
        y = LINE * row + 30
        for place, (old, new, probability) in enumerate(zip(typed, after.text, after.probabilities)):
            x, doubt = 24 + LETTER * (place + 0.5), 1 - float(probability)
            if doubt > 1 - DOUBTFUL:
                number = with_separators(f"{1 - doubt:.2f}", language)
                parts += [
                    shade(x - LETTER / 2, y + 8, 28, min(1.0, 0.15 + 2 * doubt)),
                    text(x, y + 49, number, "probability"),
                ]
            parts += [text(x, y, old, "typed"), text(x, y + 30, new, "new" if new != old else "")]
    y = height - 18
    parts += [f'<text class="new" x="34" y="{y}">á</text>', text(50, y - 2, added, "legend")]
    parts += [shade(262, y - 18, 24, 0.7), text(288, y - 2, hesitates, "legend")]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"
     role="img" aria-labelledby="title" lang="{language}">
<title id="title">{escape(title)}</title>
<style>{STYLE}</style>
<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>
{chr(10).join(parts)}
</svg>
"""


def text(x: float, y: float, content: str, kind: str) -> str:
    """Return a text of the drawing."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(content)}</text>'


def shade(x: float, y: float, height: int, opacity: float) -> str:
    """Return the shade behind a doubtful character."""
    return (
        f'<rect class="doubt" x="{x:g}" y="{y}" width="{LETTER}" height="{height}" rx="4" '
        f'fill-opacity="{opacity:.2f}"/>'
    )


if __name__ == "__main__":
    for language in WORDS:
        path = Path(__file__).parent / "_static" / f"restored.{language}.svg"
        path.write_text(draw_restored(language), encoding="utf-8")
