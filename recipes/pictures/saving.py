"""How the commands leave a picture."""

from pathlib import Path

from matplotlib.figure import Figure

RESOLUTION = 150  # dots an inch
MOST_DOTS = 12_000  # of a side: the maps of a page of text would need more memory than there is


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file, whose folder is made if missing, and print where it is.

    One whose longer side would be above some 12,000 dots is written with fewer dots an inch.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=min(RESOLUTION, MOST_DOTS / max(figure.get_size_inches())), bbox_inches="tight")
    print(path)
