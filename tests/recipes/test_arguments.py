from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atenta.recipes.arguments import parse_arguments


@dataclass
class Options:
    learning_rate: float = field(default=0.5, metadata={"help": "how far a step goes"})
    norm_first: bool = field(default=False, metadata={"help": "where the norm stands"})
    train_file: Path | None = field(default=None, metadata={"help": "what is learned"})


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("learning_rate: 1e-3\nnorm_first: true\n", encoding="utf-8")
    return path


def parse(config, *arguments):
    return parse_arguments(Options, description="A test.", default_config=config, arguments=arguments)[0]


def test_the_default_file_fills_what_no_flag_says(config):
    assert parse(config) == Options(learning_rate=0.001, norm_first=True, train_file=None)


def test_flags_override_the_file(config):
    options = parse(config, "--learning_rate", "0.2", "--norm_first", "false", "--train_file", "x.tsv")
    assert options == Options(learning_rate=0.2, norm_first=False, train_file=Path("x.tsv"))


def test_another_file_replaces_the_default_one(config, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("train_file: y.tsv\n", encoding="utf-8")
    assert parse(config, "--config", str(other)) == Options(train_file=Path("y.tsv"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "unknown option 'learning_rat'"),
        ("- a\n", "found list"),
        ("learning_rate: fast\n", "invalid float value: 'fast'"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_option(tmp_path, capsys, text, message):
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        parse(path)
    assert message in capsys.readouterr().err


def test_a_missing_file_and_an_unknown_flag_are_errors(config, capsys):
    with pytest.raises(SystemExit):
        parse(config, "--config", "nowhere.yaml")
    assert "nowhere.yaml: there is no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(config, "--learning_rat", "1")
    assert "--learning_rat" in capsys.readouterr().err


def test_help_shows_every_option_with_its_text(config, capsys):
    with pytest.raises(SystemExit):
        parse(config, "--help")
    shown = capsys.readouterr().out
    assert "A test." in shown
    assert all(text in shown for text in ("--config", "how far a step goes", "where the norm stands"))
