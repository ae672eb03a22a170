"""The picture of the README: sentences before and after `restore_accents`, with its doubts shaded."""

from xml.sax.saxutils import escape

from drawing import Diagram

from atenta import restore_accents

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


def restored(say: Diagram) -> str:
    """Draw what was typed, what it became and, for a doubtful character, its probability."""
    width, height = LETTER * max(map(len, SENTENCES)) + 48, LINE * len(SENTENCES) + 58
    for row, (typed, after) in enumerate(zip(SENTENCES, restore_accents(list(SENTENCES), return_probabilities=True))):
        y = LINE * row + 30
        for place, (old, new, probability) in enumerate(zip(typed, after.text, after.probabilities)):
            x, doubt = 24 + LETTER * (place + 0.5), 1 - float(probability)
            if doubt > 1 - DOUBTFUL:
                say.parts.append(
                    f'<rect class="doubt" x="{x - LETTER / 2:g}" y="{y + 8}" width="{LETTER}" height="28" rx="4" '
                    f'fill-opacity="{min(1.0, 0.15 + 2 * doubt):.2f}"/>'
                )
                say.text(x, y + 49, say.number(1 - doubt), "probability")
            say.text(x, y, old, "typed")
            say.text(x, y + 30, new, "new" if new != old else "")
    y = height - 18
    say.parts.append(f'<text class="new" x="34" y="{y}">á</text>')
    say.text(50, y - 2, say("acento posto pelo modelo", "mark that the model added"), "legend")
    say.parts.append(
        f'<rect class="doubt" x="262" y="{y - 18}" width="{LETTER}" height="24" rx="4" fill-opacity="0.7"/>'
    )
    say.text(
        288,
        y - 2,
        say("onde ele hesita, com a probabilidade", "where it hesitates, with the probability"),
        "legend",
    )
    parts, title = (
        "\n".join(say.parts),
        say("Acentos restaurados, com as dúvidas", "Accents restored, with the doubts"),
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"
     role="img" aria-labelledby="title" lang="{say.language}">
<title id="title">{escape(title)}</title>
<style>{STYLE}</style>
<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>
{parts}
</svg>
"""
