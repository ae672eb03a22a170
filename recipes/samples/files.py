"""Files of the sample data, which are only in the repository, and the novels and tales for pre-training."""

import sys
from pathlib import Path


def find_data() -> Path:
    """Return the folder of the sample data: beside the package or, for an installed one, in a clone.

    The clone is that of the script that runs, of the current folder or of one above it. The folder need not exist.
    """
    beside = Path(__file__).resolve().parent.parent
    if not (beside / "data").is_dir():
        here = Path.cwd()
        clones = [Path(sys.argv[0]).resolve().parent, *(folder / "recipes" for folder in (here, *here.parents))]
        beside = next((folder for folder in clones if (folder / "data" / "machado").is_dir()), beside)
    return beside / "data"


DATA = find_data()
SPLITS = ("train", "validation", "test")
FILES = {  # of the samples that are files of rows: one for each split, in `DATA`
    "french_g2p": ("g2p/fre_train.tsv", "g2p/fre_dev.tsv", "g2p/fre_test.tsv"),
    "italian_g2p": ("g2p/ita_train.tsv", "g2p/ita_dev.tsv", "g2p/ita_test.tsv"),
    "hebrew": ("transliteration_he/train.tsv", "transliteration_he/validation.tsv", "transliteration_he/test.tsv"),
    "lener_br": ("lener_br/train.conll", "lener_br/dev.conll", "lener_br/test.conll"),
    "bosque": ("bosque/train.conllu", "bosque/validation.conllu", "bosque/test.conllu"),
    "faquad": ("faquad/train.json", "faquad/dev.json", "faquad/test.json"),
}


def sample_files(folder: str | Path, pattern: str) -> list[Path]:
    """Return the files of a folder in `DATA` whose names match the pattern, in the order of their names.

    Raises:
        FileNotFoundError: If no file matches, as in an installed package that runs outside a clone.
    """
    paths = sorted((DATA / folder).glob(pattern))
    if not paths:
        raise FileNotFoundError(
            f"found no {pattern} in {DATA / folder}; expected the sample data, which are only in the repository: "
            "run in a clone, or name your own files with --train_file and --validation_file"
        )
    return paths


def read_samples(folder: str | Path, pattern: str = "*.txt") -> list[str]:
    """Return the texts of `sample_files`, which are UTF-8."""
    return [path.read_text(encoding="utf-8") for path in sample_files(folder, pattern)]


def read_cells(file: str) -> list[list[str]]:
    """Return the cells of each line of a file in `DATA`, which are separated by tabs."""
    return [line.split("\t") for line in read_samples("", file)[0].splitlines()]


def first_cells(file: str) -> list[str]:
    """Return the first cell of each line of a file in `DATA`."""
    return [cells[0] for cells in read_cells(file)]


def novels() -> dict[str, list[dict[str, str]]]:
    """Return the novels and tales of Machado de Assis of the splits `train`, `validation` and `test`, one per row."""
    return {split: [{"text": work} for work in read_samples(f"machado/{split}")] for split in SPLITS}
