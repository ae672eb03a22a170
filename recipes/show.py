"""Show what a model does, or how runs trained: `atenta show attention --model outputs/accents --text acao`.

Pictures are saved as PNG files in --output_dir, and their paths are printed. `atenta show COMMAND --help` lists the
options of a command.
"""

from atenta.recipes.terminal import escape_missing_characters

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from atenta.recipes.option_annotations import TRUST_REMOTE_CODE
from atenta.recipes.reading.records import printable
from atenta.tokenization.text_windows import name_source

# What loads and draws is imported by each command: `--help` and wrong options wait for none of it.

_MOST_DRAWN = 500  # tokens


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the command line names.

    Raises:
        SystemExit: If the options are invalid, or the command cannot be run with them. The message is one line.
    """
    escape_missing_characters()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, title="commands", metavar="COMMAND")
    for add in (_add_attention, _add_decoding, _add_masks, _add_positions, _add_votes, _add_curves, _add_comparison):
        add(commands)
    options = parser.parse_args(arguments)
    _point_out_files(options)
    try:
        if "output_dir" in options:
            from atenta.recipes.pictures.drawing import check_writable
            from atenta.recipes.pictures.words import set_language

            check_writable(options.output_dir)
            set_language(options.language)
        options.show(options)
    except KeyboardInterrupt:
        print("\nStopped. The pictures whose paths are printed are complete.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # `| head`: the command ends without a word
        raise
    except (ValueError, IndexError, OSError) as error:
        sys.exit(printable(" ".join(str(error).split())))


def _point_out_files(options: argparse.Namespace) -> None:
    """Print which texts are also the names of files, whose content is not read."""
    for name in ("text", "target"):
        given = getattr(options, name, None) or []
        for text in [given] if isinstance(given, str) else given:
            if os.path.isfile(text):
                hint = f'there is a file of this name, which --{name} "$(cat {shlex.quote(text)})" would read'
                print(f"warning: --{name} {name_source(text)}: {hint}", file=sys.stderr)


def _add_attention(commands: Any) -> None:
    command = _add_command(commands, "attention", _show_attention, reads_model=True)
    command.add_argument("--text", required=True, help=f"the text that the model reads, at most {_MOST_DRAWN} tokens")
    command.add_argument(
        "--target", help="the text that the decoder of an encoder-decoder reads (default: what the model generates)"
    )
    command.add_argument(
        "--layer", type=int, default=-1, help="index from 0, or from -1 backwards (default: -1, the last)"
    )
    command.add_argument("--head", type=int, help="index from 0, or from -1 backwards (default: all heads)")


def _show_attention(options: argparse.Namespace) -> None:
    """Draw attention weights, and write attention.html to browse all layers and heads."""
    from atenta.recipes.pictures.attention_maps import attention_maps, draw_attention, draw_heads, write_attention_page

    tokenizer, model = _load(options)
    _check_lengths(tokenizer, options.text, options.target)
    maps = attention_maps(model, tokenizer, options.text, options.target)
    figures = [
        draw_heads(one, options.layer) if options.head is None else draw_attention(one, options.layer, options.head)
        for one in maps
    ]
    for one, figure in zip(maps, figures):
        _save(figure, options, one.name.replace(" ", "_").replace("-", "_"))
    print(write_attention_page(options.output_dir / "attention.html", maps))


def _add_decoding(commands: Any) -> None:
    command = _add_command(commands, "decoding", _show_decoding, reads_model=True)
    command.add_argument("--text", required=True, help="the prompt of a decoder, or the source of an encoder-decoder")
    command.add_argument("--max_new_tokens", type=int, default=14, help="maximum number of steps (default: 14)")
    command.add_argument("--num_candidates", type=int, default=5, help="candidates shown per hypothesis (default: 5)")
    search = command.add_mutually_exclusive_group()
    search.add_argument("--num_beams", type=int, default=1, help="beam width; 1 is greedy search (default: 1)")
    search.add_argument("--do_sample", action="store_true", help="sample each token")
    sampling = command.add_argument_group("sampling", "options for --do_sample")
    sampling.add_argument(
        "--temperature", type=float, help="below 1 less varied, above 1 more varied (default: the model's, or 1)"
    )
    sampling.add_argument(
        "--top_k", type=int, help="keep the N most probable tokens; 0: all (default: the model's, or 50)", metavar="N"
    )
    sampling.add_argument(
        "--top_p",
        type=float,
        help="keep the most probable tokens with this total probability (default: the model's, or 1)",
    )
    sampling.add_argument("--seed", type=int, default=42, help="seed of the sampling (default: 42)")


def _show_decoding(options: argparse.Namespace) -> None:
    """Print and draw each step of decoding: the candidates, what the options leave of them, and the choice."""
    sampling = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    sampling = {name: value for name, value in sampling.items() if value is not None}
    if sampling and not options.do_sample:
        raise ValueError(f"--{', --'.join(sampling)}: used only for sampling; add --do_sample")
    from transformers import set_seed

    from atenta.engines.kinds import prompt_separator
    from atenta.recipes.decoding.steps import decoding_steps
    from atenta.recipes.pictures.decoding_charts import decoding_table, draw_decoding

    tokenizer, model = _load(options)
    if not model.can_generate():
        raise ValueError(f"{options.model} holds {type(model).__name__}; expected a model that generates")
    model.generation_config.max_length = None  # --max_new_tokens is the limit
    set_seed(options.seed)
    steps = list(
        decoding_steps(
            model,
            **tokenizer(options.text + prompt_separator(model.config.to_dict()), return_tensors="pt"),
            max_new_tokens=options.max_new_tokens,
            num_candidates=options.num_candidates,
            num_beams=options.num_beams,
            do_sample=options.do_sample,
            **sampling,
        )
    )
    print(printable(decoding_table(steps, tokenizer)))
    _save(draw_decoding(steps, tokenizer), options, "decoding")


def _add_masks(commands: Any) -> None:
    command = _add_command(commands, "masks", _show_masks, reads_model=True)
    command.add_argument(
        "--text",
        required=True,
        nargs="+",
        metavar="TEXT",
        help=f"the texts of the batch, at most {_MOST_DRAWN} tokens each",
    )
    command.add_argument(
        "--target",
        nargs="+",
        metavar="TEXT",
        help="the texts that the decoder of an encoder-decoder reads (default: what the model generates)",
    )


def _show_masks(options: argparse.Namespace) -> None:
    """Draw the attention masks of a padded batch."""
    from atenta.recipes.pictures.attention_maps import draw_masks

    tokenizer, model = _load(options)
    _check_lengths(tokenizer, *options.text, *(options.target or []))
    _save(draw_masks(model, tokenizer, options.text, options.target), options, "masks")


def _check_lengths(tokenizer: Any, *texts: str | None) -> None:
    """Refuse texts whose maps, which grow with the square of their length, would take minutes and all memory."""
    longest = max(len(tokenizer(text).input_ids) for text in texts if text is not None)
    if longest > _MOST_DRAWN:
        raise ValueError(f"found a text of {longest} tokens; expected at most {_MOST_DRAWN}: give a part of it")


def _add_positions(commands: Any) -> None:
    command = _add_command(commands, "positions", _show_positions, reads_model=True)
    command.add_argument("--length", type=int, default=64, help="number of positions (default: 64)")


def _show_positions(options: argparse.Namespace) -> None:
    """Draw the position vectors and their similarity, one picture per table of learned positions."""
    if options.length < 1:
        raise ValueError(f"--length is {options.length}; expected 1 or more")
    from atenta.modeling.positions import LearnedPositions
    from atenta.recipes.pictures.position_maps import draw_positions

    _, model = _load(options)
    tables = {name: part.weight for name, part in model.named_modules() if isinstance(part, LearnedPositions)}
    drawn = tables.items() or [("positions", None)]
    figures = {name: draw_positions(model.config, options.length, weights) for name, weights in drawn}
    for name, figure in figures.items():
        _save(figure, options, name)


def _add_votes(commands: Any) -> None:
    command = _add_command(commands, "votes", _show_votes, reads_model=True)
    command.add_argument("--text", required=True, help="the text before the predicted token")
    command.add_argument(
        "--feature_mask",
        nargs="+",
        type=float,
        metavar="NUMBER",
        help="a factor from 0 to 1 for the votes of each token of the text (default: 1 for all)",
    )


def _show_votes(options: argparse.Namespace) -> None:
    """Draw the votes of each earlier token for the next one, in a pair-votes model (document 1)."""
    from atenta import AtentaPairVotesForCausalLM
    from atenta.recipes.pictures.votes import draw_votes

    tokenizer, model = _load(options)
    if not isinstance(model, AtentaPairVotesForCausalLM):
        raise ValueError(f"{options.model} holds {type(model).__name__}; expected AtentaPairVotesForCausalLM")
    _save(draw_votes(model, tokenizer, options.text, options.feature_mask), options, "votes")


def _add_curves(commands: Any) -> None:
    command = _add_command(commands, "curves", _show_curves)
    command.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="output folders of finished recipes")
    command.add_argument("--metric", default="loss", help="a validation metric that every run has (default: loss)")
    _add_picture_options(command)


def _show_curves(options: argparse.Namespace) -> None:
    """Draw a validation metric of one or more runs against training steps."""
    histories = {str(folder): _read_metrics(folder, "training", list) for folder in options.folders}
    from atenta.recipes.pictures.run_charts import draw_learning_curves

    _save(draw_learning_curves(histories, options.metric), options, "learning_curves")


def _add_comparison(commands: Any) -> None:
    command = _add_command(commands, "comparison", _show_comparison)
    command.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="output folders of one recipe, on the same test data"
    )


def _show_comparison(options: argparse.Namespace) -> None:
    """Print the test scores of one or more runs as one table, with a line for each distinct baseline."""
    from atenta.recipes.training.results import table

    rows: dict[str, dict[str, float]] = {}
    for folder in options.folders:
        for name, scores in _read_metrics(folder, "test", dict).items():
            same_for_all = not name.startswith("model") and rows.get(name, scores) == scores
            rows[name if same_for_all else f"{folder}: {name}"] = scores
    print(printable(table(rows)))


def _load(options: argparse.Namespace) -> tuple[Any, Any]:
    from atenta.recipes.decoding.loading import load_model

    tokenizer, model = load_model(options.model, trust_remote_code=options.trust_remote_code)
    if (ids := getattr(model.config, "tag_token_ids", None)) and "text" in options:
        tags = tokenizer.convert_ids_to_tokens(ids)
        single = isinstance(options.text, str)
        texts = [_tags_first(text, tags) for text in ([options.text] if single else options.text)]
        options.text = texts[0] if single else texts
        tokenizer.split_special_tokens = False  # so that tags in a text are tokens
    return tokenizer, model


def _tags_first(text: str, known: Sequence[str]) -> str:
    """Return a text after the tags that follow it behind a tab, as `atenta predict` takes them."""
    source, tab, after = text.rpartition("\t")
    if not tab:
        print("warning: the model was trained with tags; expected them after a tab: ser<TAB>V;1;SG", file=sys.stderr)
        source, after = text, ""
    tags = [f"<{tag}>" for tag in after.split(";") if tag]
    if unfit := [tag for tag in tags if tag not in known] or [tag for tag in known if tag in source]:
        expected = f"expected tags of the model after a tab: {', '.join(known)}"
        raise ValueError(f"found {unfit[0]} in {text!r:.60}; {expected}")
    return "".join(tags) + source


def _save(figure: Any, options: argparse.Namespace, name: str) -> None:
    from atenta.recipes.pictures.drawing import save_picture

    save_picture(figure, options.output_dir / f"{name}.png")


def _add_command(
    commands: Any, name: str, show: Callable[[argparse.Namespace], None], *, reads_model: bool = False
) -> argparse.ArgumentParser:
    """Add a command whose help is the docstring of the function that it calls."""
    command = commands.add_parser(name, help=show.__doc__, description=show.__doc__)
    command.set_defaults(show=show)
    if reads_model:
        command.add_argument("--model", required=True, help="folder of a model, or its name on the Hub")
        command.add_argument("--trust_remote_code", action="store_true", help=TRUST_REMOTE_CODE)
        _add_picture_options(command)
    return command


def _add_picture_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output_dir",
        type=Path,
        default=Path("outputs/pictures"),
        help="folder of the pictures (default: %(default)s)",
    )
    command.add_argument(
        "--language", choices=("en", "pt"), default="en", help="language of what is drawn (default: %(default)s)"
    )


def _read_metrics(folder: Path, part: str, kind: type[list | dict]) -> Any:
    """Return a part of a run's metrics: `training`, a list of the figures of steps, or `test`, the scores by name."""
    from atenta.engines.saved_model import read_saved

    file = folder / "metrics.json"
    if not file.is_file():
        raise ValueError(f"found no {file}; expected the output folder of a finished recipe")
    found = read_saved(file).get(part)
    if found is None and kind is list:
        raise ValueError(f"{file} has no training log; expected a recipe that trains by gradient")
    rows = found.values() if isinstance(found, dict) else found
    if not (found and isinstance(found, kind) and all(_are_figures(row, needs_step=kind is list) for row in rows)):
        raise ValueError(f"{file} has no {part} figures; expected those that a recipe writes: run it again")
    return found


def _are_figures(row: Any, *, needs_step: bool) -> bool:
    are_numbers = isinstance(row, dict) and all(isinstance(each, int | float | None) for each in row.values())
    return are_numbers and ("step" in row or not needs_step)


if __name__ == "__main__":
    main()
