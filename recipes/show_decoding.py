"""Show how a text is decoded: `python -m atenta.recipes.show_decoding --model outputs/accents --text "A acao"`.

It prints the candidates of each step, what the options left of them and what was chosen, and draws the same. The most
probable token is taken unless --num_beams or --do_sample say otherwise.
"""

import argparse
import sys
from pathlib import Path

from transformers import set_seed

from atenta.recipes.decoding.loading import load_model
from atenta.recipes.decoding.steps import decoding_steps
from atenta.recipes.pictures.decoding import draw_decoding
from atenta.recipes.pictures.saving import save_picture
from atenta.recipes.reporting.decoding_table import decoding_table


def main() -> None:
    """Show how the model continues the text of the command line or, an encoder-decoder, what it makes of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder, or name on the Hub, of a model that generates")
    parser.add_argument("--text", required=True, help="a decoder's prompt, or an encoder-decoder's source")
    parser.add_argument("--max_new_tokens", type=int, default=14, help="number of steps at most (default: 14)")
    parser.add_argument("--num_candidates", type=int, default=5, help="candidates shown of each text (default: 5)")
    search = parser.add_mutually_exclusive_group()
    search.add_argument("--num_beams", type=int, default=1, help="width of the beam search; 1 is greedy (default: 1)")
    search.add_argument("--do_sample", action="store_true", help="draw each token")
    for name, kind, text in (
        ("temperature", float, "below 1 draws are surer, above 1 more varied (default: the model's, or 1)"),
        ("top_k", int, "draw among so many tokens, the most probable; 0: among all (default: the model's, or 50)"),
        (
            "top_p",
            float,
            "draw among the most probable that have this much together (default: the model's, or 1)",
        ),
    ):
        parser.add_argument(f"--{name}", type=kind, help=f"with --do_sample: {text}")
    parser.add_argument("--seed", type=int, default=42, help="of the draws (default: 42)")
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/pictures"), help="(default: %(default)s)")
    options = parser.parse_args()
    warping = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    warping = {name: value for name, value in warping.items() if value is not None}
    if warping and not options.do_sample:
        parser.error(f"--{', --'.join(warping)}: needs --do_sample, as nothing is drawn without it")
    tokenizer, model = load_model(options.model)
    if not model.can_generate():
        sys.exit(f"{options.model} holds {type(model).__name__}, expected a model that generates")
    model.generation_config.max_length = None  # --max_new_tokens is the limit
    set_seed(options.seed)
    try:
        steps = list(
            decoding_steps(
                model,
                **tokenizer(options.text, return_tensors="pt"),
                max_new_tokens=options.max_new_tokens,
                num_candidates=options.num_candidates,
                num_beams=options.num_beams,
                do_sample=options.do_sample,
                **warping,
            )
        )
    except ValueError as error:
        sys.exit(str(error))
    print(decoding_table(steps, tokenizer))
    save_picture(draw_decoding(steps, tokenizer), options.output_dir / "decoding.png")


if __name__ == "__main__":
    main()
