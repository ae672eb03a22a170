"""The command that draws votes."""

import sys

import pytest

from atenta import AtentaPairVotesConfig, AtentaPairVotesForCausalLM, AtentaTokenizer
from atenta.modeling import AtentaDecoderForCausalLM
from atenta.recipes import show_votes
from support.recipes import assert_picture
from support.saved import save_with_tokenizer


@pytest.fixture
def folder(tmp_path):
    tokenizer = AtentaTokenizer.from_texts(["ação"], family="decoder")
    model = AtentaPairVotesForCausalLM(AtentaPairVotesConfig(vocab_size=len(tokenizer)))
    model.fit([tokenizer("ação").input_ids]).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path


def run(monkeypatch, folder, *arguments):
    options = ["--model", folder / "model", "--output_dir", folder / "pictures", *arguments]
    monkeypatch.setattr(sys, "argv", ["show_votes.py", *map(str, options)])
    show_votes.main()


@pytest.mark.parametrize("mask", [(), ("--feature_mask", 1, 0.5, 0)], ids=["all", "masked"])
def test_votes_have_a_picture(monkeypatch, folder, capsys, mask):
    run(monkeypatch, folder, "--text", "aç", *mask)
    path = folder / "pictures" / "votes.png"
    assert capsys.readouterr().out == f"{path}\n"
    assert_picture(path)


def test_a_text_without_votes_is_refused(monkeypatch, folder):
    with pytest.raises(SystemExit, match="Nobody votes"):
        run(monkeypatch, folder, "--text", "ção")


def test_another_model_is_refused(monkeypatch, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    with pytest.raises(SystemExit, match="holds AtentaDecoderForCausalLM, expected AtentaPairVotesForCausalLM"):
        run(monkeypatch, tmp_path, "--text", "aç")
