"""The command that draws masks."""

import sys

import pytest

from atenta.modeling import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes import show_masks
from support.recipes import assert_picture
from support.saved import save_with_tokenizer


def run(monkeypatch, folder, model_class, *arguments):
    save_with_tokenizer(model_class, folder / "model")
    options = ["--model", folder / "model", "--output_dir", folder / "pictures", *arguments]
    monkeypatch.setattr(sys, "argv", ["show_masks.py", *map(str, options)])
    show_masks.main()


@pytest.mark.parametrize(
    ("model_class", "arguments"),
    [
        (AtentaDecoderForCausalLM, ("--text", "é", "ação")),
        (AtentaEncoderDecoderForConditionalGeneration, ("--text", "e", "acao", "--target", "é", "ação")),
    ],
    ids=["texts", "texts and targets"],
)
def test_the_masks_of_a_batch_have_a_picture(monkeypatch, tmp_path, capsys, model_class, arguments):
    run(monkeypatch, tmp_path, model_class, *arguments)
    path = tmp_path / "pictures" / "masks.png"
    assert capsys.readouterr().out == f"{path}\n"
    assert_picture(path)


def test_targets_for_a_decoder_are_refused(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="reads no target"):
        run(monkeypatch, tmp_path, AtentaDecoderForCausalLM, "--text", "a", "--target", "b")
