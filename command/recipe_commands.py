"""`atenta train`, `show` and `export`, which pass their options on to a recipe or a script of `recipes/`."""

from atenta.recipes.terminal import allow_interrupts

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from shutil import get_terminal_size
from textwrap import fill
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

# What `atenta train` runs, with what it trains. The modules are imported when they run.
RECIPES = {
    "pairs": "an encoder-decoder on a file of your own pairs: the options follow from it",
    "seq2seq": "an encoder-decoder on pairs of texts: accents, inflection, phones, transliteration",
    "pretrain_causal": "a decoder on texts",
    "pretrain_masked": "an encoder on texts",
    "pretrain_denoising": "an encoder-decoder on texts",
    "finetune_classification": "labels of texts",
    "finetune_tagging": "tags of words",
    "finetune_qa": "answers to questions about a text",
    "finetune_generation": "answers of a decoder to prompts",
    "finetune_characters": "restored characters: accents, capitals",
    "finetune_letters": "words whose letters become phones",
    "fit_pair_votes": "votes of pairs of tokens, by counting",
}
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Settings of a command whose options are those of a script."""


def _recipe_names(incomplete: str) -> list[str]:
    """Return what the shell completes."""
    return [name for name in RECIPES if name.startswith(incomplete)]


class RecipeCommand(TyperCommand):
    """`atenta train`, for which the shell completes the options of the recipe, which are those of its help."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the options of the recipe that is named before."""
        recipe = ctx.params.get("recipe")
        if recipe not in RECIPES:
            return super().shell_complete(ctx, incomplete)
        names = import_with_extra("atenta.recipes.option_table").option_names(recipe)
        found = [f"--{name}" for name in names if f"--{name}".startswith(incomplete)]
        return [SimpleNamespace(type="plain", value=name, help=None) for name in found]


def train(
    context: typer.Context,
    recipe: Annotated[str | None, typer.Argument(autocompletion=_recipe_names, help="A name of the list.")] = None,
) -> None:
    """Train a model with a recipe. Without a name: list the recipes.

    `atenta train seq2seq --help` lists the options of a recipe; they are passed on. On several GPUs or machines, start
    the recipe's script with `accelerate launch`.
    """
    if recipe in (None, "--help", "-h"):
        print("Usage: atenta train RECIPE [OPTIONS]\n\nRecipes, each with its own --help:\n")
        indent, width = " " * (max(map(len, RECIPES)) + 4), get_terminal_size().columns
        for name, about in RECIPES.items():
            start = f"  {name}".ljust(len(indent))
            print(fill(about, width, initial_indent=start, subsequent_indent=indent))
        print("\nOn several GPUs or machines:\n  accelerate launch recipes/RECIPE.py [OPTIONS]")
        return
    if recipe not in RECIPES:
        close = get_close_matches(str(recipe), RECIPES, n=1)
        raise typer.BadParameter(
            f"found {recipe!r}; " + (f"did you mean {close[0]}?" if close else f"expected {', '.join(RECIPES)}")
        )
    sys.argv = [f"atenta train {recipe}", *context.args]
    try:
        table = import_with_extra("atenta.recipes.option_table")
        if {"-h", "--help"} & {*context.args}:
            table.print_help(recipe, context.args)
            return
        table.check_names(recipe, context.args)
        module = import_with_extra(f"atenta.recipes.{recipe}")
        run_recipe = import_module("atenta.recipes.training.runs").run_recipe
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        raise typer.Exit(130) from None
    allow_interrupts()
    run_recipe(module.main)


def show(context: typer.Context) -> None:
    """Draw what a model does: attention, decoding, masks, positions, curves. See `atenta show --help`."""
    _run_script("show", "recipes", context.args)


def export(context: typer.Context) -> None:
    """Write a model as ONNX files, or for transformers alone, and compare them. See `atenta export --help`."""
    _run_script("export", "export", context.args)


def _run_script(name: str, extra: str, arguments: list[str]) -> None:
    sys.argv[0] = f"atenta {name}"  # which its help names
    with naming_extra(extra):
        module = import_module(f"atenta.recipes.{name}")
        allow_interrupts()
        module.main(arguments)


def import_with_extra(module: str) -> Any:
    """Return a module that needs the packages of the extra `recipes`."""
    with naming_extra("recipes"):
        return import_module(module)


@contextmanager
def naming_extra(extra: str) -> Iterator[None]:
    """Turn the error of a missing package into a line that names the extra with it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "atenta":
            raise
        raise SystemExit(f'This needs {error.name}: pip install "atenta[{extra}]"') from None
