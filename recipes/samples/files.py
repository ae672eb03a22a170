"""Where the sample data lie, which the repository holds and an installed package does not."""

from pathlib import Path

DATA = Path(__file__).parent.parent / "data"
SPLITS = ("train", "validation", "test")


def read_samples(folder: Path, pattern: str = "*.txt") -> list[str]:
    """Return the text of every UTF-8 file of a folder that the pattern names, in the order of their names.

    Raises:
        FileNotFoundError: if there is none, as in an installed package, which ships no data.
    """
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise FileNotFoundError(
            f"found no {pattern} in {folder}; expected the sample data, which only the repository holds: "
            "run from a clone, or name your own files with --train_file and --validation_file"
        )
    return [path.read_text(encoding="utf-8") for path in paths]
