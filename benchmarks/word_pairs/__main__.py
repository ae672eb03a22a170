"""Train libraries on the same words for the same minutes, and write the table of what each then gets wrong.

A cell, a contestant on a data set for a time with a seed, is written as soon as it is complete, and is not repeated: a
table that is stopped goes on from there.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.word_pairs.cells import CONTESTANTS, Runner, list_cells
from benchmarks.word_pairs.data_sets import DATA_SETS
from benchmarks.word_pairs.pages import read_cells, write_pages

_FOLDER = Path(__file__).parent
_OUTPUTS = _FOLDER.parent.parent / "outputs"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cells, and write the pages after each."""
    options = parse_command_line(arguments)
    chosen = [[name for name in names if name in options.only] or list(names) for names in (DATA_SETS, CONTESTANTS)]
    cells = list_cells(*chosen, options.minutes, options.seeds)
    left = sum(cell.minutes for cell in cells if not (options.cells / cell.file).is_file())
    print(f"{len(cells)} cells, {left / 60:.1f} hours of training left, besides decoding", flush=True)
    runner = Runner(options.cells, options.work_folder, options.data_folder, options.threads)
    for line in runner.run(cells):
        print(line, flush=True)
        write_pages(read_cells(options.cells), options.pages)


def parse_command_line(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.word_pairs", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*DATA_SETS, *CONTESTANTS],
        default=[],
        metavar="NAME",
        help=f"data sets ({', '.join(DATA_SETS)}) and contestants ({', '.join(CONTESTANTS)}); default: all of each",
    )
    parser.add_argument(
        "--minutes", nargs="+", type=float, default=[2, 10, 30], help="times of training; default: 2 10 30"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="default: 1 2 3")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads of each contestant; default: 2")
    parser.add_argument(
        "--data_folder",
        type=Path,
        default=Path(os.environ.get("ATENTA_DATA", _OUTPUTS / "data")),
        help="folder of the data that are not shipped; default: $ATENTA_DATA, or outputs/data",
    )
    parser.add_argument(
        "--work_folder", type=Path, default=_OUTPUTS / "word_pairs", help="folder of environments, models and logs"
    )
    parser.add_argument("--cells", type=Path, default=_FOLDER / "cells", help="folder of the cells as JSON")
    parser.add_argument(
        "--pages",
        type=Path,
        help="folder for README.md and README.pt.md; default: this one, or --cells if it is given",
    )
    options = parser.parse_args(arguments)
    if options.pages is None:
        options.pages = _FOLDER if options.cells == parser.get_default("cells") else options.cells
    for name in ("minutes", "seeds", "threads"):
        given = getattr(options, name)
        if min(given if isinstance(given, list) else [given]) <= 0:
            parser.error(f"--{name} {given}: expected more than 0")
    return options


if __name__ == "__main__":
    main()
