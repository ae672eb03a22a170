"""Tales and novels to pre-train on."""

from pathlib import Path

from atenta.recipes.samples.files import DATA, SPLITS, read_samples


def novels(folder: Path = DATA / "machado") -> dict[str, list[dict[str, str]]]:
    """Return the works of Machado de Assis of the splits `train`, `validation` and `test`, a document each.

    `folder` holds a sub-folder a split with the split's works, one UTF-8 text file each.

    Raises:
        FileNotFoundError: if a split has no text, as in an installed package, which ships none.
    """
    return {split: [{"text": work} for work in read_samples(folder / split)] for split in SPLITS}
