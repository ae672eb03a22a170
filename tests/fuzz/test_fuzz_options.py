"""Command lines and YAML files of every recipe that trains: valid, out of range, of another type, unknown, broken."""

import io
import math
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atenta.command.recipe_commands import RECIPES as COMMANDS
from atenta.recipes.option_annotations import Mark, options_of
from atenta.recipes.training.parsing import parse_arguments
from support.option_table import parsed_by

RECIPES = [name for name in COMMANDS if name != "pairs"]  # which has options of its own
# Launchers set the rank. The others are replaced by what they stand for: `all`, `none`, another name, a full path.
REPLACED = {"local_rank", "report_to", "optim", "gradient_checkpointing", "torch_compile", "output_dir"}
FILLED_IN = {"eval_steps", "metric_for_best_model", "greater_is_better"}  # by transformers, where they are null
BELOW_0 = {"max_steps": -1}
TRUTH = {"true": True, "yes": True, "1": True, "t": True, "y": True}
TRUTH |= {"false": False, "no": False, "0": False, "f": False, "n": False}


CALLS = {recipe: parsed_by(recipe) for recipe in RECIPES}


def _members(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]


def _kinds(recipe: str) -> dict[str, set[type]]:
    """Return the types of each option: {list, str} for a list of texts, {int, NoneType} for a number or nothing."""
    found = {}
    for name, option in options_of(*CALLS[recipe][0]).items():
        members = _members(option.hint)
        members += [inner for member in members if get_origin(member) is list for inner in get_args(member)]
        kinds = {get_origin(member) or member for member in members}
        kinds = {str if isinstance(kind, type) and issubclass(kind, Enum) else kind for kind in kinds}
        shown = Mark.HIDDEN not in option.marks or kinds & {int, float}
        if shown and name not in REPLACED and kinds & set(values):
            found[name] = kinds
    return found


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
numbers = st.one_of(
    st.integers(-3, 300).map(str),
    st.floats().map(str),
    st.floats(0, 1).map(str),
    st.sampled_from(("nan", "inf", "-inf", "1e400", "-0", "1e-3", "010", "1_0", "0x10", "1:30", "٣", "")),
    st.integers(10**18, 10**30).map(str),
)
values = {
    int: st.one_of(*[st.integers(1, 64).map(str)] * 3, numbers, texts),
    float: st.one_of(*[st.floats(0.01, 0.9).map(str)] * 3, numbers, texts),
    bool: st.one_of(*[st.sampled_from(tuple(TRUTH))] * 3, st.sampled_from(("on", "NO", "2")), texts),
    str: st.one_of(
        texts, st.sampled_from(("no", "steps", "epoch", "linear", "exact_match", "relu", "rotary", "line", "words"))
    ),
}


KINDS = {recipe: _kinds(recipe) for recipe in RECIPES}


@st.composite
def some_options(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a recipe and some of its options, as texts or lists of them."""
    recipe = draw(st.sampled_from(RECIPES))
    kinds = KINDS[recipe]
    options = {}
    for name in draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3, unique=True)):
        value = values[next(kind for kind in (bool, int, float, str) if kind in kinds[name])]
        options[name] = draw(st.lists(value, min_size=1, max_size=3) if list in kinds[name] else value)
    return recipe, options


def parse(recipe: str, arguments: list[str]) -> dict[str, Any] | str:
    """Return the values of all options, or the message with which they are refused."""
    dataclasses, options = CALLS[recipe]
    if "use_cpu" in {field.name for each in dataclasses for field in fields(each)}:
        arguments = [*arguments, "--use_cpu", "true"]
    written = io.StringIO()
    try:
        with redirect_stderr(written), redirect_stdout(written):
            filled = parse_arguments(*dataclasses, **{**options, "arguments": arguments})
    except SystemExit as stopped:
        return written.getvalue() if stopped.code == 2 else f"it exits with {stopped.code}"
    return {name: value for each in filled for name, value in vars(each).items()}


def check_clear(message: str, recipe: str, *names: str) -> None:
    """Check that a message is one line after the usage, and names an option or one of the names."""
    usage, line, *rest = message.removesuffix("\n").split("\n")
    assert usage.startswith("usage: ")
    assert not rest
    known = [each.name for dataclass in CALLS[recipe][0] for each in fields(dataclass)]
    assert re.search(rf"\b({'|'.join(known)})\b", line) or any(name in line for name in names), line


def is_value(value: Any, kinds: set[type], text: Any, *, plain: bool = False) -> bool:
    """Return whether a value is what a text, or a list of them, says.

    `null` stands for nothing everywhere, the other texts only where they are `plain` in YAML.
    """
    if value is None:
        return type(None) in kinds and (text in ("null", ["null"]) or (plain and text in ("", "~", "Null", "NULL")))
    if list in kinds:
        text = text if isinstance(text, list) else [text]
        return len(value) == len(text) and all(
            is_value(one, kinds - {list, type(None)}, each) for one, each in zip(value, text)
        )
    if bool in kinds:
        return value is TRUTH[text.lower()]
    if int in kinds or float in kinds:
        return value == (int if int in kinds else float)(text) and math.isfinite(value)
    return value == text


def judge(outcome: Callable[[str], None], recipe: str, found: Any, options: dict[str, Any], file: str = "") -> None:
    """Check that options were parsed, or refused clearly."""
    if isinstance(found, str):
        check_clear(found, recipe, *([file] if file else []))
        outcome("clear error")
        return
    for name, text in options.items():
        if name in FILLED_IN and text == "null" and found[name] is not None:
            continue
        assert is_value(found[name], KINDS[recipe][name], text, plain=bool(file)), (name, text, found[name])
        for number in found[name] if isinstance(found[name], list) else [found[name]]:
            if isinstance(number, int | float):
                assert number >= 0 or number == BELOW_0.get(name), (name, number)
    outcome("right")


@settings(max_examples=400)
@given(some_options())
@example(("seq2seq", {"dataset_config_name": "null"}))
@example(("seq2seq", {"metric_for_best_model": "null", "greater_is_better": "null", "eval_steps": "null"}))
@example(("seq2seq", {"learning_rate": "nan"}))
@example(("seq2seq", {"num_return_sequences": "0"}))
@example(("pretrain_denoising", {"noise_density": "inf"}))
@example(("seq2seq", {"logging_steps": "1e400"}))
@example(("pretrain_causal", {"lora_rank": "-1"}))
@example(("pretrain_causal", {"max_tokens_per_batch": "0"}))
@example(("pretrain_causal", {"hidden_size": "4"}))
@example(("seq2seq", {"encoder_layers": "1000000000000000000"}))
@example(("pretrain_causal", {"num_hidden_layers": "1000000000000000000"}))
@example(("fit_pair_votes", {"max_distance": ["1", "0"]}))
def test_command_lines(outcome, drawn):
    recipe, options = drawn
    arguments = []
    for name, text in options.items():
        arguments += [f"--{name}", *text] if isinstance(text, list) else [f"--{name}={text}"]
    found = parse(recipe, arguments)
    # A text that begins with a dash is a flag where several values are allowed.
    dashed = [each for text in options.values() if isinstance(text, list) for each in text if each.startswith("-")]
    if dashed and isinstance(found, str):
        check_clear(found, recipe, "unknown option")
        outcome("clear error")
    else:
        judge(outcome, recipe, found, options)


def parse_file(folder: Path, recipe: str, content: bytes) -> dict[str, Any] | str:
    """Write a file of options and parse it."""
    (folder / "options.yaml").write_bytes(content)
    return parse(recipe, ["--config", str(folder / "options.yaml")])


@settings(max_examples=300)
@given(some_options(), st.booleans())
@example(("seq2seq", {"sample": "0010", "max_length": "0010"}), True)
@example(("seq2seq", {"metrics": ["exact_match", "null"]}), True)
@example(("seq2seq", {"seed": "null"}), True)
def test_files(outcome, folder, drawn, plain):
    """Plain texts may be anything in YAML: a list, a comment, an alias."""
    recipe, options = drawn
    if plain:
        content = "".join(
            f"{name}: {'[' + ', '.join(text) + ']' if isinstance(text, list) else text}\n"
            for name, text in options.items()
        )
        try:
            options = yaml.load(content, yaml.BaseLoader)
        except yaml.YAMLError:
            options = {}
    else:
        content = yaml.safe_dump(options, allow_unicode=True)
    found = parse_file(folder, recipe, content.encode())
    if isinstance(found, dict):
        assert options, "a broken file was read"
    judge(outcome, recipe, found, options, "options.yaml")


@settings(max_examples=200)
@given(some_options(), st.data())
def test_damaged_files(outcome, folder, drawn, data):
    """Bytes of a valid file are replaced, inserted or deleted."""
    recipe, options = drawn
    content = bytearray(yaml.safe_dump(options, allow_unicode=True).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(start + 3, len(content))))
        content[start:end] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from((b"\0", b"\xe9", b"\t", b": ")))
        )
    found = parse_file(folder, recipe, bytes(content))
    if isinstance(found, str):
        check_clear(found, recipe, "options.yaml")
        outcome("clear error")
        return
    read = yaml.load(content.decode(), yaml.BaseLoader)
    judge(outcome, recipe, found, {name: text for name, text in read.items() if name in KINDS[recipe]}, "options.yaml")


@settings(max_examples=100)
@given(st.sampled_from(RECIPES), texts.filter(lambda text: "=" not in text), st.booleans())
@example("seq2seq", "a" * 5000, False)
def test_unknown_names(outcome, recipe, name, is_file):
    """No option has these names, and no file."""
    found = parse(recipe, ["--config", f"{name}.nothing"] if is_file else [f"--{name}.nothing=1"])
    assert isinstance(found, str)
    check_clear(found, recipe, "unknown option", "--config")
    outcome("clear error")
