"""Options of the recipes: a YAML file, whose values flags override."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from transformers import HfArgumentParser


def parse_arguments(
    *dataclasses: type, description: str, default_config: Path, arguments: Sequence[str] | None = None
) -> tuple[Any, ...]:
    """Read the options of a recipe into its dataclasses.

    Values come from the dataclasses' defaults, overridden by the YAML file of `--config` (a flat map from option to
    value), overridden by flags.

    Args:
        dataclasses: what to fill, one object each; their fields' `help` is what `--help` shows.
        description: first lines of `--help`.
        default_config: the file that is read when `--config` is not given.
        arguments: in place of the command line's.

    Raises:
        SystemExit: an unknown option, in the file or on the command line, or a value of the wrong type. The message
            names it.
    """
    config = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    config.add_argument("--config", type=Path, default=default_config, help="YAML file of options; flags override it")
    parser = HfArgumentParser(
        dataclasses,
        description=description,
        parents=[config],
        usage="%(prog)s [--config FILE.yaml] [options]",
        formatter_class=partial(argparse.ArgumentDefaultsHelpFormatter, width=110),
        allow_abbrev=False,
    )
    # Before --help is answered, so that it shows what the file says as the defaults.
    parser.set_defaults(**_read_config(config.parse_known_args(arguments)[0].config, parser))
    *filled, _, unknown = parser.parse_args_into_dataclasses(
        arguments, look_for_args_file=False, return_remaining_strings=True
    )
    if unknown:
        parser.error(f"unknown {' '.join(unknown)}; see --help for the options there are")
    return tuple(filled)


def _read_config(path: Path, parser: argparse.ArgumentParser) -> dict[str, Any]:
    if not path.is_file():
        parser.error(f"--config {path}: there is no such file")
    options = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(options, dict):
        parser.error(f"{path}: expected lines of the form 'option: value', found {type(options).__name__}")
    known = {action.dest for action in parser._actions}
    if unknown := sorted(set(options) - known):
        parser.error(f"{path}: unknown option {', '.join(map(repr, unknown))}; see --help for those there are")
    # argparse converts and checks text only; so 1e-3, which YAML reads as text, and 0.001 come out alike.
    return {name: str(value) if isinstance(value, int | float | str) else value for name, value in options.items()}
