"""The options of the recipes that `atenta train` runs, from a table: `--help` without the libraries that train."""

import argparse
import re
import shutil
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

CONFIGS = Path(__file__).parent / "configs"
OTHER_OPTIONS = (
    "All other options of transformers.TrainingArguments are accepted too, under the same names. "
    "`null`, as in YAML, is no value, for options that may have none."
)
WRITE_TABLE = "PYTHONPATH=tests python tests/support/option_table.py"
"""The command that writes the table from the recipes, in a clone."""
_TABLE = Path(__file__).with_suffix(".yaml")
_WIDEST = 110  # columns of --help
_OF_DENOISING = ("denoising", "noise_density", "mean_span_length")  # once of seq2seq.py
# By an option of ours, what GPT-2, BART, T5, nanoGPT, JoeyNMT, yoyodyne and users call it.
_OF_OTHERS = {
    "hidden_size": ("d_model", "n_embd", "embed_dim", "embedding_dim", "embedding_size"),
    "intermediate_size": ("d_ff", "ffn_dim", "ff_size", "n_inner"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "attention_heads"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "encoder_layers": ("n_layer", "n_layers", "num_layers", "num_hidden_layers", "num_encoder_layers"),
    "learning_rate": ("lr",),
    "num_train_epochs": ("epochs", "num_epochs", "max_epochs"),
    "per_device_train_batch_size": ("batch_size", "train_batch_size"),
    "num_beams": ("beam_size", "beam_width", "beams"),
    "max_steps": ("max_iters", "steps"),
    "resume_from_checkpoint": ("resume",),
}
_FIELD = re.compile(r"^    (\w+): ", re.MULTILINE)  # of a dataclass


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows each option once, with underscores as in YAML, and an ellipsis for its value."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        spelling = action.option_strings[-1] if action.dest == "help" else action.option_strings[0]
        return spelling if action.nargs in (0, "?") else f"{spelling} {'…' if action.nargs is None else '… [… ]'}"


def parser_options(default_config: Path) -> dict[str, Any]:
    """Return the arguments of the `ArgumentParser` of a recipe, whose parent reads `--config`."""
    config = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    config.add_argument(
        "--config",
        type=Path,
        default=default_config,
        help="YAML file of options: a path, or the name of a file in recipes/configs; flags override it",
    )
    return {
        "parents": [config],
        "usage": "%(prog)s [--config FILE.yaml] [options]",
        "formatter_class": partial(_HelpFormatter, width=min(shutil.get_terminal_size().columns - 2, _WIDEST)),
        "allow_abbrev": False,
    }


def find_config(path: Path, folder: Path = CONFIGS) -> Path | None:
    """Return the file of options that a path names, or its name in a folder; nothing if there is neither."""
    return next((each for each in (path, folder / path) if each.is_file()), None)


def print_help(recipe: str, arguments: Sequence[str]) -> None:
    """Print the options of a recipe of the table, with the values of the file of `--config` as their defaults.

    Raises:
        ValueError: If there is no such file, or it holds no options, or the table lacks the recipe.
    """
    about = _describe_recipe(recipe)
    options = parser_options(CONFIGS / about["config"])
    epilog = OTHER_OPTIONS if "num_train_epochs" in option_names(recipe) else None
    parser = argparse.ArgumentParser(description=about["description"], epilog=epilog, **options)
    for title, rows in _groups(recipe).items():
        group = parser.add_argument_group(title)
        for name, (nargs, default, text) in rows.items():
            values = {"action": "store_true"} if nargs == 0 else {"nargs": nargs}
            group.add_argument(f"--{name}", default=default, help=text, **values)
    (config,) = options["parents"]
    parser.set_defaults(**_read_values(config.parse_known_args(arguments)[0].config))
    parser.print_help()


def option_names(recipe: str) -> list[str]:
    """Return the names of the options that `--help` of a recipe of the table lists."""
    return ["help", "config", *(name for rows in _groups(recipe).values() for name in rows)]


def check_names(recipe: str, arguments: Sequence[str]) -> None:
    """Refuse options that a recipe of the table does not have, before the libraries are imported that it needs.

    Raises:
        ValueError: If there is one, whose value, which may be a secret, is not in the message; or if words come before
            all options.
    """
    known = {*option_names(recipe), *_fields_of_transformers()}
    if words := list(takewhile(lambda word: not word.startswith("-"), arguments)):
        raise ValueError(place_words(words, known))
    for word in arguments:
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and name and name.replace("-", "_").removeprefix("no_") not in known:
            raise ValueError(f"unknown option --{name}; {suggest_option(name, sorted(known))}")


def suggest_option(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown option: the option that is spelt most like it, if one is."""
    written = name.removeprefix("--").partition("=")[0]
    if written in _OF_DENOISING:
        return "masked spans are restored by a recipe of their own, pretrain_denoising.py, without --denoising"
    known = list(known)
    meant = [ours for ours, theirs in _OF_OTHERS.items() if written.replace("-", "_") in theirs and ours in known]
    close = meant or get_close_matches(written, known, n=1)
    return f"did you mean {close[0]}? --help lists the options" if close else "--help lists the options"


def place_words(words: Sequence[str], known: Collection[str]) -> str:
    """Return the message about words that follow no option: they go after `--train_file`, if it is a known option."""
    text = " ".join(words)
    place = f"expected --train_file {text}" if "train_file" in known else "--help lists the options"
    return f"found {text}, and no option before; {place}"


def _groups(recipe: str) -> dict[str, dict[str, Any]]:
    """Return the groups of a recipe's options by title: how many values an option has, its default, and its text."""
    table = _read_table()
    groups: dict[str, dict[str, Any]] = {}
    options = table["options"]
    for each in _describe_recipe(recipe)["groups"]:
        names = table["groups"][each]["options"]
        groups[table["groups"][each]["title"]] = {name: options.get(f"{each}.{name}", options[name]) for name in names}
    return groups


def _describe_recipe(recipe: str) -> dict[str, Any]:
    """Return what the table has of a recipe: its file of options, its description and its groups."""
    recipes = _read_table()["recipes"]
    if recipe not in recipes:
        raise ValueError(f"{_TABLE} has no recipe {recipe}; expected it to be written again: {WRITE_TABLE}")
    return recipes[recipe]


def _read_values(path: Path) -> dict[str, Any]:
    file, values = find_config(path), None
    with suppress(OSError, ValueError, yaml.YAMLError):
        values = yaml.safe_load(file.read_text(encoding="utf-8")) if file else None
    if not isinstance(values, dict):
        raise ValueError(f"--config {path}: found no file of `option: value` lines, here or in {CONFIGS}")
    return {str(name): value for name, value in values.items()}


@cache
def _read_table() -> dict[str, Any]:
    return yaml.load(_TABLE.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _fields_of_transformers() -> set[str]:
    """Return the names of all options of transformers' `TrainingArguments`, without importing it."""
    spec = find_spec("transformers")
    files = Path(spec.origin).parent.glob("training_args*.py") if spec and spec.origin else []
    return {name for file in files for name in _FIELD.findall(file.read_text(encoding="utf-8"))}
