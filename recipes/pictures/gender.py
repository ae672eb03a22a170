"""Which gender a language model gives to nouns, as bars."""

from collections.abc import Mapping

from matplotlib.figure import Figure  # no pyplot: no display is needed
from matplotlib.patches import Patch

from atenta.recipes.samples.nouns import Noun

COLOURS = {"one form": "tab:purple", "two forms": "tab:orange", "masculine": "tab:grey", "feminine": "lightgrey"}
LABELS = {"masculine": "masculine things (control)", "feminine": "feminine things (control)"}


def draw_gender(bits: Mapping[Noun, float]) -> Figure:
    """Draw a bar a noun, from the top in the order given: to the right the masculine is more probable.

    Args:
        bits: by how many bits the masculine is more probable, as `measure_gender` returns it.
    """
    figure = Figure(figsize=(7, 1.2 + 0.2 * len(bits)), layout="constrained")
    axes = figure.subplots()
    names = [str(noun) for noun in bits]
    axes.barh(names, list(bits.values()), color=[COLOURS[noun.group] for noun in bits])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xlabel("← feminine     bits     masculine →")
    groups = dict.fromkeys(noun.group for noun in bits)
    handles = [Patch(color=COLOURS[group], label=LABELS.get(group, f"professions of {group}")) for group in groups]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
    return figure
