"""The command that shows decoding: its table and picture are those of the model, and what it refuses."""

import sys

import pytest
from transformers import set_seed

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaTokenizer,
)
from atenta.recipes import show_decoding
from atenta.recipes.decoding.loading import load_model
from atenta.recipes.decoding.steps import decoding_steps
from atenta.recipes.reporting.decoding_table import decoding_table
from support.models import tiny_model
from support.recipes import assert_picture

FAMILIES = {
    "decoder": AtentaDecoderForCausalLM,
    "encoder-decoder": AtentaEncoderDecoderForConditionalGeneration,
    "encoder": AtentaEncoderForMaskedLM,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A tiny model of each family with its tokenizer, as a recipe leaves them."""
    made = {}
    for family, model_class in FAMILIES.items():
        made[family] = str(tmp_path_factory.mktemp(family))
        tokenizer = AtentaTokenizer.from_texts(["abc "], family=family)
        model = tiny_model(model_class, vocab_size=len(tokenizer))
        if model.can_generate():
            model.generation_config.max_length = 9
        model.save_pretrained(made[family])
        tokenizer.save_pretrained(made[family])
    return made


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run the command in this process; returns what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["show_decoding.py", "--output_dir", str(tmp_path), *map(str, arguments)])
        show_decoding.main()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("family", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("search", [{}, {"num_beams": 2}, {"do_sample": True, "temperature": 0.7}], ids=str)
def test_the_steps_are_printed_and_drawn(folders, command, tmp_path, family, search):
    arguments = [part for name, value in search.items() for part in (f"--{name}", value) if part is not True]
    printed = command("--model", folders[family], "--text", "a b", "--max_new_tokens", 12, "--seed", 3, *arguments)
    tokenizer, model = load_model(folders[family])
    model.generation_config.max_length = None
    set_seed(3)
    steps = list(decoding_steps(model, **tokenizer("a b", return_tensors="pt"), max_new_tokens=12, **search))
    assert printed == f"{decoding_table(steps, tokenizer)}\n{tmp_path / 'decoding.png'}\n"
    assert_picture(tmp_path / "decoding.png", colours=10)


def test_a_model_that_does_not_generate_is_refused(folders, command):
    with pytest.raises(SystemExit, match="holds AtentaEncoderModel, expected a model that generates"):
        command("--model", folders["encoder"], "--text", "a")


def test_what_generate_refuses_is_told_in_its_words(folders, command):
    with pytest.raises(SystemExit, match="`max_new_tokens` must be greater than 0"):
        command("--model", folders["decoder"], "--text", "a", "--max_new_tokens", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--temperature", 2, "--top_p", 0.5], "--temperature, --top_p: needs --do_sample"),
        (["--do_sample", "--num_beams", 2], "--num_beams: not allowed with argument --do_sample"),
    ],
    ids=["no draws", "beams with draws"],
)
def test_options_that_have_no_effect_together_are_refused_before_anything_is_loaded(
    command, capsys, arguments, message
):
    with pytest.raises(SystemExit):
        command("--model", "nowhere", "--text", "a", *arguments)
    assert message in capsys.readouterr().err
