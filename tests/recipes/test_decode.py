"""The decoding command: several outputs with scores, ensembles, and options that it refuses."""

import csv
import sys

import pytest
import torch

from atenta import AtentaTokenizer
from atenta.modeling import AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes import decode
from atenta.recipes.decoding.ensemble import Ensemble
from atenta.recipes.decoding.generation import decode_n_best
from support.clean_process import run_function
from support.models import assert_close, double_model

SOURCES = ["ser\tPL", "ver", 'um "dia"']


def save(folder, seed, alphabet='abcdefimrsuv "', **options):
    """Save a tiny model in float64 with its tokenizer, as a recipe does."""
    tokenizer = AtentaTokenizer.from_texts([alphabet], family="encoder-decoder", tags=["<PL>"])
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "encoder_layers": 1, "decoder_layers": 1}
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, seed, **(sizes | options))
    with torch.no_grad():  # bytes that are not valid text would be replaced in the output
        model.lm_head.bias[[i for token, i in tokenizer.get_vocab().items() if token.startswith("<")]] = -100
        model.lm_head.bias[tokenizer.eos_token_id] = 0.5
    model.generation_config.max_length = 8
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [save(folder / "first", 1), save(folder / "second", 2, hidden_size=24)]


@pytest.fixture
def command(monkeypatch, capsys):
    """Return a function that runs the command in this process and returns both of its outputs."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["decode.py", *map(str, arguments)])
        decode.main()
        return capsys.readouterr()

    return run


def rows(printed):
    return [(source, text, float(score)) for source, text, score in csv.reader(printed.splitlines(), delimiter="\t")]


def test_several_outputs_with_source_and_score(folders, command):
    printed = command(folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 3)
    found = rows(printed.out)
    assert [source for source, _, _ in found] == [source for source in SOURCES for _ in range(3)]
    tokenizer, model = decode.load_pretrained(str(folders[0]))
    ids = [tokenizer("ser").input_ids, *(tokenizer(source).input_ids for source in SOURCES[1:])]
    ids[0].insert(0, tokenizer.convert_tokens_to_ids("<PL>"))
    batch = tokenizer.pad({"input_ids": ids}, return_tensors="pt")
    expected = [
        one for each in decode_n_best(model, [batch], tokenizer, num_beams=4, num_return_sequences=3) for one in each
    ]
    assert [text for _, text, _ in found] == [one.text for one in expected]
    assert_close(torch.tensor([score for _, _, score in found]), torch.tensor([one.score for one in expected]))
    cut = sum(not one.finished for one in expected)
    assert (f"{cut} output(s) cut off at the maximum length" in printed.err) is (cut > 0)


def test_one_output_is_the_best_of_several(folders, command):
    several = rows(command(folders[0], *SOURCES, "--num_beams", 4, "--num_return_sequences", 2).out)
    assert command(folders[0], *SOURCES, "--num_beams", 4).out.splitlines() == [text for _, text, _ in several[::2]]


def test_the_batch_size_changes_nothing(folders, command):
    options = ("--num_beams", 3, "--num_return_sequences", 2)
    together, apart = (rows(command(folders[0], *SOURCES, *options, "--batch_size", size).out) for size in (64, 1))
    assert [row[:2] for row in together] == [row[:2] for row in apart]


def test_an_ensemble(folders, command):
    printed = command(folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2, "--ensemble", folders[1])
    (tokenizer, first), (_, second) = (decode.load_pretrained(str(folder)) for folder in folders)
    expected = decode.decode_texts_n_best(
        tokenizer, Ensemble([first, second]).eval(), SOURCES, num_beams=3, num_return_sequences=2
    )
    assert [row[:2] for row in rows(printed.out)] == [row[:2] for row in expected]
    assert_close(*(torch.tensor([row[2] for row in each]) for each in (rows(printed.out), expected)))
    alone = command(folders[0], *SOURCES, "--num_beams", 3, "--num_return_sequences", 2)
    assert printed.out != alone.out


def test_members_with_other_vocabularies_are_refused(folders, command, tmp_path):
    other = save(tmp_path / "other", 1, alphabet='abcdefimrsuw "')
    with pytest.raises(ValueError, match=r"id of the token '[vw]' is .* in .*first and .* in .*other"):
        command(folders[0], "ser", "--ensemble", other)


def test_more_outputs_than_beams_are_refused(command, capsys):
    with pytest.raises(SystemExit):
        command("nowhere", "ser", "--num_return_sequences", 3)
    assert "--num_return_sequences 3 asks for more outputs than --num_beams 1" in capsys.readouterr().err


def test_the_package_is_not_needed(folders, tmp_path, command):
    def run(script, *arguments):
        import runpy
        import sys

        sys.argv = [script, *arguments]
        runpy.run_path(script, run_name="__main__")

    arguments = (folders[0], *SOURCES, "--num_beams", "3", "--num_return_sequences", "2")
    assert run_function(run, decode.__file__, *arguments, home=tmp_path) == command(*arguments).out
