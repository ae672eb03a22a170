"""Options: Vaswani's defaults, the learning rate schedule, configuration files, the command line and --help."""

import re
import sys
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import get_args

import pytest
import torch
import yaml
from transformers import get_scheduler

from atenta.recipes.option_annotations import Mark, options_of
from atenta.recipes.pretrain_masked import MaskingArguments
from atenta.recipes.training.options import (
    _NOT_OF_RECIPES,
    EncoderArguments,
    RecipeArguments,
    Seq2SeqRecipeArguments,
    StackArguments,
    TwoStackArguments,
)
from atenta.recipes.training.parsing import CONFIGS, parse_arguments
from support.option_table import parsed_by
from support.recipe_cases import CASES


def settled(hidden_size, steps, **options):
    arguments = RecipeArguments(use_cpu=True, **options)
    arguments.settle_schedule(hidden_size, steps)
    return arguments


def rates(arguments, steps, first):
    """The learning rate of the first steps of a run, by the scheduler that the trainer creates from these options."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=arguments.learning_rate)
    warmup = arguments.get_warmup_steps(steps)
    scheduler = get_scheduler(
        arguments.lr_scheduler_type, optimizer, num_warmup_steps=warmup, num_training_steps=steps
    )
    found = []
    for _ in range(first):
        optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


@pytest.mark.parametrize("arguments", [RecipeArguments, Seq2SeqRecipeArguments])
def test_defaults_are_those_of_vaswani(arguments):
    options = arguments(use_cpu=True)
    assert (options.adam_beta1, options.adam_beta2, options.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert options.lr_scheduler_type == "inverse_sqrt"
    assert options.learning_rate is None
    assert options.warmup_steps is None
    assert options.weight_decay == 0.0


@pytest.mark.parametrize(("steps", "warmup"), [(100_000, 4000), (39_990, 3999), (3, 1)])
def test_warm_up_is_4000_steps_or_a_tenth_of_a_shorter_run(steps, warmup):
    assert settled(512, steps).warmup_steps == warmup


@pytest.mark.parametrize(("hidden_size", "steps"), [(512, 50_000), (128, 600)])
def test_learning_rate_follows_equation_3(hidden_size, steps):
    arguments = settled(hidden_size, steps)
    warmup = arguments.warmup_steps
    first = 2 * warmup
    expected = [hidden_size**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in range(1, first + 1)]
    assert rates(arguments, steps, first) == pytest.approx(expected, rel=1e-9)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average_last_checkpoints": 2, "average_best_checkpoints": 2}, "Give only one of --average_last_checkpoint"),
        ({"average_last_checkpoints": 3, "save_total_limit": 2}, "keeps fewer checkpoints than the 3 to average"),
        ({"average_last_checkpoints": 2, "save_strategy": "no"}, "--save_strategy no leaves no checkpoints"),
        ({"average_best_checkpoints": 2, "save_total_limit": 4}, "--save_total_limit 4 may delete some of the 2 best"),
        ({"average_best_checkpoints": 2}, "--average_best_checkpoints compares evaluations"),
        ({"average_best_checkpoints": 2, "eval_strategy": "epoch"}, "name one with --metric_for_best_model"),
        ({"early_stopping_patience": 2}, "--early_stopping_patience compares evaluations, and --eval_strategy is no"),
        ({"save_strategy": "best", "eval_strategy": "epoch"}, "--save_strategy best compares scores"),
        ({"metric_for_best_model": "chrf", "greater_is_better": False}, "--greater_is_better false: more chrf"),
        (
            {"metric_for_best_model": "eval_loss", "greater_is_better": True},
            "--greater_is_better true: less eval_loss",
        ),
        ({"fp16": True}, "--fp16, or --mixed_precision fp16 of accelerate, needs a GPU"),
        ({"lr_scheduler_type": "cosine_with_min_lr"}, "--lr_scheduler_type cosine_with_min_lr: "),
        ({"lr_scheduler_kwargs": {"power": 2}}, "unexpected keyword argument 'power'"),
        ({"lr_scheduler_kwargs": "{power: 2}"}, "--lr_scheduler_kwargs {power: 2}: expected a JSON object"),
        ({"fsdp_config": "nowhere.json"}, "--fsdp_config nowhere.json: expected a JSON object"),
        *(({name: True}, f"--{name} ") for name in _NOT_OF_RECIPES),
        ({"eval_do_concat_batches": False}, "--eval_do_concat_batches false"),
        ({"do_train": False}, "--do_train false"),
        ({"hub_strategy": "checkpoint"}, "--hub_strategy checkpoint"),
        ({"optim": "muon", "optim_args": "x=1"}, "--optim_args x=1: --optim muon"),
        ({"train_sampling_strategy": "group_by_length"}, "--train_sampling_strategy group_by_length"),
        ({"use_liger_kernel": True}, "--use_liger_kernel needs the package liger-kernel"),
    ],
)
def test_contradicting_options_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RecipeArguments(use_cpu=True, **options)


def test_a_recipe_that_generates_always_does():
    with pytest.raises(ValueError, match="--predict_with_generate false: "):
        Seq2SeqRecipeArguments(use_cpu=True, predict_with_generate=False)


def refused(capsys, file, *flags, by):
    """Return the line with which options are refused by dataclasses."""
    with pytest.raises(SystemExit):
        parse_arguments(*by, description="A test.", default_config=file, arguments=flags)
    usage, line = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: ")
    return line


def test_what_others_say_counts(monkeypatch):
    """The name of a score says whether less is better, and accelerate whether there are 16 bits."""
    for name in ("character_error_rate", "bits_per_character", "loss", "invented"):
        assert RecipeArguments(use_cpu=True, metric_for_best_model=name).greater_is_better is False
    assert RecipeArguments(use_cpu=True, metric_for_best_model="eval_chrf").greater_is_better is True
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    with pytest.raises(ValueError, match="--mixed_precision fp16 of accelerate, needs a GPU"):
        RecipeArguments(use_cpu=True)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--position_embedding_type round", ("--position_embedding_type round", "rotary")),
        ("--max_length 1000000000000", ("max_length=1000000000000",)),
        ("--hidden_size 30 --num_attention_heads 4", ("hidden_size=30", "num_attention_heads=4")),
        (
            "--hidden_size 4 --num_attention_heads 4 --position_embedding_type rotary",
            ("hidden_size / num_attention_heads = 1 is odd",),
        ),
        ("--hidden_act step", ("hidden_act='step'",)),
    ],
)
@pytest.mark.parametrize("sizes", [EncoderArguments, TwoStackArguments])
def test_sizes_that_do_not_fit_are_named_as_options_that_a_recipe_has(capsys, tmp_path, sizes, flags, named):
    (tmp_path / "empty.yaml").write_text("use_cpu: true", encoding="utf-8")
    options = {"description": "A test.", "default_config": tmp_path / "empty.yaml"}
    message = refused(capsys, tmp_path / "empty.yaml", *flags.split(), by=(sizes, RecipeArguments))
    assert all(each in message for each in named)
    assert "Field" not in message
    assert "head_dim" not in message
    if "round" not in flags:  # a saved model has its own sizes, and those of the file are for new models
        lines = re.sub(r"--(\w+) (\S+) ?", r"\1: \2\n", flags)
        (tmp_path / "empty.yaml").write_text(f"use_cpu: true\n{lines}", encoding="utf-8")
        saved = ["--model_name_or_path", "saved"]
        assert parse_arguments(sizes, RecipeArguments, arguments=saved, **options)[0].model_name_or_path == "saved"


NUMBERS = {  # one or more options of each range; that every number has one is tested below
    "learning_rate": ("nan", "inf", "-1", "0"),
    "weight_decay": ("nan", "inf", "-0.1"),
    "dropout": ("nan", "inf", "-0.1", "1"),
    "logging_steps": ("nan", "inf", "-1", "0", "2.5"),
    "warmup_steps": ("nan", "inf", "-1", "2.5"),
    "max_steps": ("0", "-2"),
    "max_length": ("1", "0", "-1"),
    "seed": ("-1", "4294967296"),
    "dataloader_num_workers": ("-1",),
    "encoder_layers": ("0", "-1"),
    "save_total_limit": ("0", "-1"),
    "mlm_probability": ("nan", "0", "1"),
    "whole_word_probability": ("nan", "-0.1", "1.5"),
}
OF_MANY = (TwoStackArguments, MaskingArguments, Seq2SeqRecipeArguments)


def test_a_saved_model_keeps_its_kind_and_says_so(tmp_path, capsys):
    """What a file says of it is for new models; a flag is meant for this run."""
    file = tmp_path / "options.yaml"
    file.write_text("use_cpu: true\ntransducer: true\nconv_kernel_size: 5\n", encoding="utf-8")
    saved = ("--model_name_or_path", "outputs/accents", "--lora_rank", "4", "--dropout", "0.2", "--hidden_size", "32")
    parse_arguments(*OF_MANY, description="A test.", default_config=file, arguments=saved)
    line = refused(capsys, file, *saved, "--norm_first", "--tags_with_positions", by=OF_MANY)
    assert "error: --norm_first, --tags_with_positions: the saved model outputs/accents keeps its own" in line


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range_are_refused_in_one_line(name, tmp_path, capsys):
    file = tmp_path / "options.yaml"
    file.write_text("use_cpu: true\n", encoding="utf-8")
    for text in NUMBERS[name]:
        line = refused(capsys, file, f"--{name}={text}", by=OF_MANY)
        assert re.search(rf"error: --{name} {text}\S*: expected ", line)
    file.write_text(f"use_cpu: true\n{name}: {text}\n", encoding="utf-8")
    assert refused(capsys, file, by=OF_MANY) == line


def test_a_blank_title_is_refused(tmp_path, capsys):
    (tmp_path / "options.yaml").write_text("use_cpu: true\n", encoding="utf-8")
    line = refused(capsys, tmp_path / "options.yaml", "--card_title", " ", by=OF_MANY)
    assert "--card_title" in line
    assert "expected a text that is not blank" in line


@pytest.mark.parametrize("recipe", CASES)
def test_every_number_of_a_recipe_has_a_range(recipe):
    """But `local_rank`, which launchers set, and `warmup_ratio`, which sentence-transformers has given up."""
    dataclasses, _ = parsed_by(recipe)
    for name, option in options_of(*dataclasses).items():
        kinds = {option.hint, *get_args(option.hint)}
        if {int, float} & kinds and not {str, bool, list[int]} & kinds and name not in ("local_rank", "warmup_ratio"):
            assert option.range is not None, name
            assert not option.range.holds(float("nan")), name


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
    assert parse(config, "--metrics", "accuracy", "bleu").metrics == ["accuracy", "bleu"]
    other = tmp_path / "other.yaml"
    other.write_text("sample: words\nmetrics: bleu\ntrain_file: [x.tsv, y.tsv]", encoding="utf-8")
    expected = Options(sample="words", metrics=["bleu"], train_file=["x.tsv", "y.tsv"])
    assert parse(config, "--config", str(other)) == expected


def test_options_of_transformers_keep_their_types(config):
    def parsed(line):
        config.write_text(f"use_cpu: true\n{line}\n", encoding="utf-8")
        return parse_arguments(RecipeArguments, description="A test.", default_config=config, arguments=[])[0]

    assert parsed("report_to: [tensorboard, trackio]").report_to == ["tensorboard", "trackio"]
    kwargs = parsed("lr_scheduler_type: cosine\nlr_scheduler_kwargs: {num_cycles: 2}").lr_scheduler_kwargs
    assert kwargs == {"num_cycles": 2}
    assert parsed("warmup_steps: 0.05").warmup_steps == 0.05
    assert parsed("learning_rate: null").learning_rate is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "unknown option 'learning_rat'; did you mean learning_rate? --help lists"),
        ("- a\n", "found sequence"),
        ("learning_rate: fast\n", "line 1: learning_rate: invalid float value: 'fast'"),
        ("learning_rate:\n", "learning_rate: expected a value, found nothing"),
        ("norm_first: true\nlearning_rate: {a: 1}\n", "line 2: learning_rate: expected one value, found a mapping"),
        ("norm_first: maybe\n", "line 1: norm_first: Truthy value expected: got maybe"),
        ("metrics: [[a]]\n", "metrics: expected one or more values"),
        ("sample: [a, b]\n", "sample: expected one value, found a sequence"),
        ("", "found nothing"),
        ("sample: a\nlearning_rate: 1\nsample: b\n", "more than one line for sample"),
        ("1: a\nx: b\n", "unknown option '1', 'x'"),
        ("config: a.yaml\n", "unknown option 'config'"),
        ("metrics: [a\nsample: b\n", "line 2: expected YAML: expected ',' or ']', but got ':'"),
        ("sample: a\0b\n", "expected YAML: unacceptable character #x0000"),
        ("sample: " + "[" * 1000, "expected YAML: maximum recursion depth exceeded"),
        ("# café\n".encode("latin-1"), "expected a readable file in UTF-8: 'utf-8' codec can't decode byte 0xe9"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_errors_in_the_file(config, capsys, text, message):
    config.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refused(capsys, config, by=[Options])
    assert message in line
    assert str(config) in line


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("eval_strategy: sometimes", [], "line 2: eval_strategy: invalid choice: 'sometimes' (choose from"),
        ('accelerator_config: {"speed": 1}', [], "unexpected keyword argument 'speed'"),  # a TypeError of transformers
        (  # three lines of transformers
            "eval_strategy: epoch",
            ["--save_strategy", "no", "--load_best_model_at_end"],
            "--load_best_model_at_end requires the save and eval strategy to match",
        ),
    ],
)
def test_what_transformers_refuses_is_one_line(config, capsys, text, flags, message):
    config.write_text(f"use_cpu: true\n{text}\n", encoding="utf-8")
    assert message in refused(capsys, config, *flags, by=[RecipeArguments])


def test_texts_in_the_file_are_kept_as_they_are_written(config):
    """YAML 1.1 reads these as a truth value, an octal number, a date, a base-60 number and a number."""
    for text in ("no", "0010", "2020-01-01", "1:30", "1.10", "7"):
        config.write_text(f"sample: {text}\ntrain_file: [{text}]\n", encoding="utf-8")
        assert parse(config).sample == text
        assert parse(config).train_file == [text]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nowhere.yaml"], "nowhere.yaml: found no such file here"),
        (["--config", "."], "--config .: found no such file here"),
        (["--config", "a" * 5000], "expected a readable file"),
        (["--learning_rat", "1"], "unknown option --learning_rat; did you mean learning_rate?"),
        (["--learning_rate", "fast"], "argument --learning_rate"),
        (["words"], "expected --train_file words"),
        (["--sample", "a", "b.tsv", "c.tsv"], "found b.tsv c.tsv, and no option before; expected --train_file b.tsv"),
        (["words", "-x"], "unknown option -x"),
    ],
)
def test_errors_on_the_command_line(config, capsys, arguments, message):
    assert message in refused(capsys, config, *arguments, by=[Options])


def test_a_file_here_goes_before_a_shipped_one(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("atenta.recipes.training.parsing.CONFIGS", tmp_path / "shipped")
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


def test_null_is_no_value_for_an_option_that_may_have_none(tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text("warmup_steps: 4\nmetric_for_best_model: loss\noutput_dir: here\n", encoding="utf-8")
    flags = ["--warmup_steps", "null", "--metric_for_best_model", "null", "--use_cpu", "true"]
    (arguments,) = parse_arguments(RecipeArguments, description="A test.", default_config=path, arguments=flags)
    assert (arguments.warmup_steps, arguments.metric_for_best_model) == (None, None)
    assert "invalid float value: 'null'" in refused(capsys, path, "--num_train_epochs", "null", by=[RecipeArguments])
    path.write_text("ngram_sizes: [2, 3]\n", encoding="utf-8")
    flags = ["--ngram_sizes", "null"]
    (sizes,) = parse_arguments(EncoderArguments, description="A test.", default_config=path, arguments=flags)
    assert sizes.ngram_sizes is None


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
    ours = {name for name, option in options_of(*dataclasses).items() if Mark.HIDDEN not in option.marks}
    assert {"hidden_size", "optim", "card_title", "max_steps", "save_total_limit"} <= ours
    assert set(found) == ours | {"config", "help"}
    assert "SUPPRESS" not in shown
    assert max(map(len, shown.splitlines())) <= 110
    text = " ".join(shown.split())
    assert f"(default: {options['hidden_size']})" in text  # of the file, not of the class
    assert text.count("(default:") >= len(ours)


@pytest.mark.parametrize(("columns", "widest"), [(60, 58), (90, 88), (300, 110)])
def test_help_is_as_wide_as_the_terminal_but_readable(columns, widest, config, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        parse(config, "--help")
    described = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("usage: ")]
    assert widest - 25 < max(map(len, described)) <= widest
