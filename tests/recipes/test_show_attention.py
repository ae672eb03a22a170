"""The command that draws attention."""

import json
import sys

import pytest

from atenta.modeling import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration, AtentaEncoderModel
from atenta.recipes import show_attention
from support.recipes import assert_picture
from support.saved import save_with_tokenizer

SIDES = ["encoder_self_attention.png", "decoder_self_attention.png", "cross_attention.png"]


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run the command in this process; returns the names that it printed."""

    def run(model_class, *arguments):
        save_with_tokenizer(model_class, tmp_path / "model")
        options = ["--model", tmp_path / "model", "--output_dir", tmp_path / "pictures", *arguments]
        monkeypatch.setattr(sys, "argv", ["show_attention.py", *map(str, options)])
        show_attention.main()
        paths = capsys.readouterr().out.splitlines()
        assert paths == [str(tmp_path / "pictures" / path.rpartition("/")[2]) for path in paths]
        return [path.rpartition("/")[2] for path in paths]

    return run


@pytest.mark.parametrize(
    ("model_class", "names"),
    [
        (AtentaEncoderModel, ["self_attention.png"]),
        (AtentaDecoderForCausalLM, ["self_attention.png"]),
        (AtentaEncoderDecoderForConditionalGeneration, SIDES),
    ],
    ids=["encoder", "decoder", "encoder-decoder"],
)
def test_each_kind_of_attention_has_a_picture_and_all_have_a_page(command, tmp_path, model_class, names):
    assert command(model_class, "--text", "ação") == [*names, "attention.html"]
    for name in names:
        assert_picture(tmp_path / "pictures" / name, colours=10)


def test_the_target_may_be_given_and_one_head_be_drawn(command, tmp_path):
    arguments = ("--text", "acao", "--target", "ação", "--layer", 0, "--head", 3)
    assert command(AtentaEncoderDecoderForConditionalGeneration, *arguments) == [*SIDES, "attention.html"]
    page = (tmp_path / "pictures" / "attention.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    assert data[2]["queries"] == ["⟨bos⟩", *"ação"]
    assert data[2]["keys"] == [*"acao", "⟨eos⟩"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--target", "ab"), "reads no target"),
        (("--layer", 2), "self-attention has no layer 2: expected 0 to 1"),
        (("--head", 4), "self-attention has no head 4: expected 0 to 3"),
    ],
    ids=["target", "layer", "head"],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_written(command, tmp_path, arguments, reason):
    with pytest.raises(SystemExit, match=reason):
        command(AtentaDecoderForCausalLM, "--text", "ab", *arguments)
    assert not (tmp_path / "pictures").exists()
