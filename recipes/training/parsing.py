"""The command line and the YAML file of `--config`, which fill the dataclasses of options."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

import yaml
from transformers import HfArgumentParser, TrainingArguments

from atenta.recipes.option_annotations import Mark, Option, options_of
from atenta.recipes.option_table import (
    CONFIGS,
    OTHER_OPTIONS,
    find_config,
    parser_options,
    place_words,
    suggest_option,
)
from atenta.recipes.training.options import OF_THE_KIND

_NULL = "tag:yaml.org,2002:null"


def given_options(arguments: Sequence[str] | None = None) -> set[str]:
    """Return the names of the options on the command line; that of `--no_streaming` is `streaming`."""
    words = sys.argv[1:] if arguments is None else arguments
    names = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    return {name.removeprefix("no_") for name in names}


def parse_arguments(
    *dataclasses: type, description: str, default_config: str, arguments: Sequence[str] | None = None
) -> tuple[Any, ...]:
    """Read the options of a recipe into its dataclasses.

    Flags override the YAML file of `--config` (a flat mapping from option to value), which overrides the defaults of
    the dataclasses.

    Args:
        dataclasses: One object of each is returned; `--help` shows the texts of their annotations.
        description: First lines of `--help`.
        default_config: File in `recipes/configs` that is read if `--config` is not given.
        arguments: Used instead of the command line.

    Raises:
        SystemExit: If an option in the file or on the command line is unknown, a value has the wrong type, or options
            contradict each other. The message names them.
    """
    parser = make_parser(*dataclasses, description=description, default_config=default_config)
    # The file is read before --help is printed, which then shows its values as the defaults.
    parser.set_defaults(**_read_config(parser.config.parse_known_args(arguments)[0].config, parser))
    try:
        *filled, _, unknown = parser.parse_args_into_dataclasses(
            arguments, look_for_args_file=False, return_remaining_strings=True
        )
    except (ValueError, TypeError, OSError, ImportError) as error:  # transformers checks its options with all of these
        parser.error(str(error))
    if unknown:
        # Their values may be secrets, as in --hub_tok.
        named = [word.partition("=")[0] for word in unknown if word.startswith("--")]
        named = named or [word for word in unknown if word.startswith("-")]
        if named:
            parser.error(f"unknown option {' '.join(named)}; {suggest_option(named[0], parser.names())}")
        parser.error(place_words(unknown, parser.names()))
    _check_together({name: value for each in filled for name, value in vars(each).items()}, arguments, parser)
    return tuple(filled)


def _check_together(values: Mapping[str, Any], arguments: Sequence[str] | None, parser: "_Parser") -> None:
    """Refuse options of different dataclasses that exclude each other."""
    if values.get("streaming") and values.get("max_steps", 1) < 1:
        parser.error("--streaming reads rows without end: give --max_steps")
    if values.get("streaming") and values.get("max_tokens_per_batch"):
        parser.error(
            "--streaming reads rows of any lengths: give --max_tokens_per_batch null, and "
            "--per_device_train_batch_size"
        )
    if values.get("streaming") and "epoch" in (values.get("eval_strategy"), values.get("save_strategy")):
        parser.error(
            "--streaming makes all steps one epoch: in place of epoch give --eval_strategy steps, --save_strategy "
            "steps, --eval_steps and --save_steps"
        )
    if values.get("lora_rank") and (values["average_last_checkpoints"] or values["average_best_checkpoints"]):
        parser.error("--lora_rank and an average exclude each other: checkpoints of LoRA do not hold all weights")
    # Sizes may be given: a command may be that of the new model but for the saved one.
    given = sorted(given_options(arguments).intersection(OF_THE_KIND))
    if given and (saved := values.get("model_name_or_path")) is not None:
        parser.error(
            f"--{', --'.join(given)}: the saved model {saved} keeps its own; leave out what is given, or give "
            "--model_name_or_path null"
        )


def make_parser(*dataclasses: type, description: str, default_config: str) -> "_Parser":
    """Return the parser of `parse_arguments`; the file of options is not read yet."""
    epilog = OTHER_OPTIONS if any(issubclass(each, TrainingArguments) for each in dataclasses) else None
    options = parser_options(CONFIGS / default_config)
    parser = _Parser(dataclasses, description=description, epilog=epilog, **options)
    (parser.config,) = options["parents"]
    for action in parser._actions:
        if option := parser.options.get(action.dest):
            action.help = argparse.SUPPRESS if Mark.HIDDEN in option.marks else option.help or action.help
    return parser


class _Parser(HfArgumentParser):
    """Checks the ranges of numbers, and writes every error in one line."""

    config: argparse.ArgumentParser  # reads `--config` alone

    @cached_property
    def options(self) -> dict[str, Option]:
        """The options of all dataclasses, by name."""
        return options_of(*self.dataclass_types)

    def names(self) -> list[str]:
        """Return the names of all options."""
        return [action.dest for action in self._actions]

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert the text of a value; `null` is none, as in YAML, for an option that may have none."""
        if arg_string == "null" and action.nargs != "+" and self._may_be_none(action):
            return None
        return super()._get_value(action, arg_string)  # type: ignore[misc]  # argparse's own

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Convert the texts of several values, of which `null` by itself is none."""
        if action.nargs == "+" and arg_strings == ["null"] and self._may_be_none(action):
            return None
        return super()._get_values(action, arg_strings)  # type: ignore[misc]  # argparse's own

    def _may_be_none(self, action: argparse.Action) -> bool:
        option = self.options.get(action.dest)
        return option is not None and type(None) in _members(option.hint)

    def parse_known_args(  # type: ignore[override]  # argparse declares overloads
        self, *arguments: Any, **options: Any
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the options, and check their ranges before the dataclasses are made."""
        namespace, unknown = super().parse_known_args(*arguments, **options)
        for name, option in self.options.items():
            values = getattr(namespace, name, None)
            for value in values if isinstance(values, list) else [values]:
                if option.range is not None and value is not None and not option.range.holds(value):
                    self.error(f"--{name} {value}: expected {option.range.words}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with a message, in one line."""
        super().error(" ".join(message.split()))


class _Loader(yaml.SafeLoader):
    """Reads 1e-5 as a number, also within the mapping of an option; in YAML 1.1 it is a text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _read_config(path: Path, parser: _Parser) -> dict[str, Any]:
    """Return the values of the options in a YAML file, or one in `recipes/configs`, checked as those of flags are."""
    try:
        found = find_config(path, CONFIGS)
        if found is None:
            parser.error(f"--config {path}: found no such file here or in {CONFIGS}")
        root = yaml.compose(found.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"--config {path}: expected a readable file in UTF-8: {error}")
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        parser.error(f"{path}{where}: expected YAML: {getattr(error, 'problem', None) or error}")
    if not isinstance(root, yaml.MappingNode):
        kind = "nothing" if root is None else root.id
        parser.error(f"{path}: expected lines of the form 'option: value', found {kind}")
    # Reversed, because `--no_x` follows `--x` under the same name.
    actions = {action.dest: action for action in reversed(parser._actions) if action.dest not in ("help", "config")}
    names = [name.value for name, _ in root.value]
    if unknown := sorted({str(name) for name in names} - actions.keys()):
        parser.error(
            f"{path}: unknown option {', '.join(map(repr, unknown))}; {suggest_option(unknown[0], parser.names())}"
        )
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        parser.error(f"{path}: more than one line for {', '.join(repeated)}; expected one")
    values = {}
    for name, (_, node) in zip(names, root.value):
        try:
            values[name] = _as_value(node, actions[name], parser)
        except (argparse.ArgumentError, ValueError, yaml.YAMLError) as error:
            parser.error(f"{path}, line {node.start_mark.line + 1}: {name}: {getattr(error, 'message', error)}")
    return values


def _as_value(node: yaml.Node, action: argparse.Action, parser: _Parser) -> Any:
    """Return a value as the option's flag would have it.

    Plain values are converted from their text, so that 1e-3 is a number, which YAML 1.1 denies, and `no` or 010 stay
    as they are in an option that is a text.
    """
    kinds = [get_origin(each) or each for each in _members(parser.options[action.dest].hint)]
    if node.tag == _NULL:
        if type(None) not in kinds:
            raise ValueError("expected a value, found nothing")
        return None
    if isinstance(node, yaml.MappingNode) and dict in kinds:
        return yaml.constructor.SafeConstructor().construct_document(node)
    several = list in kinds and (isinstance(node, yaml.SequenceNode) or action.nargs == "+")
    parts = node.value if several and isinstance(node, yaml.SequenceNode) else [node]
    if not all(isinstance(part, yaml.ScalarNode) and part.tag != _NULL for part in parts):
        raise ValueError(f"expected {'one or more values' if list in kinds else 'one value'}, found a {node.id}")
    values = []
    for part in parts:
        values.append(parser._get_value(action, part.value))
        parser._check_value(action, values[-1])
    return values if several else values[0]


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types of which a type hint is the union."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
