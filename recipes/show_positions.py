"""Draw how a model is told of positions: `python -m atenta.recipes.show_positions --model outputs/accents`."""

import argparse
import sys
from pathlib import Path

from atenta.modeling.positions import LearnedPositions
from atenta.recipes.decoding.loading import load_model
from atenta.recipes.pictures.positions import draw_positions
from atenta.recipes.pictures.saving import save_picture


def main() -> None:
    """Draw the positions of the model of the command line: each table of learned ones, or those computed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder, or name on the Hub")
    parser.add_argument("--length", type=int, default=64, help="number of positions (default: 64)")
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    if options.length < 1:
        parser.error(f"--length {options.length}: at least 1 is needed")
    _, model = load_model(options.model)
    learned = {name: part.weight for name, part in model.named_modules() if isinstance(part, LearnedPositions)}
    for name, table in (learned or {"positions": None}).items():
        try:
            figure = draw_positions(model.config, options.length, table)
        except ValueError as error:
            sys.exit(str(error))
        save_picture(figure, options.output_dir / f"{name}.png")


if __name__ == "__main__":
    main()
