"""Draw how several runs learned: `python -m atenta.recipes.show_learning_curves outputs/a outputs/b --metric loss`."""

import argparse
import json
import sys
from pathlib import Path

from atenta.recipes.pictures.learning_curve import draw_learning_curves
from atenta.recipes.pictures.saving import save_picture


def main() -> None:
    """Draw a validation metric of the runs whose output folders the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="output folders of recipes that ran to their end")
    parser.add_argument("--metric", default="loss", help="a validation metric that each has (default: loss)")
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    log_histories = {}
    for folder in options.folders:
        file = folder / "metrics.json"
        if not file.is_file():
            sys.exit(f"found no {file}; expected the output folder of a recipe that ran to its end")
        metrics = json.loads(file.read_text(encoding="utf-8"))
        if "training" not in metrics:
            sys.exit(f"{file} tells of no training; expected the output folder of a recipe that trains by gradient")
        log_histories[str(folder)] = metrics["training"]
    try:
        figure = draw_learning_curves(log_histories, options.metric)
    except ValueError as error:
        sys.exit(str(error))
    save_picture(figure, options.output_dir / "learning_curves.png")


if __name__ == "__main__":
    main()
