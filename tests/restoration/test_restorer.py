"""Taggers of characters with random weights: what they change, windows, confidence, engines, saving, refusals."""

import pickle
import re
import shutil
import sys
import unicodedata
from functools import partial
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    AutoModel,
    AutoModelForTokenClassification,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    pipeline,
)

from atenta import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
    CharacterRestorer,
    Spellings,
)
from atenta.engines.choice import ChosenEngine
from atenta.engines.onnx_export import export_onnx
from atenta.restoration.character_codes import RESTORED, TaggerConfiguration
from atenta.restoration.restorer import OnnxTagger, read_tagger_config
from atenta.tokenization.base_letters import strip_accents
from support.clean_process import run_function
from support.models import tiny_model
from support.saved import edit_json, save_with_tokenizer
from support.taggers import BASES, VARIANTS, make_restorer

TEXT = "A acao comecou, e ela nao esta la. " * 12
TEXTS = [TEXT, "", "ESTA casa", "a\u0301 😀 中 https://acao.pt/acao `e` e", "12"]
SPELLINGS = Spellings(BASES, {"acao": ("ação",), "esta": ("está", "esta")})


@pytest.fixture(scope="module")
def restorer():
    return make_restorer()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a tagger with an ONNX file."""
    folder = tmp_path_factory.mktemp("tagger")
    make_restorer(spellings=SPELLINGS, confidence_temperature=1.5).save_pretrained(folder)
    export_onnx(folder)
    return folder


@pytest.fixture
def folder(exported, tmp_path):
    """A copy of it."""
    return shutil.copytree(exported, tmp_path / "tagger")


@given(st.lists(st.text() | st.text(alphabet="aceãçé 😀\u0301\u0327\u0323ﬁ中\n\r\t\x00ß", max_size=120), max_size=4))
def test_only_choices_change_whatever_the_text(restorer, texts):
    for text, restored in zip(texts, restorer.restore(texts), strict=True):
        text = unicodedata.normalize("NFC", text)
        assert len(restored.text) == len(text) == len(restored.probabilities)
        assert strip_accents(restored.text) == strip_accents(text)
        for before, after in zip(text, restored.text):
            assert after in VARIANTS.get(before, before)


def test_what_is_typed_for_machines_is_left_alone(restorer):
    text = "acao https://acao.pt/acao e joao@cea.pt `acao` @acao #acao"
    (restored,) = restorer.restore([text])
    for span in ("https://acao.pt/acao", "joao@cea.pt", "`acao`", "@acao", "#acao"):
        start = text.index(span)
        assert restored.text[start : start + len(span)] == span
        assert (restored.probabilities[start : start + len(span)] == 1).all()


def test_windows_decide_as_if_each_were_read_alone():
    restorer = make_restorer(window_length=100)
    (restored,) = restorer.restore([TEXT])
    (alone,) = restorer.restore([TEXT[100:200]])
    # The window from 100 decides from the middle of one overlap, 100 to 150, to the middle of the next, 150 to 200.
    assert restored.text[125:175] == alone.text[25:75]
    np.testing.assert_allclose(restored.probabilities[125:175], alone.probabilities[25:75], atol=1e-5)


def test_a_batch_gives_what_each_text_gives_alone(restorer):
    texts = [TEXT[:length] for length in (0, 1, 39, 40, 41, 7, 200)]
    for text, together in zip(texts, restorer.restore(texts), strict=True):
        (alone,) = restorer.restore([text])
        assert together.text == alone.text
        np.testing.assert_allclose(together.probabilities, alone.probabilities, atol=1e-5)
    assert restorer.restore([]) == []


def test_probabilities_are_a_softmax_over_the_variants():
    restorer = make_restorer(window_length=40, confidence_temperature=2.0)
    inputs = restorer.tokenizer("ace", return_tensors="pt")
    with torch.no_grad():
        logits = restorer.model(**inputs).logits[0, 1:4]
    labels = restorer.model.config.label2id
    (restored,) = restorer.restore(["ace"])
    for place, character in enumerate("ace"):
        of_it = torch.stack([logits[place, labels[variant]] for variant in VARIANTS[character]])
        probability, best = (of_it / 2).softmax(-1).max(-1)
        assert restored.text[place] == VARIANTS[character][best]
        assert restored.probabilities[place] == pytest.approx(probability.item(), abs=1e-5)


def test_only_sure_characters_change(restorer):
    (certain,) = restorer.restore([TEXT])
    assert certain.text != TEXT
    least = float(np.median(certain.probabilities[certain.probabilities < 1]))
    (restored,) = restorer.restore([TEXT], min_confidence=least)
    np.testing.assert_array_equal(restored.probabilities, certain.probabilities)
    for before, after, sure, probability in zip(TEXT, restored.text, certain.text, certain.probabilities):
        assert after == (sure if probability >= least else before)
    (nothing,) = restorer.restore([TEXT], min_confidence=1.0)
    assert nothing.text == TEXT


TEXTS_OF = {"a": ["", "a", "á, ", "\x00b"], "c": ["k", "ks "], "e": "eé"}


def test_a_text_of_variants_is_the_list_of_its_characters():
    torch.manual_seed(0)
    of_text = make_restorer()
    of_lists = make_restorer(variants={character: [*variants] for character, variants in VARIANTS.items()})
    of_lists.model.load_state_dict(of_text.model.state_dict())
    for one, other in zip(of_text.restore(TEXTS), of_lists.restore(TEXTS), strict=True):
        assert (one.text, [*one.pieces]) == (other.text, [*other.pieces])
        assert np.array_equal(one.probabilities, other.probabilities)
        assert one.pieces == one.text


def test_variants_of_any_length_are_joined(tmp_path):
    restorer = make_restorer(variants=TEXTS_OF)
    for text, restored in zip(TEXTS, restorer.restore(TEXTS), strict=True):
        text = unicodedata.normalize("NFC", text)
        assert restored.text == "".join(restored.pieces)
        assert len(restored.pieces) == len(text) == len(restored.probabilities)
        for character, piece in zip(text, restored.pieces):  # of URLs and code, the character
            assert piece in {character, *TEXTS_OF.get(character, character)}
        if len(text) <= restorer.config.window_length:
            continue
        labels = {piece: label for label, piece in restorer.config.id2label.items()}
        scored = [pair for places, logits in restorer.score([text]) for pair in zip(places, logits)]
        for place, logits in scored:  # of all windows of a long text
            assert logits.argmax() == labels[restored.pieces[place]]
    (kept,) = restorer.restore([TEXT], min_confidence=1)
    assert kept.text == TEXT
    restorer.save_pretrained(tmp_path)
    export_onnx(tmp_path)
    exported = CharacterRestorer.from_pretrained(tmp_path, engine="onnx")
    for one, other in zip(restorer.restore(TEXTS), exported.restore(TEXTS), strict=True):
        assert one.pieces == other.pieces
        assert np.allclose(one.probabilities, other.probabilities, atol=1e-5)


def test_spellings_are_read():
    reading = make_restorer(spellings=SPELLINGS)
    ids, hints = reading.codes.inputs("acao ela")
    assert ids.tolist() == reading.tokenizer("ação ela", add_special_tokens=False).input_ids
    assert hints.tolist() == [1] * 4 + [0] * 4


@given(st.characters(exclude_categories=["Cs"]))
def test_an_id_is_that_of_the_character_or_of_its_first_byte(restorer, character):
    vocabulary = restorer.tokenizer.get_vocab()
    (index,) = restorer.codes.inputs(character)[0]
    assert index == vocabulary.get(character, vocabulary[f"<0x{character.encode()[0]:02X}>"])


# Engines


def test_onnxruntime_gives_the_answers_of_torch(exported):
    in_torch, in_onnx = (CharacterRestorer.from_pretrained(exported, engine=name) for name in ("torch", "onnx"))
    for expected, restored in zip(in_torch.restore(TEXTS), in_onnx.restore(TEXTS), strict=True):
        assert restored.text == expected.text
        np.testing.assert_allclose(restored.probabilities, expected.probabilities, atol=1e-4)
    for (places, logits), (same, others) in zip(in_torch.score(TEXTS), in_onnx.score(TEXTS), strict=True):
        np.testing.assert_array_equal(places, same)
        np.testing.assert_allclose(logits, others, atol=1e-4)
    for name in TaggerConfiguration.__annotations__:
        assert getattr(read_tagger_config(exported), name) == getattr(in_torch.model.config, name), name


@pytest.mark.parametrize("engine", get_args(ChosenEngine))
def test_a_restorer_goes_to_other_processes(exported, engine):
    restorer = CharacterRestorer.from_pretrained(exported, engine=engine)
    copied = pickle.loads(pickle.dumps(restorer))
    assert [each.text for each in copied.restore(TEXTS)] == [each.text for each in restorer.restore(TEXTS)]


def test_auto_takes_onnxruntime_where_it_can(folder, monkeypatch):
    load = CharacterRestorer.from_pretrained
    exact = load(folder).restore(TEXTS)
    assert isinstance(load(folder).model, OnnxTagger)
    assert isinstance(load(folder, dtype=torch.float32).model, torch.nn.Module)  # an option of torch's
    export_onnx(folder, "int8")
    assert load(folder).restore(TEXTS)[0].text == exact[0].text
    (folder / "onnx" / "model.onnx").unlink()  # int8 is taken if it is the only one
    assert isinstance(load(folder).model, OnnxTagger)
    rounded = load(folder).restore(TEXTS)
    assert (rounded[0].probabilities != exact[0].probabilities).any()
    np.testing.assert_allclose(rounded[0].probabilities, exact[0].probabilities, atol=0.1)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert isinstance(load(folder).model, torch.nn.Module)
    weights = (folder / "model.safetensors").rename(folder / "elsewhere")
    with pytest.raises(ImportError, match="need onnxruntime"):
        load(folder)
    weights.rename(folder / "model.safetensors")
    monkeypatch.undo()
    shutil.rmtree(folder / "onnx")
    assert isinstance(load(folder).model, torch.nn.Module)


@pytest.mark.parametrize(
    ("engine", "library", "message"),
    [("onnx", "onnxruntime", r'need onnxruntime: pip install "atenta\[onnx\]"'), ("torch", "torch", "needs torch")],
)
def test_an_engine_that_is_not_installed(exported, engine, library, message, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=message):
        CharacterRestorer.from_pretrained(exported, engine=engine)


@pytest.mark.parametrize("engine", get_args(ChosenEngine))
def test_saved_and_loaded(exported, tmp_path, engine):
    """With its spellings; from onnxruntime, with its weights."""
    restorer = CharacterRestorer.from_pretrained(exported, engine=engine)
    restorer.save_pretrained(tmp_path / "copy")
    copied = CharacterRestorer.from_pretrained(tmp_path / "copy")
    assert isinstance(copied.model, torch.nn.Module)
    assert [each.text for each in copied.restore(TEXTS)] == [each.text for each in restorer.restore(TEXTS)]


SAVES = {
    "model": lambda model, tokenizer, folder: model.save_pretrained(folder),
    "trainer": lambda model, tokenizer, folder: Trainer(model, TrainingArguments(str(folder))).save_model(),
    "other head": lambda model, tokenizer, folder: AutoModel.from_pretrained(model.name_or_path).save_pretrained(
        folder
    ),
    "pipeline": lambda model, tokenizer, folder: pipeline(
        "character-restoration", model=model, tokenizer=tokenizer
    ).save_pretrained(folder),
}


@pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
def test_every_way_to_save_a_model_saves_its_spellings(exported, tmp_path, save):
    model = AutoModelForTokenClassification.from_pretrained(exported)
    save(model, AutoTokenizer.from_pretrained(exported), tmp_path)
    assert (tmp_path / "spellings.txt").read_bytes() == (exported / "spellings.txt").read_bytes()


def test_a_model_that_a_restorer_was_made_of_is_saved_with_its_spellings(tmp_path):
    restorer = make_restorer()
    CharacterRestorer(restorer.model, restorer.tokenizer, SPELLINGS).model.save_pretrained(tmp_path)
    restorer.tokenizer.save_pretrained(tmp_path)
    loaded = CharacterRestorer.from_pretrained(tmp_path)
    assert loaded.codes.spellings.of("ACAO") == ("ação",)


def test_loaded_from_the_cache_of_the_hub(exported, tmp_path):
    shutil.copytree(exported, tmp_path / "blobs", ignore=shutil.ignore_patterns("onnx"))
    snapshot = tmp_path / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    for path in (tmp_path / "blobs").iterdir():
        (snapshot / path.name).symlink_to(path)
    (found,), (expected,) = (CharacterRestorer.from_pretrained(each).restore([TEXT]) for each in (snapshot, exported))
    assert found.text == expected.text


def _use_pipeline(folder, text):
    from transformers import pipeline

    restore = pipeline("character-restoration", model=folder, trust_remote_code=True)
    print(restore(text)["restored_text"])
    both = restore([text, "e"], return_probabilities=True)
    print(len(both), len(both[0]["probabilities"]))
    print(restore([text, "e", text], batch_size=2)[2] == restore(text))
    print(restore("o fenomeno", variant="pt")["restored_text"])
    print(restore(text, min_confidence=1.0)["restored_text"])
    restore.save_pretrained("again")
    again = pipeline("character-restoration", model="again", trust_remote_code=True)
    print(again(text)["restored_text"])


def test_the_saved_folder_brings_its_pipeline(exported, tmp_path):
    text = "a acao comeca e acaba"
    printed = run_function(_use_pipeline, exported, text, home=tmp_path).splitlines()
    restorer = CharacterRestorer.from_pretrained(exported)
    (restored,), (of_variant,) = restorer.restore([text]), restorer.restore(["o fenomeno"], variant="pt")
    assert printed[-6:] == [restored.text, f"2 {len(text)}", "True", of_variant.text, text, restored.text]


# Refusals


def replace_spellings(folder, replace):
    (folder / "spellings.txt").unlink()
    replace(folder / "spellings.txt")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, {"engine": "onnx", "dtype": torch.float32}, "engine='onnx' does not have dtype"),
        (lambda folder: (folder / "config.json").write_bytes(b"{"), {}, r"config\.json is damaged"),
        (
            lambda folder: edit_json(folder / "config.json", character_variants=None),
            {},
            "no character_variants.*finetune_characters",
        ),
        (lambda folder: (folder / "spellings.txt").unlink(), {}, r"spellings\.txt"),
        (lambda folder: (folder / "spellings.txt").write_bytes(b"a\xff"), {}, "spellings.txt.*UTF-8"),
        (
            lambda folder: (folder / "spellings.txt").write_text("está estas", encoding="utf-8"),
            {},
            "spellings.txt.*'estas' as a spelling of 'esta'",
        ),
        (lambda folder: replace_spellings(folder, lambda path: path.mkdir()), {}, "spellings.txt.*spellings_file"),
        (lambda folder: replace_spellings(folder, lambda path: path.symlink_to("/etc/passwd")), {}, "is a link"),
    ],
)
def test_folders_and_options_that_do_not_fit_are_refused(folder, change, options, message):
    if change is not None:
        change(folder)
    with pytest.raises((OSError, ValueError), match=message) as refused:
        CharacterRestorer.from_pretrained(folder, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["../.bashrc", "/dev/zero", "config.json", 5])
def test_spellings_are_no_other_file(folder, name):
    edit_json(folder / "config.json", spellings_file=name)
    for load in (CharacterRestorer.from_pretrained, partial(pipeline, "character-restoration")):
        with pytest.raises(ValueError, match=f"spellings_file.*{name}"):
            load(str(folder))


def test_other_models_are_refused(tmp_path, monkeypatch):
    model = tiny_model(AtentaEncoderForTokenClassification)
    with pytest.raises(ValueError, match=r"no character_variants.*finetune_characters\.py"):
        CharacterRestorer(model, AtentaTokenizer.from_alphabet(family="encoder"))
    save_with_tokenizer(AtentaEncoderDecoderForConditionalGeneration, tmp_path)
    with pytest.raises(ValueError, match=r"AtentaEncoderDecoderForCond.* no character_variants.*finetune_characters"):
        CharacterRestorer.from_pretrained(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("../nope", str(tmp_path / "nope"), "a/b/c", "config.json"):  # no names on the Hub
        with pytest.raises(FileNotFoundError, match=r"found no config\.json there"):
            CharacterRestorer.from_pretrained(name)


def test_arguments_are_checked(restorer, exported):
    for wrong in ("accents", ["case"], None):
        with pytest.raises(ValueError, match="accents"):
            restorer.restore(["a"], restored=wrong)
    for confidence, error in ((-0.1, ValueError), (float("nan"), ValueError), (None, TypeError), ("0.9", TypeError)):
        with pytest.raises(error, match="min_confidence"):
            restorer.restore(["a"], min_confidence=confidence)
    for wrong in (["a", None], "a", [["a"]]):
        with pytest.raises(TypeError, match=r"`texts.*expected a (list or tuple of )?str"):
            restorer.restore(wrong)
    with pytest.raises(ValueError, match=r"`texts\[0\]` has the lone surrogate"):
        restorer.restore(["a\ud800"])
    restore = pipeline("character-restoration", model=str(exported), device="cpu")
    for wrong in ([["a"]], ["a", None]):
        with pytest.raises(TypeError, match="expected a "):
            restore(wrong)


_MARKED = {" ": [" ", ", "], "\n": ["\n", ".\n", "?\n"], "a": ["a", "A", "á", "Á"], "e": ["e", "E"]}


@pytest.mark.parametrize("restored", [(), ("accents",), ("capitals", "accents"), ("punctuation",), RESTORED])
def test_what_is_switched_off_stays(restored):
    restorer = make_restorer(variants=_MARKED, initializer_range=1.0)
    text = "a casa e\na ave a " * 20
    (each,) = restorer.restore([text], restored=restored)
    assert "".join(each.pieces) == each.text
    assert len(each.pieces) == len(each.probabilities) == len(text)
    plain = each.text
    for name, undo in (("accents", strip_accents), ("capitals", str.lower)):
        plain = undo(plain) if name in restored else plain
    assert (re.sub("[,.?]", "", plain) if "punctuation" in restored else plain) == text
    assert restored or each.text == text


def test_a_text_may_end_with_a_sign_and_no_line_end():
    restorer = make_restorer(variants=_MARKED)
    torch.nn.init.zeros_(restorer.model.classifier.weight)
    bias = [{".\n": 9.0, "e": 5.0, " ": 5.0, "a": 5.0}.get(restorer.config.id2label[index], 0) for index in range(11)]
    restorer.model.classifier.bias.data = torch.tensor(bias)
    ended, closed, empty = restorer.restore(["a e", "a e\n", ""])
    assert (ended.text, ended.pieces, len(ended.probabilities)) == ("a e.", ["a", " ", "e."], 3)
    assert (closed.text, closed.pieces) == ("a e.\n", ["a", " ", "e", ".\n"])
    assert (empty.text, len(empty.pieces)) == ("", 0)
