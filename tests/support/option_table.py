"""The table of options that `atenta train RECIPE --help` prints, made from the recipes: run this file to write it."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from atenta.command.recipe_commands import RECIPES
from atenta.recipes.training.parsing import make_parser

TABLE = Path(__file__).parents[2] / "recipes" / "option_table.yaml"


def make_table() -> dict[str, Any]:
    """Return what `--help` of the recipes prints: their groups, the options of these, and the options themselves.

    An option that is not the same in two groups has the name of the second group before its own.
    """
    recipes, groups, options = {}, {}, {}
    for name in RECIPES:
        dataclasses, about = parsed_by(name)
        about.pop("arguments", None)
        printed = {group.title: _rows(group) for group in make_parser(*dataclasses, **about)._action_groups}
        for each in dataclasses:
            rows = printed[each._argument_group_name]
            groups[each.__name__] = {"title": each._argument_group_name, "options": list(rows)}
            for option, row in rows.items():
                if options.setdefault(option, row) != row:
                    options[f"{each.__name__}.{option}"] = row
        description = " ".join(about["description"].split())
        titles = [each.__name__ for each in dataclasses]
        recipes[name] = {"config": about["default_config"], "description": description, "groups": titles}
    return {"recipes": recipes, "groups": groups, "options": options}


def parsed_by(name: str) -> tuple[tuple[type, ...], dict[str, str]]:
    """Return what a recipe gives to `parse_arguments`."""
    module = import_module(f"atenta.recipes.{name}")
    with patch.object(module, "parse_arguments", side_effect=SystemExit) as parse:
        try:
            module.main()
        except SystemExit:
            return parse.call_args.args, parse.call_args.kwargs
    raise AssertionError(f"{name} reads no options")


def _rows(group: Any) -> dict[str, list[Any]]:
    """Return how many values each listed option of a group has, its default, and its text."""
    listed = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
    return {
        action.option_strings[0].removeprefix("--"): [action.nargs, _plain(action.default), action.help]
        for action in listed
        if action.dest != "help"
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | list | None) else str(value)


if __name__ == "__main__":
    text = yaml.safe_dump(make_table(), allow_unicode=True, sort_keys=False, default_flow_style=None, width=119)
    TABLE.write_text(f"# Written by {Path(sys.argv[0]).name}.\n{text}", encoding="utf-8")
