"""The command that draws positions."""

import sys

import pytest

from atenta.modeling import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes import show_positions
from support.recipes import assert_picture
from support.saved import save_with_tokenizer


def run(monkeypatch, folder, model_class, kind, length):
    save_with_tokenizer(model_class, folder / "model", position_embedding_type=kind)
    options = ["--model", folder / "model", "--output_dir", folder / "pictures", "--length", length]
    monkeypatch.setattr(sys, "argv", ["show_positions.py", *map(str, options)])
    show_positions.main()
    return sorted(path.name for path in (folder / "pictures").iterdir())


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_computed_positions_have_one_picture(monkeypatch, tmp_path, kind):
    names = run(monkeypatch, tmp_path, AtentaEncoderDecoderForConditionalGeneration, kind, 100)
    assert names == ["positions.png"]
    assert_picture(tmp_path / "pictures" / "positions.png", colours=10)


def test_each_table_of_learned_positions_has_a_picture(monkeypatch, tmp_path):
    names = run(monkeypatch, tmp_path, AtentaEncoderDecoderForConditionalGeneration, "learned", 64)
    assert names == ["model.decoder.embeddings.positions.png", "model.encoder.embeddings.positions.png"]
    for name in names:
        assert_picture(tmp_path / "pictures" / name, colours=10)


def test_more_positions_than_were_learned_are_refused(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="length=65, but the model has learned 64 positions"):
        run(monkeypatch, tmp_path, AtentaDecoderForCausalLM, "learned", 65)


def test_no_positions_are_refused(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path, AtentaDecoderForCausalLM, "rotary", 0)
    assert "--length 0: at least 1 is needed" in capsys.readouterr().err
