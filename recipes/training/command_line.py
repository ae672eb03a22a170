"""The command line of the recipes: a YAML file of options, whose values flags override."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from transformers import HfArgumentParser, TrainingArguments

from atenta.recipes.training.options import SHOWN_IN_HELP

CONFIGS = Path(__file__).parents[1] / "configs"
TRAINING_OPTIONS = "Every other option of transformers.TrainingArguments is taken too, by its name there."


def parse_arguments(
    *dataclasses: type, description: str, default_config: str, arguments: Sequence[str] | None = None
) -> tuple[Any, ...]:
    """Read the options of a recipe into its dataclasses.

    Values come from the dataclasses' defaults, overridden by the YAML file of `--config` (a flat map from option to
    value), overridden by flags.

    Args:
        dataclasses: what to fill, one object each; their fields' `help` is what `--help` shows.
        description: first lines of `--help`.
        default_config: the file in `recipes/configs` that is read when `--config` is not given.
        arguments: in place of the command line's.

    Raises:
        SystemExit: an unknown option, in the file or on the command line, a value of the wrong type, or options that
            do not go together. The message names them.
    """
    config = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    told = "YAML file of options, here or in recipes/configs; flags override it"
    config.add_argument("--config", type=Path, default=CONFIGS / default_config, help=told)
    parser = HfArgumentParser(
        dataclasses,
        description=description,
        epilog=TRAINING_OPTIONS if any(issubclass(each, TrainingArguments) for each in dataclasses) else None,
        parents=[config],
        usage="%(prog)s [--config FILE.yaml] [options]",
        formatter_class=partial(_Formatter, width=110),
        allow_abbrev=False,
    )
    # Before --help is answered, so that it shows what the file says as the defaults.
    parser.set_defaults(**_read_config(config.parse_known_args(arguments)[0].config, parser))
    for action in parser._actions:
        if action.dest not in SHOWN_IN_HELP and action.container.title == "training":
            action.help = argparse.SUPPRESS
    try:
        *filled, _, unknown = parser.parse_args_into_dataclasses(
            arguments, look_for_args_file=False, return_remaining_strings=True
        )
    except ValueError as error:  # options that do not go together
        parser.error(str(error))
    if unknown:
        parser.error(f"unknown {' '.join(unknown)}; see --help for the options there are")
    return tuple(filled)


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows one spelling of each option, by underscores as in YAML, and no metavariable that only repeats it."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        spelling = action.option_strings[-1] if action.dest == "help" else action.option_strings[0]
        return spelling if action.nargs in (0, "?") else f"{spelling} {'…' if action.nargs is None else '… [… ]'}"


def _read_config(path: Path, parser: argparse.ArgumentParser) -> dict[str, Any]:
    path = path if path.is_file() else CONFIGS / path
    if not path.is_file():
        parser.error(f"--config {path.name}: there is no such file here, nor in {CONFIGS}")
    options = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(options, dict):
        parser.error(f"{path}: expected lines of the form 'option: value', found {type(options).__name__}")
    actions = {action.dest: action for action in parser._actions}
    if unknown := sorted(set(options) - set(actions)):
        parser.error(f"{path}: unknown option {', '.join(map(repr, unknown))}; see --help for those there are")
    return {name: _as_default(value, actions[name]) for name, value in options.items()}


def _as_default(value: Any, action: argparse.Action) -> Any:
    """Return a value as text, which argparse converts and checks; so 1e-3, text to YAML, and 0.001 come out alike."""
    if value is None:
        return None
    if action.nargs == "+":  # argparse converts no lists
        return [action.type(str(one)) for one in (value if isinstance(value, list) else [value])]
    # Some options of transformers take a text or more: `report_to: [tensorboard, trackio]`.
    return value if action.type is str and isinstance(value, list | dict) else str(value)
