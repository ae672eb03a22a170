"""The table of options: it is that of the recipes, and its help shows the values of a file of options."""

import re

import pytest
import yaml

from atenta.command.recipe_commands import RECIPES
from atenta.recipes.option_table import WRITE_TABLE, check_names, option_names, print_help
from support.option_table import TABLE, make_table


def test_the_table_is_that_of_the_recipes():
    saved, made = yaml.safe_load(TABLE.read_text(encoding="utf-8")), make_table()
    write_again = f"{TABLE} is not that of the recipes: write it again with `{WRITE_TABLE}`"
    assert saved["recipes"] == made["recipes"], write_again
    assert saved["groups"] == made["groups"], write_again
    assert saved["options"].keys() == made["options"].keys(), write_again
    # The texts of transformers' own options, which begin with a capital letter, change with its versions.
    ours = {name: row for name, row in made["options"].items() if not row[2][0].isupper()}
    assert {name: saved["options"][name] for name in ours} == ours, write_again
    assert len(ours) > 90


@pytest.mark.parametrize("read", [print_help, check_names])
def test_a_recipe_that_the_table_lacks_is_named_with_the_command_that_writes_it(read):
    with pytest.raises(ValueError, match="no recipe my_recipe.*" + re.escape(WRITE_TABLE)):
        read("my_recipe", [])


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_has_its_help(recipe, capsys):
    print_help(recipe, [])
    printed = capsys.readouterr().out
    assert [name for name in option_names(recipe) if f"\n  --{name}" not in printed] == []


def test_help_shows_the_values_of_the_file_of_options(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "mine.yaml").write_text("hidden_size: 48\nmetrics: [chrf]\nlearning_rate: 1e-3", encoding="utf-8")
    print_help("seq2seq", ["--config", str(tmp_path / "mine.yaml")])
    printed = " ".join(capsys.readouterr().out.split())
    assert "width of the vectors between blocks (default: 48)" in printed
    assert "that score the outputs (default: ['chrf'])" in printed
    print_help("seq2seq", ["--config", "hebrew.yaml"])
    assert "(default: hebrew)" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "", "- a", "a: [", b"\xff"])
def test_a_file_without_options_is_named(content, tmp_path):
    file = tmp_path / "mine.yaml"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"--config .*mine\.yaml: found no file"):
        print_help("seq2seq", ["--config", str(file)])


@pytest.mark.parametrize(
    "words",
    [
        ["--max_steps=3", "--train-file", "a.tsv", "--no_norm_first"],
        ["--deepspeed", "a.json", "--hub_token=secret", "--generation_max_length", "3"],  # of transformers, not listed
    ],
)
def test_options_of_recipes_and_of_transformers_are_known(words):
    check_names("seq2seq", words)


@pytest.mark.parametrize(
    ("recipe", "theirs", "ours"),
    [
        ("seq2seq", "d_model", "hidden_size"),
        ("seq2seq", "num-layers", "encoder_layers"),
        ("pretrain_causal", "n_layer", "num_hidden_layers"),
        ("finetune_tagging", "lr=1", "learning_rate"),
        ("seq2seq", "resume", "resume_from_checkpoint"),
    ],
)
def test_names_that_other_tools_use_are_understood(recipe, theirs, ours):
    with pytest.raises(ValueError, match=f"; did you mean {ours}\\?"):
        check_names(recipe, [f"--{theirs}"])


def test_unknown_options_are_named_without_their_values():
    with pytest.raises(ValueError, match="unknown option --hub_tok; did you mean hub_token") as refused:
        check_names("seq2seq", ["--hub_tok=secret"])
    assert "secret" not in str(refused.value)
