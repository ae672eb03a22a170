"""Taggers of characters with random weights: what they may change, windows, batches, confidence, saving."""

import json
import unicodedata
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import pipeline

from atenta import (
    AtentaEncoderConfig,
    AtentaEncoderForTokenClassification,
    AtentaTokenizer,
    CharacterRestorer,
    Spellings,
)
from atenta.tokenization.base_letters import strip_accents
from support.clean_process import run_function
from support.models import tiny_model
from support.taggers import BASES, VARIANTS, make_restorer

TEXT = "A acao comecou, e ela nao esta la. " * 12


@pytest.fixture(scope="module")
def restorer():
    return make_restorer()


@given(st.lists(st.text(), max_size=4))
def test_only_choices_change_whatever_the_text(restorer, texts):
    for text, restored in zip(texts, restorer.restore(texts), strict=True):
        text = unicodedata.normalize("NFC", text)
        assert len(restored.text) == len(text) == len(restored.probabilities)
        for before, after in zip(text, restored.text):
            assert after in VARIANTS.get(before, before)


@given(st.text(alphabet="aceãçé 😀\u0301\u0327\u0323ﬁ中\n\r\t\x00ß", max_size=120))
def test_letters_are_kept_and_marks_too(restorer, text):
    (restored,) = restorer.restore([text])
    text = unicodedata.normalize("NFC", text)
    assert strip_accents(restored.text) == strip_accents(text)
    for before, after in zip(text, restored.text):
        assert after == before or before in VARIANTS


def test_something_changes(restorer):
    (restored,) = restorer.restore([TEXT])
    assert restored.text != TEXT


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


def test_no_text_gives_no_text(restorer):
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
    least = float(np.median(certain.probabilities[certain.probabilities < 1]))
    (restored,) = restorer.restore([TEXT], min_confidence=least)
    np.testing.assert_array_equal(restored.probabilities, certain.probabilities)
    for before, after, sure, probability in zip(TEXT, restored.text, certain.text, certain.probabilities):
        assert after == (sure if probability >= least else before)
    (nothing,) = restorer.restore([TEXT], min_confidence=1.0)
    assert nothing.text == TEXT


def test_decomposed_text_comes_back_composed(restorer):
    (restored,) = restorer.restore([unicodedata.normalize("NFD", "ação é")])
    assert restored.text[1:] == "ção é"


def test_spellings_are_read(restorer):
    spellings = Spellings(BASES, {"acao": ("ação",)})
    reading = make_restorer(spellings=spellings)
    ids, hints = reading.codes.inputs("acao ela")
    assert ids.tolist() == reading.tokenizer("ação ela", add_special_tokens=False).input_ids
    assert hints.tolist() == [1] * 4 + [0] * 4


def test_characters_outside_the_alphabet_have_one_id(restorer):
    ids, _ = restorer.codes.inputs("a中😀ﬁ\x00")
    vocabulary = restorer.tokenizer.get_vocab()
    assert ids.tolist() == [vocabulary[each] for each in ("a", "<0xE4>", "<0xF0>", "<0xEF>", "<0x00>")]


@given(st.characters(exclude_categories=["Cs"]))
def test_an_id_is_that_of_the_character_or_of_its_first_byte(restorer, character):
    vocabulary = restorer.tokenizer.get_vocab()
    (index,) = restorer.codes.inputs(character)[0]
    assert index == vocabulary.get(character, vocabulary[f"<0x{character.encode()[0]:02X}>"])


def test_saved_and_loaded_with_its_spellings(tmp_path):
    restorer = make_restorer(spellings=Spellings(BASES, {"acao": ("ação",), "esta": ("está", "esta")}))
    restorer.save_pretrained(tmp_path)
    loaded = CharacterRestorer.from_pretrained(tmp_path)
    assert loaded.restore([TEXT])[0].text == restorer.restore([TEXT])[0].text
    (tmp_path / "spellings.txt").unlink()
    with pytest.raises(OSError, match=r"spellings\.txt"):
        CharacterRestorer.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("link", b"acao", "(is a link|spellings_file)"),
        ("folder", b"", "spellings_file"),
        ("file", b"a\xff", "UTF-8"),
        ("file", "está casa".encode(), "'casa' as a spelling of 'esta'"),
        ("file", "está estas".encode(), "'estas' as a spelling of 'esta'"),
    ],
)
def test_damaged_spellings_are_refused(tmp_path, kind, content, message):
    make_restorer(spellings=Spellings(BASES, {"acao": ("ação",)})).save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "spellings.txt"
    path.unlink()
    if kind == "link":
        (tmp_path / "outside.txt").write_bytes(content)
        path.symlink_to(tmp_path / "outside.txt")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=f"spellings.txt.*{message}"):
        CharacterRestorer.from_pretrained(tmp_path / "model")


@pytest.mark.parametrize("name", ["../.bashrc", "/etc/passwd", "/dev/zero", "config.json", "model.safetensors", 5])
def test_spellings_are_no_other_file(tmp_path, name):
    make_restorer(spellings=Spellings(BASES, {"acao": ("ação",)})).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"spellings_file": name}))
    for load in (CharacterRestorer.from_pretrained, partial(pipeline, "character-restoration")):
        with pytest.raises(ValueError, match=f"spellings_file.*{name}"):
            load(str(tmp_path))


def test_spellings_are_loaded_from_the_cache_of_the_hub(tmp_path):
    restorer = make_restorer(spellings=Spellings(BASES, {"acao": ("ação",)}))
    restorer.save_pretrained(tmp_path / "blobs")
    snapshot = tmp_path / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    for path in (tmp_path / "blobs").iterdir():
        (snapshot / path.name).symlink_to(path)
    assert CharacterRestorer.from_pretrained(snapshot).restore([TEXT])[0].text == restorer.restore([TEXT])[0].text


def _use_pipeline(folder, text):
    from transformers import pipeline

    restore = pipeline("character-restoration", model=folder, trust_remote_code=True)
    print(restore(text)["restored_text"])
    both = restore([text, "e"], return_probabilities=True)
    print(len(both), len(both[0]["probabilities"]))
    print(restore([text, "e", text], batch_size=2)[2] == restore(text))
    print(restore(text, min_confidence=1.0)["restored_text"])
    restore.save_pretrained("again")
    again = pipeline("character-restoration", model="again", trust_remote_code=True)
    print(again(text)["restored_text"])


def test_the_saved_folder_brings_its_pipeline(tmp_path):
    restorer = make_restorer(spellings=Spellings(BASES, {"acao": ("ação",)}))
    restorer.save_pretrained(tmp_path / "model")
    text = "a acao comeca e acaba"
    printed = run_function(_use_pipeline, tmp_path / "model", text, home=tmp_path).splitlines()
    (restored,) = restorer.restore([text])
    assert printed[-5:] == [restored.text, f"2 {len(text)}", "True", text, restored.text]


def test_a_tagger_of_words_is_refused():
    model = tiny_model(AtentaEncoderForTokenClassification)
    with pytest.raises(ValueError, match=r"no character_variants.*finetune_characters\.py"):
        CharacterRestorer(model, AtentaTokenizer.from_alphabet(family="encoder"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"character_variants": {"a": "aá"}}, "window_length"),
        ({"character_variants": {"ab": "aá"}, "window_length": 8}, "'ab'.*expected one character"),
        ({"character_variants": {"a": "ax"}, "window_length": 8}, "'ax'.*labels"),
        ({"window_length": 0}, "window_length=0"),
        ({"confidence_temperature": 0.0}, r"confidence_temperature=0\.0"),
    ],
)
def test_configurations_that_do_not_fit_are_refused(options, message):
    with pytest.raises(Exception, match=message):
        AtentaEncoderConfig(id2label={0: "a", 1: "á"}, **options)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_confidence_is_a_probability(restorer, confidence):
    with pytest.raises(ValueError, match="min_confidence"):
        restorer.restore(["a"], min_confidence=confidence)


@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_a_confidence_is_a_number(restorer, confidence):
    with pytest.raises(TypeError, match="min_confidence"):
        restorer.restore(["a"], min_confidence=confidence)


def test_texts_are_checked(restorer):
    for wrong in (["a", None], "a", [["a"]]):
        with pytest.raises(TypeError, match=r"`texts.*expected a (list or tuple of )?str"):
            restorer.restore(wrong)
    with pytest.raises(ValueError, match="lone surrogate"):
        restorer.restore(["a\ud800"])


def test_texts_of_the_pipeline_are_checked(tmp_path):
    make_restorer().save_pretrained(tmp_path)
    restore = pipeline("character-restoration", model=str(tmp_path), device="cpu")
    for wrong in ([["a"]], ["a", None]):
        with pytest.raises(TypeError, match="expected a "):
            restore(wrong)
