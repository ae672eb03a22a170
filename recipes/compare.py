"""Lay the test scores of several runs side by side: `python recipes/compare.py outputs/a outputs/b`."""

import argparse
import json
from pathlib import Path

from atenta.recipes.reporting.tables import table


def compare(folders: list[Path]) -> str:
    """Return a table of the scores in each output folder's `metrics.json`, those of the baselines among them.

    Raises:
        SystemExit: a folder has no `metrics.json`, which a run writes at its end.
    """
    rows = {}
    for folder in folders:
        file = folder / "metrics.json"
        if not file.is_file():
            raise SystemExit(f"found no {file}; expected the output folder of a recipe that ran to its end")
        for name, figures in json.loads(file.read_text(encoding="utf-8"))["test"].items():
            rows[f"{folder}: {name}" if name == "model" else name] = figures
    return table(rows)


def main() -> None:
    """Compare the folders of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="output folders of one recipe, on the same test data")
    print(compare(parser.parse_args().folders))


if __name__ == "__main__":
    main()
