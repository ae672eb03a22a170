"""Files of the sample data, and the novels and tales for pre-training."""

from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
SPLITS = ("train", "validation", "test")


def read_samples(folder: Path, pattern: str = "*.txt") -> list[str]:
    """Return the texts of the UTF-8 files of a folder whose names match the pattern, in the order of their names.

    Raises:
        FileNotFoundError: If no file matches, as in an installed package, which contains no data.
    """
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise missing_sample(folder, pattern)
    return [path.read_text(encoding="utf-8") for path in paths]


def missing_sample(folder: Path, name: str) -> FileNotFoundError:
    """Return the error for a sample file that is not there."""
    return FileNotFoundError(
        f"found no {name} in {folder}; expected the sample data, which are only in the repository: "
        "run from a clone, or name your own files with --train_file and --validation_file"
    )


def novels(folder: Path = DATA / "machado") -> dict[str, list[dict[str, str]]]:
    """Return the novels and tales of Machado de Assis of the splits `train`, `validation` and `test`, one per row.

    `folder` has a sub-folder for each split, with one UTF-8 text file per work.

    Raises:
        FileNotFoundError: If a split has no text, as in an installed package, which contains no data.
    """
    return {split: [{"text": work} for work in read_samples(folder / split)] for split in SPLITS}
