"""How the commands leave a picture."""

from pathlib import Path

from matplotlib.figure import Figure


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file, whose folder is made if missing, and print where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    print(path)
