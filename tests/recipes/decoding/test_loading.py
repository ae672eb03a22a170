"""Loading of saved models by the class that fits them."""

from pathlib import Path

import huggingface_hub
import pytest
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaDecoderForSequenceClassification,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaTokenizer,
)
from atenta.engines.saved_model import find_model
from atenta.hub.push_files import select_files
from atenta.recipes.decoding.loading import load_model
from support.models import assert_close, tiny_model
from support.saved import save

TOKENIZER = AtentaTokenizer.from_texts(["abc"], family="decoder")
SMALL = {"vocab_size": 8, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
OTHERS = {
    GPT2LMHeadModel: GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=1),
    T5ForConditionalGeneration: T5Config(vocab_size=8, d_model=8, d_ff=8, d_kv=8, num_layers=1, num_heads=1),
    BertForMaskedLM: BertConfig(**SMALL),
}


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        (AtentaDecoderForCausalLM, "AtentaDecoderForCausalLM"),
        (AtentaDecoderForSequenceClassification, "AtentaDecoderModel"),
        (AtentaEncoderDecoderForConditionalGeneration, "AtentaEncoderDecoderForConditionalGeneration"),
        (AtentaEncoderForMaskedLM, "AtentaEncoderModel"),
        (GPT2LMHeadModel, "GPT2LMHeadModel"),
        (T5ForConditionalGeneration, "T5ForConditionalGeneration"),
        (BertForMaskedLM, "BertModel"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_only_models_that_generate_keep_their_head(tmp_path, saved, loaded):
    model = save(saved(OTHERS[saved]) if saved in OTHERS else tiny_model(saved), TOKENIZER, tmp_path)
    tokenizer, found = load_model(str(tmp_path))
    assert type(found).__name__ == loaded
    assert not found.training
    assert tokenizer.get_vocab() == TOKENIZER.get_vocab()
    weights = model.state_dict()
    prefix = "" if type(found) is saved else f"{model.base_model_prefix}."
    for name, weight in found.state_dict().items():
        if not name.startswith("pooler."):  # BertForMaskedLM has none
            assert_close(weight, weights.get(prefix + name, weights.get(name)))


def test_a_model_that_does_not_exist_is_refused_in_one_line():
    message = "nothing: found no such folder here, and the Hub cannot be reached"
    with pytest.raises(SystemExit, match=message) as refused:
        load_model("nobody/nothing")
    assert "\n" not in refused.value.code


@pytest.mark.parametrize("name", ["outputs/acents", "./acents", "/acents", "a/b/c", "here/acents"])
def test_a_misspelt_folder_is_not_looked_for_on_the_hub(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "file_exists", lambda *_, **options: pytest.fail("the Hub was asked"))
    with pytest.raises(FileNotFoundError, match=r"found no config\.json there"):
        find_model(name)


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """The current folder has a finished training and one that has not ended; the Hub has no models."""
    for name in ("run/checkpoint-5", "run/checkpoint-10", "done"):
        (tmp_path / "outputs" / name).mkdir(parents=True)
        (tmp_path / "outputs" / name / "config.json").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "file_exists", lambda *_, **options: False)


@pytest.mark.parametrize(
    ("name", "nearby"),
    [
        ("outputs/run/checkpoint-1", "outputs/run has checkpoint-5, checkpoint-10"),
        ("outputs/dne", "outputs has done"),
        ("done", "outputs/done is here"),
    ],
)
def test_models_nearby_are_named(outputs, name, nearby):
    with pytest.raises(FileNotFoundError, match=rf"; {nearby}\Z"):
        find_model(name)


@pytest.mark.parametrize("name", ["outputs/run", "run"])
def test_the_newest_checkpoint_of_a_training_that_has_not_ended_is_named(outputs, name):
    with pytest.raises(FileNotFoundError, match=r"same command.* outputs/run/checkpoint-10\b") as refused:
        find_model(name)
    assert "checkpoint-5" not in str(refused.value)
    with pytest.raises(ValueError, match=r"config\.json.* outputs/run/checkpoint-10\b"):
        select_files(Path("outputs/run"))


def test_a_model_in_a_subfolder_of_a_repository(monkeypatch, tmp_path):
    snapshot = tmp_path / "models--somebody--something" / "snapshots" / "1"
    (snapshot / "small").mkdir(parents=True)
    (blobs := tmp_path / "models--somebody--something" / "blobs").mkdir()
    (blobs / "2").write_text("{}", encoding="utf-8")
    (snapshot / "small" / "config.json").symlink_to(blobs / "2")
    asked = []
    monkeypatch.setattr(huggingface_hub, "file_exists", lambda name, file, **_: asked.append(file) or True)
    monkeypatch.setattr(
        huggingface_hub,
        "snapshot_download",
        lambda name, **options: asked.extend(options["allow_patterns"]) or snapshot,
    )
    assert find_model("somebody/something", subfolder="small") == snapshot / "small"
    assert {"small/config.json", "small/*.json", "small/onnx/*.onnx"} <= {*asked}
    assert all(each.startswith("small/") for each in asked)


def test_the_hub_is_asked_once(monkeypatch, tmp_path):
    answers = {"nobody/nothing": False, "somebody/something": True}
    monkeypatch.setattr(huggingface_hub, "file_exists", lambda name, *_, **options: answers.pop(name))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **options: str(tmp_path))
    assert find_model("somebody/something") == tmp_path
    with pytest.raises(FileNotFoundError, match="found no such folder here, and no such model on the Hub"):
        find_model("nobody/nothing")
    assert not answers


@pytest.mark.parametrize(
    ("file", "damage", "part"),
    [
        ("config.json", b'{"model_type": "\\u001b[31m"}', "config.json"),
        ("model.safetensors", b"", "model.safetensors"),
        ("tokenizer.json", b"{", "tokenizer"),
    ],
)
def test_damaged_files_are_named_in_one_line(tmp_path, file, damage, part):
    save(tiny_model(AtentaDecoderForCausalLM), TOKENIZER, tmp_path)
    (tmp_path / file).write_bytes(damage)
    with pytest.raises(SystemExit, match=rf"^{tmp_path}: cannot load the {part} \(") as refused:
        load_model(str(tmp_path))
    assert refused.value.code.isprintable()
