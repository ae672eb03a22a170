"""Taggers of characters in onnxruntime: the answers of torch, without torch; which engine runs; errors."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch

from atenta import CharacterRestorer, Spellings
from atenta.engines.onnx_export import export_onnx
from atenta.restoration.onnx_tagger import OnnxTagger, TaggerConfig
from support.clean_process import run_function
from support.saved import save_with_tokenizer
from support.taggers import BASES, make_restorer

TEXTS = [
    "A acao comecou, e ela nao esta la. " * 12,
    "",
    "ESTA casa",
    "a\u0301 😀 中 https://acao.pt/acao `e` e",
    "12",
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a tagger with an ONNX file."""
    folder = tmp_path_factory.mktemp("tagger")
    spellings = Spellings(BASES, {"acao": ("ação",), "esta": ("está", "esta")})
    make_restorer(spellings=spellings, confidence_temperature=1.5).save_pretrained(folder)
    export_onnx(folder)
    return folder


@pytest.fixture
def folder(exported, tmp_path):
    """A copy of it."""
    return shutil.copytree(exported, tmp_path / "tagger")


@pytest.fixture
def without(monkeypatch):
    """Return a function after which a library cannot be imported."""
    return lambda library: monkeypatch.setitem(sys.modules, library, None)


def test_the_answers_of_torch(exported):
    in_torch = CharacterRestorer.from_pretrained(exported, engine="torch")
    in_onnx = CharacterRestorer.from_pretrained(exported, engine="onnx")
    for expected, restored in zip(in_torch.restore(TEXTS), in_onnx.restore(TEXTS), strict=True):
        assert restored.text == expected.text
        np.testing.assert_allclose(restored.probabilities, expected.probabilities, atol=1e-4)
    for (places, logits), (same, others) in zip(in_torch.score(TEXTS), in_onnx.score(TEXTS), strict=True):
        np.testing.assert_array_equal(places, same)
        np.testing.assert_allclose(logits, others, atol=1e-4)


def _restore_without_torch(folder, texts):
    import json
    import sys

    class Refusing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("torch", "transformers"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Refusing())
    from atenta import CharacterRestorer

    restored = CharacterRestorer.from_pretrained(folder).restore(json.loads(texts))
    assert not {"torch", "transformers"} & set(sys.modules)
    print(json.dumps([[each.text, each.probabilities.tolist()] for each in restored]))
    try:
        CharacterRestorer.from_pretrained(folder, engine="torch")
    except ImportError as error:
        print(error)


def test_neither_torch_nor_transformers_is_needed(exported, tmp_path):
    printed = run_function(_restore_without_torch, exported, json.dumps(TEXTS), home=tmp_path, with_package=True)
    answers, error = printed.splitlines()
    expected = CharacterRestorer.from_pretrained(exported, engine="torch").restore(TEXTS)
    for each, (text, probabilities) in zip(expected, json.loads(answers), strict=True):
        assert text == each.text
        np.testing.assert_allclose(probabilities, each.probabilities, atol=1e-4)
    assert error.startswith("engine='torch' needs torch and transformers")


def test_auto_takes_onnxruntime_where_it_can(folder, without):
    load = CharacterRestorer.from_pretrained
    assert isinstance(load(folder).model, OnnxTagger)
    assert isinstance(load(folder, dtype=torch.float32).model, torch.nn.Module)  # an option of torch's
    without("onnxruntime")
    assert isinstance(load(folder).model, torch.nn.Module)


def test_auto_takes_torch_without_an_onnx_file(folder):
    shutil.rmtree(folder / "onnx")
    assert isinstance(CharacterRestorer.from_pretrained(folder).model, torch.nn.Module)


def test_a_file_in_int8_is_taken_if_it_is_the_only_one(folder):
    in_float = CharacterRestorer.from_pretrained(folder, engine="onnx").restore(TEXTS)
    export_onnx(folder, "int8")
    assert CharacterRestorer.from_pretrained(folder, engine="onnx").restore(TEXTS)[0].text == in_float[0].text
    (folder / "onnx" / "model.onnx").unlink()
    restored = CharacterRestorer.from_pretrained(folder).restore(TEXTS)
    assert (restored[0].probabilities != in_float[0].probabilities).any()
    np.testing.assert_allclose(restored[0].probabilities, in_float[0].probabilities, atol=0.1)


def test_what_runs_in_onnxruntime_is_saved_with_its_weights(exported, tmp_path):
    restorer = CharacterRestorer.from_pretrained(exported, engine="onnx")
    restorer.save_pretrained(tmp_path / "copy")
    copied = CharacterRestorer.from_pretrained(tmp_path / "copy")
    assert isinstance(copied.model, torch.nn.Module)
    assert [each.text for each in copied.restore(TEXTS)] == [each.text for each in restorer.restore(TEXTS)]


def test_an_unknown_engine_is_refused(exported):
    with pytest.raises(ValueError, match=r"engine='tensorrt'; expected one of 'auto', 'onnx', 'torch'\."):
        CharacterRestorer.from_pretrained(exported, engine="tensorrt")


def test_options_of_torch_are_refused_in_onnxruntime(exported):
    with pytest.raises(ValueError, match="engine='onnx' does not have dtype"):
        CharacterRestorer.from_pretrained(exported, engine="onnx", dtype=torch.float32)


def test_without_onnxruntime(exported, without):
    without("onnxruntime")
    with pytest.raises(ImportError, match=r'pip install "atenta\[onnx\]"'):
        CharacterRestorer.from_pretrained(exported, engine="onnx")


def test_without_torch(exported, without):
    without("torch")
    with pytest.raises(ImportError, match="engine='torch' needs torch"):
        CharacterRestorer.from_pretrained(exported, engine="torch")


def test_without_an_onnx_file(folder):
    shutil.rmtree(folder / "onnx")
    with pytest.raises(FileNotFoundError, match=r"has no file onnx/model\.onnx.*atenta export"):
        CharacterRestorer.from_pretrained(folder, engine="onnx")


def test_a_damaged_onnx_file(folder):
    (folder / "onnx" / "model.onnx").write_bytes(b"ONNX")
    with pytest.raises(ValueError, match=r"cannot read .*model\.onnx") as raised:
        CharacterRestorer.from_pretrained(folder)
    assert "\n" not in str(raised.value)


def test_the_onnx_file_of_another_model(exported, folder):
    path = folder / "config.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["id2label"] |= {str(len(saved["id2label"])): "ü"}
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(ValueError, match=r"model\.onnx has logits of 14 .*config\.json .* 15 \(id2label\)"):
        CharacterRestorer.from_pretrained(folder, engine="onnx")


@pytest.mark.parametrize("engine", ["auto", "onnx", "torch"])
def test_a_name_of_nothing_here_is_no_name_on_the_hub(tmp_path, monkeypatch, engine):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "file").touch()
    for name in ("out/nope", "../nope", str(tmp_path / "nope"), "a/b/c", "file", "out", tmp_path / "nope"):
        with pytest.raises(FileNotFoundError, match=r"found no config\.json there"):
            CharacterRestorer.from_pretrained(name, engine=engine)


@pytest.mark.parametrize("engine", ["auto", "onnx", "torch"])
def test_another_kind_of_model(tmp_path, engine):
    from atenta import AtentaEncoderDecoderForConditionalGeneration

    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path)
    with pytest.raises(ValueError, match=r"AtentaEncoderDecoderForCond.* no character_variants.*finetune_characters"):
        CharacterRestorer.from_pretrained(tmp_path, engine=engine)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_configuration(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config\.json is damaged") as raised:
        CharacterRestorer.from_pretrained(folder)
    assert "\n" not in str(raised.value)


def test_the_configuration_is_that_of_transformers(exported):
    config = CharacterRestorer.from_pretrained(exported, engine="torch").model.config
    for name, value in vars(TaggerConfig.from_folder(exported)).items():
        assert value == getattr(config, name), name
