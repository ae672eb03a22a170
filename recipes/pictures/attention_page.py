"""Attention maps as one page in HTML, with kind, layer and head to choose."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from atenta.recipes.pictures.attention import AttentionMap

DIGITS = 4  # of each weight behind the point


def write_attention_page(path: str | Path, maps: Sequence[AttentionMap]) -> Path:
    """Write a page that holds all that it shows, so that it opens in a browser from a file, without a network.

    Its size grows with layers · heads · queries · keys, at about 6 bytes each.

    Args:
        path: the page's file; its folder is made if missing.
        maps: what `attention_maps` gave for a text.

    Returns:
        The path.
    """
    data = [
        {
            "name": one.name,
            "queries": one.query_labels,
            "keys": one.key_labels,
            "weights": [
                [[[round(weight, DIGITS) for weight in row] for row in head] for head in layer]
                for layer in one.weights.tolist()
            ],
        }
        for one in maps
    ]
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    page = templates.get_template("attention_page.html").render(maps=data)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path
