"""The YAML files of options."""

import argparse
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml

CONFIGS = Path(__file__).parents[1] / "configs"
_NULL = "tag:yaml.org,2002:null"


class _Loader(yaml.SafeLoader):
    """Reads 1e-5 as a number, also within the mapping of an option; in YAML 1.1 it is a text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_config(path: Path, parser: argparse.ArgumentParser, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options in a YAML file, converted and checked as those of flags are.

    Args:
        path: The file, or the name of one in `recipes/configs`.
        parser: Knows the options, and is told of errors; it exits with a message that names the file.
        hints: The type of each option.
    """
    try:
        found = next((each for each in (path, CONFIGS / path) if each.is_file()), None)
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
        parser.error(f"{path}: unknown option {', '.join(map(repr, unknown))}; {suggest_option(unknown[0], parser)}")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        parser.error(f"{path}: more than one line for {', '.join(repeated)}; expected one")
    values = {}
    for name, (_, node) in zip(names, root.value):
        try:
            values[name] = _as_value(node, actions[name], hints[name], parser)
        except (argparse.ArgumentError, ValueError, yaml.YAMLError) as error:
            parser.error(f"{path}, line {node.start_mark.line + 1}: {name}: {getattr(error, 'message', error)}")
    return values


def suggest_option(name: str, parser: argparse.ArgumentParser) -> str:
    """Return the end of a message about an unknown option: the option that is spelt most like it, if one is."""
    given = name.removeprefix("--").partition("=")[0]
    close = get_close_matches(given, [action.dest for action in parser._actions], n=1)
    return f"did you mean {close[0]}? --help lists the options" if close else "--help lists the options"


def _as_value(node: yaml.Node, action: argparse.Action, hint: Any, parser: argparse.ArgumentParser) -> Any:
    """Return a value as the option's flag would have it.

    Plain values are converted from their text, so that 1e-3 is a number, which YAML 1.1 denies, and `no` or 010 stay
    as they are in an option that is a text.

    Raises:
        ValueError, argparse.ArgumentError, yaml.YAMLError: If it cannot be the option's value.
    """
    kinds = [get_origin(each) or each for each in _members(hint)]
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


def _members(hint: Any) -> Iterator[Any]:
    """Yield the types of which a type hint is the union."""
    if get_origin(hint) is Annotated:
        yield from _members(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _members(each)
    else:
        yield hint
