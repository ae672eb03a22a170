"""Options: Vaswani's defaults, the learning rate schedule, configuration files, the command line and --help."""

import re
import sys
from dataclasses import dataclass, field, fields
from importlib import import_module

import pytest
import torch
import yaml
from transformers import get_scheduler

from atenta.recipes.training import (
    RecipeArguments,
    Seq2SeqRecipeArguments,
    StackArguments,
    TwoStackArguments,
    parse_arguments,
)
from atenta.recipes.training.options import CONFIGS, SHOWN_IN_HELP

both = pytest.mark.parametrize("arguments", [RecipeArguments, Seq2SeqRecipeArguments])


def settled(hidden_size, steps, **options):
    arguments = RecipeArguments(use_cpu=True, **options)
    arguments.settle_schedule(hidden_size, steps)
    return arguments


def rates(arguments, steps):
    """The learning rate of each step, by the scheduler that the trainer creates from these options."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=arguments.learning_rate)
    warmup = arguments.get_warmup_steps(steps)
    scheduler = get_scheduler(
        arguments.lr_scheduler_type, optimizer, num_warmup_steps=warmup, num_training_steps=steps
    )
    found = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


@both
def test_defaults_are_those_of_vaswani(arguments):
    options = arguments(use_cpu=True)
    assert (options.adam_beta1, options.adam_beta2, options.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert options.lr_scheduler_type == "inverse_sqrt"
    assert options.learning_rate is None
    assert options.warmup_steps is None
    assert options.weight_decay == 0.0


@pytest.mark.parametrize(
    ("steps", "warmup"), [(100_000, 4000), (40_000, 4000), (39_990, 3999), (1000, 100), (10, 1), (3, 1)]
)
def test_warm_up_is_4000_steps_or_a_tenth_of_a_shorter_run(steps, warmup):
    assert settled(512, steps).warmup_steps == warmup


@pytest.mark.parametrize(("hidden_size", "steps"), [(512, 50_000), (128, 600)])
def test_learning_rate_follows_equation_3(hidden_size, steps):
    arguments = settled(hidden_size, steps)
    warmup = arguments.warmup_steps
    expected = [hidden_size**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in range(1, steps + 1)]
    assert rates(arguments, steps) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "warmup", "rate"),
    [
        ({"warmup_steps": 250}, 250, (64 * 250) ** -0.5),
        ({"warmup_steps": 0.02}, 0.02, (64 * 100) ** -0.5),
        ({"warmup_steps": 0, "learning_rate": 3e-4}, 0, 3e-4),
        ({"learning_rate": 3e-4}, 500, 3e-4),
    ],
)
def test_given_values_are_kept(options, warmup, rate):
    arguments = settled(64, 5000, **options)
    assert arguments.warmup_steps == warmup
    assert arguments.learning_rate == pytest.approx(rate)


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average_last_checkpoints": 2, "average_best_checkpoints": 2}, "Give only one of --average_last_checkpoint"),
        ({"average_last_checkpoints": 3, "save_total_limit": 2}, "keeps fewer checkpoints than the 3 to average"),
        ({"average_best_checkpoints": 3, "save_total_limit": 2}, "--save_total_limit 2"),
    ],
)
def test_contradicting_options_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        arguments(use_cpu=True, **options)


@dataclass
class Options:
    learning_rate: float = field(default=0.5, metadata={"help": "size of a step"})
    norm_first: bool = field(default=False, metadata={"help": "position of the norm"})
    sample: str | None = field(default=None, metadata={"help": "data"})
    metrics: list[str] = field(default_factory=lambda: ["accuracy"], metadata={"help": "scores"})
    train_file: list[str] | None = field(default=None, metadata={"help": "files"})


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text("learning_rate: 1e-3\nnorm_first: true\nmetrics: [bleu, chrf]\n", encoding="utf-8")
    return path


def parse(config, *arguments):
    return parse_arguments(Options, description="A test.", default_config=config, arguments=arguments)[0]


def test_flags_override_the_file_which_overrides_defaults(config, tmp_path):
    assert parse(config) == Options(learning_rate=0.001, norm_first=True, metrics=["bleu", "chrf"])
    flags = ("--learning_rate", "0.2", "--norm_first", "false", "--sample", "words")
    assert parse(config, *flags) == Options(learning_rate=0.2, sample="words", metrics=["bleu", "chrf"])
    other = tmp_path / "other.yaml"
    other.write_text("sample: words\n", encoding="utf-8")
    assert parse(config, "--config", str(other)) == Options(sample="words")


def test_lists_in_the_file_and_in_flags(config):
    assert parse(config, "--metrics", "accuracy", "bleu").metrics == ["accuracy", "bleu"]
    assert parse(config, "--train_file", "a.tsv", "b.tsv").train_file == ["a.tsv", "b.tsv"]
    config.write_text("train_file: [x.tsv, y.tsv]\nmetrics: bleu\n", encoding="utf-8")
    assert parse(config).train_file == ["x.tsv", "y.tsv"]
    assert parse(config).metrics == ["bleu"]
    assert parse(config, "--train_file", "a.tsv").train_file == ["a.tsv"]


def test_numbers_are_the_same_in_the_file_and_in_flags(config):
    config.write_text("learning_rate: 1e-3\nsample: 7\n", encoding="utf-8")  # YAML 1.1 reads 1e-3 as text
    assert parse(config) == parse(config, "--learning_rate", "0.001", "--sample", "7")


def test_options_of_transformers_keep_their_types(config):
    def parsed(line):
        config.write_text(f"use_cpu: true\n{line}\n", encoding="utf-8")
        return parse_arguments(RecipeArguments, description="A test.", default_config=config, arguments=[])[0]

    assert parsed("report_to: [tensorboard, trackio]").report_to == ["tensorboard", "trackio"]
    assert parsed("lr_scheduler_kwargs: {num_cycles: 2}").lr_scheduler_kwargs == {"num_cycles": 2}
    assert parsed("warmup_steps: 0.05").warmup_steps == 0.05
    assert parsed("learning_rate: null").learning_rate is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "unknown option 'learning_rat'"),
        ("- a\n", "found list"),
        ("learning_rate: fast\n", "invalid float value: 'fast'"),
        ("learning_rate: [0.1, 0.2]\n", "--learning-rate: invalid float value: '[0.1, 0.2]'"),
        ("norm_first: maybe\n", "--norm_first"),
        ("", "found NoneType"),
    ],
)
def test_errors_in_the_file(config, capsys, text, message):
    config.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        parse(config)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml: found no such file here"),
        (["--learning_rat", "1"], "unknown option --learning_rat 1"),
        (["--learning_rate", "fast"], "argument --learning_rate"),
        (["words"], "unknown option words"),
    ],
)
def test_errors_on_the_command_line(config, capsys, arguments, message):
    with pytest.raises(SystemExit):
        parse(config, *arguments)
    assert message in capsys.readouterr().err


def test_a_file_here_goes_before_a_shipped_one(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("atenta.recipes.training.options.CONFIGS", tmp_path / "shipped")
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "task.yaml").write_text("sample: shipped\n", encoding="utf-8")
    assert parse(config, "--config", "task.yaml").sample == "shipped"
    (tmp_path / "task.yaml").write_text("sample: mine\n", encoding="utf-8")
    assert parse(config, "--config", "task.yaml").sample == "mine"


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_files_hold_options_of_their_recipe(file, monkeypatch, capsys):
    """The last check of the command line finds nothing but the flag that does not exist."""
    name = re.search(r"recipes/(\w+)\.py", file.read_text(encoding="utf-8"))[1]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--config", str(file), "--nothing"])
    with pytest.raises(SystemExit):
        import_module(f"atenta.recipes.{name}").main()
    assert "unknown option --nothing;" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "dataclasses"),
    [
        ("accents.yaml", (TwoStackArguments, Seq2SeqRecipeArguments)),
        ("languages.yaml", (StackArguments, RecipeArguments)),
    ],
)
def test_help_shows_each_option_once_with_text_and_default(config, dataclasses, capsys, tmp_path):
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
    text = " ".join(shown.split())
    assert f"(default: {options['hidden_size']})" in text  # of the file, not of the class
    assert text.count("(default:") >= len(ours)


def test_help_shows_the_options_that_recipes_add():
    fixed = {"logging_nan_inf_filter", "restore_callback_states_from_checkpoint"}
    assert set(RecipeArguments.__annotations__) - fixed <= SHOWN_IN_HELP
    assert {field.name for field in fields(RecipeArguments)} >= SHOWN_IN_HELP
