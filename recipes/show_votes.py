"""Draw who votes for what: `python -m atenta.recipes.show_votes --model outputs/pair_votes --text "o log"`."""

import argparse
import sys
from pathlib import Path

from atenta import AtentaPairVotesForCausalLM
from atenta.recipes.decoding.loading import load_model
from atenta.recipes.pictures.saving import save_picture
from atenta.recipes.pictures.votes import draw_votes


def main() -> None:
    """Draw the votes for what follows the text of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder, or name on the Hub, of a model of pair votes")
    parser.add_argument("--text", required=True, help="what the next token is to follow")
    parser.add_argument(
        "--feature_mask",
        nargs="+",
        type=float,
        metavar="NUMBER",
        help="from 0 to 1 for each token of the text: what its votes are multiplied by (default: 1 for all)",
    )
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    tokenizer, model = load_model(options.model)
    if not isinstance(model, AtentaPairVotesForCausalLM):
        sys.exit(f"{options.model} holds {type(model).__name__}, expected AtentaPairVotesForCausalLM")
    try:
        figure = draw_votes(model, tokenizer, options.text, options.feature_mask)
    except ValueError as error:
        sys.exit(str(error))
    save_picture(figure, options.output_dir / "votes.png")


if __name__ == "__main__":
    main()
