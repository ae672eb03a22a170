"""Draw what a model looks at: `python -m atenta.recipes.show_attention --model outputs/accents --text "A acao"`.

It writes a picture of each kind of attention, and attention.html, where kind, layer and head can be chosen.
"""

import argparse
import sys
from pathlib import Path

from atenta.recipes.decoding.loading import load_model
from atenta.recipes.pictures.attention import attention_maps, draw_attention, draw_heads
from atenta.recipes.pictures.attention_page import write_attention_page
from atenta.recipes.pictures.saving import save_picture


def main() -> None:
    """Draw the attention for the text of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder, or name on the Hub")
    parser.add_argument("--text", required=True, help="what the model reads")
    parser.add_argument("--target", help="what an encoder-decoder writes (default: what it generates)")
    parser.add_argument(
        "--layer", type=int, default=-1, help="counted from 0, or from -1 backwards (default: -1, the last)"
    )
    parser.add_argument("--head", type=int, help="counted from 0, or from -1 backwards (default: all heads)")
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    tokenizer, model = load_model(options.model)
    try:
        maps = attention_maps(model, tokenizer, options.text, options.target)
        if options.head is None:
            figures = [draw_heads(one, options.layer) for one in maps]
        else:
            figures = [draw_attention(one, options.layer, options.head) for one in maps]
    except (ValueError, IndexError) as error:
        sys.exit(str(error))
    for one, figure in zip(maps, figures):
        save_picture(figure, options.output_dir / f"{one.name.replace(' ', '_').replace('-', '_')}.png")
    print(write_attention_page(options.output_dir / "attention.html", maps))


if __name__ == "__main__":
    main()
