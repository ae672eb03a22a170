"""Draw who may see whom in a batch: `python -m atenta.recipes.show_masks --model outputs/accents --text acao nao`."""

import argparse
import sys
from pathlib import Path

from atenta.recipes.decoding.loading import load_model
from atenta.recipes.pictures.masks import draw_masks
from atenta.recipes.pictures.saving import save_picture


def main() -> None:
    """Draw the masks with which a model reads the texts of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder, or name on the Hub")
    parser.add_argument("--text", required=True, nargs="+", metavar="TEXT", help="the texts of the batch")
    parser.add_argument(
        "--target", nargs="+", metavar="TEXT", help="what an encoder-decoder writes (default: what it generates)"
    )
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    tokenizer, model = load_model(options.model)
    try:
        figure = draw_masks(model, tokenizer, options.text, options.target)
    except ValueError as error:
        sys.exit(str(error))
    save_picture(figure, options.output_dir / "masks.png")


if __name__ == "__main__":
    main()
