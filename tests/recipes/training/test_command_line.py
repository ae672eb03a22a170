"""The command line: a file of options, flags over it, lists from both, errors by name, and a --help to read."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest
import yaml

from atenta.recipes.training import (
    RecipeArguments,
    Seq2SeqRecipeArguments,
    StackArguments,
    TwoStackArguments,
    parse_arguments,
)
from atenta.recipes.training.command_line import CONFIGS
from atenta.recipes.training.options import SHOWN_IN_HELP


@dataclass
class Options:
    learning_rate: float = field(default=0.5, metadata={"help": "how far a step goes"})
    norm_first: bool = field(default=False, metadata={"help": "where the norm stands"})
    sample: str | None = field(default=None, metadata={"help": "what is learned"})
    metrics: list[str] = field(default_factory=lambda: ["accuracy"], metadata={"help": "what is scored"})
    train_file: list[str] | None = field(default=None, metadata={"help": "files to learn"})


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("learning_rate: 1e-3\nnorm_first: true\nmetrics: [bleu, chrf]\n", encoding="utf-8")
    return path


def parse(config, *arguments):
    return parse_arguments(Options, description="A test.", default_config=config, arguments=arguments)[0]


def test_the_default_file_fills_what_no_flag_says(config):
    assert parse(config) == Options(learning_rate=0.001, norm_first=True, metrics=["bleu", "chrf"])


def test_flags_override_the_file(config):
    options = parse(config, "--learning_rate", "0.2", "--norm_first", "false", "--sample", "words")
    assert options == Options(learning_rate=0.2, sample="words", metrics=["bleu", "chrf"])


def test_lists_come_from_the_file_and_from_flags(config):
    assert parse(config, "--metrics", "accuracy", "bleu").metrics == ["accuracy", "bleu"]
    assert parse(config, "--train_file", "a.tsv", "b.tsv").train_file == ["a.tsv", "b.tsv"]
    config.write_text("train_file: [x.tsv, y.tsv]\n", encoding="utf-8")
    assert parse(config).train_file == ["x.tsv", "y.tsv"]
    assert parse(config, "--train_file", "a.tsv").train_file == ["a.tsv"]


def test_another_file_replaces_the_default_one(config, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("sample: words\n", encoding="utf-8")
    assert parse(config, "--config", str(other)) == Options(sample="words")


def test_a_number_reads_alike_from_yaml_and_from_a_flag(config):
    config.write_text("learning_rate: 1e-3\nsample: 7\n", encoding="utf-8")  # YAML 1.1 reads 1e-3 as text
    assert parse(config) == parse(config, "--learning_rate", "0.001", "--sample", "7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "unknown option 'learning_rat'"),
        ("- a\n", "found list"),
        ("learning_rate: fast\n", "invalid float value: 'fast'"),
        ("norm_first: maybe\n", "--norm_first"),
        ("", "found NoneType"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_option(tmp_path, capsys, text, message):
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        parse(path)
    assert message in capsys.readouterr().err


def test_one_value_is_a_list_of_one_and_a_list_is_no_number(config, capsys):
    config.write_text("train_file: x.tsv\nmetrics: bleu\n", encoding="utf-8")
    assert (parse(config).train_file, parse(config).metrics) == (["x.tsv"], ["bleu"])
    config.write_text("learning_rate: [0.1, 0.2]\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        parse(config)
    assert "--learning-rate: invalid float value: '[0.1, 0.2]'" in capsys.readouterr().err


def test_options_of_transformers_take_what_it_takes(config):
    def parsed(line):
        config.write_text(f"use_cpu: true\n{line}\n", encoding="utf-8")
        return parse_arguments(RecipeArguments, description="A test.", default_config=config, arguments=[])[0]

    assert parsed("report_to: [tensorboard, trackio]").report_to == ["tensorboard", "trackio"]
    assert parsed("lr_scheduler_kwargs: {num_cycles: 2}").lr_scheduler_kwargs == {"num_cycles": 2}
    assert parsed("warmup_steps: 0.05").warmup_steps == 0.05
    assert parsed("learning_rate: null").learning_rate is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml: there is no such file here"),
        (["--learning_rat", "1"], "unknown --learning_rat 1"),
        (["--learning_rate", "fast"], "argument --learning_rate"),
        (["words"], "unknown words"),
    ],
)
def test_a_wrong_command_line_is_an_error_that_names_what_is_wrong(config, capsys, arguments, message):
    with pytest.raises(SystemExit):
        parse(config, *arguments)
    assert message in capsys.readouterr().err


RECIPES = {
    "accents.yaml": (TwoStackArguments, Seq2SeqRecipeArguments),
    "languages.yaml": (StackArguments, RecipeArguments),
}


@pytest.mark.parametrize("config", RECIPES)
def test_help_shows_our_options_once_with_text_and_default_and_no_other(config, capsys, tmp_path):
    dataclasses = RECIPES[config]
    options = yaml.safe_load((CONFIGS / config).read_text(encoding="utf-8"))
    known = {field.name for each in dataclasses for field in fields(each)}
    path = tmp_path / config
    kept = {name: value for name, value in options.items() if name in known}
    path.write_text(yaml.safe_dump(kept), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        parse_arguments(*dataclasses, description="Learn to read.", default_config=path, arguments=["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "Learn to read." in shown
    found = re.findall(r"^  --(\w+)", shown, flags=re.MULTILINE)
    assert len(found) == len(set(found))
    ours = {field.name for each in dataclasses for field in fields(each) if field.name in SHOWN_IN_HELP}
    ours |= {field.name for field in fields(dataclasses[0])}
    assert set(found) == ours | {"config", "help"}
    assert "SUPPRESS" not in shown
    assert max(map(len, shown.splitlines())) <= 110
    told = " ".join(shown.split())
    assert f"(default: {options['hidden_size']})" in told  # of the file, not of the class
    assert told.count("(default:") >= len(ours)


def test_every_recipe_s_own_options_are_shown():
    """What `RecipeArguments` adds is in the list of what --help shows, unless it is fixed for all recipes."""
    added = set(RecipeArguments.__annotations__) - {
        "logging_nan_inf_filter",
        "restore_callback_states_from_checkpoint",
    }
    assert added - SHOWN_IN_HELP == set()
    assert {field.name for field in fields(RecipeArguments)} >= SHOWN_IN_HELP


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_files_are_flat_maps(file):
    options = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    assert all(not isinstance(value, dict) for value in options.values())
    assert options["output_dir"].startswith("outputs/")


def test_a_file_that_is_not_here_is_one_of_those_that_come_with_the_recipes(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("atenta.recipes.training.command_line.CONFIGS", tmp_path / "shipped")
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "task.yaml").write_text("sample: shipped\n", encoding="utf-8")
    assert parse(config, "--config", "task.yaml").sample == "shipped"
    (tmp_path / "task.yaml").write_text("sample: mine\n", encoding="utf-8")
    assert parse(config, "--config", "task.yaml").sample == "mine"
