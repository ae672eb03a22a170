"""`atenta phonemize`: lines, files, formats, lexicons, and what it refuses."""

import json
from functools import partial

import pytest

from atenta import Phonemizer, phonemize
from atenta.phonemization.portuguese_words import load_portuguese_phones
from support import command
from support.phones import SpellingTagger, make_letter_tagger

run = partial(command.run, "phonemize")


@pytest.fixture
def loaded(monkeypatch):
    """A phonemizer in place of any saved one, with a homograph and the lexicon that it was loaded with."""
    given = []

    def load(name_or_path, *, lexicon, **options):
        given.append((name_or_path, lexicon, options))
        return Phonemizer(SpellingTagger(), {("br", "gosto"): [(*"gosto",), (*"gɔsto",)]})

    monkeypatch.setattr(Phonemizer, "from_pretrained", load)
    return given


def test_lines_become_lines(loaded, tmp_path):
    assert run("--model", "m", "--variant", "br", "Não é", "a casa").stdout == "ˈnão ˈé\nˈa ˈcasa\n"
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffNão!\r\n\nfim".encode())
    assert run("--model", "m", "--variant", "pt", "--files", path).stdout_bytes.decode() == "\ufeffˈnão\r\n\nˈfim\n"
    assert run("--model", "m", "--variant", "br", "--punctuation", "Não, é…").stdout == "ˈnão, ˈé…\n"


def test_jsonl_has_all_that_is_known(loaded):
    printed = run("--model", "m", "--variant", "br", "--format", "jsonl", "--n_best", 2, "Gosto dos!").stdout
    record = json.loads(printed)
    assert record["text"] == record["read"] == "Gosto dos!"
    assert record["phones"] == "gosto ˈdos"
    word, other = record["words"]
    assert (word["word"], word["source"], other["source"]) == ("Gosto", "lexicon", "model")
    assert [reading["phones"] for reading in word["readings"]] == word["ambiguous"] == [[*"gosto"], [*"gɔsto"]]
    assert [reading["phones"] for reading in other["readings"]] == [["ˈ", *"dos"], ["ˈ", *"dɔs"]]
    assert [each["confidence"] for each in (word["readings"][0], other["readings"][0])] == pytest.approx([0.5, 0.75])


def test_a_lexicon_has_each_word_once_without_stress_marks(loaded):
    arguments = ("--model", "m", "--variant", "br", "--format", "lexicon")
    printed = run(*arguments, "Gosto da casa", "da CASA, жизнь")
    assert printed.stdout == "gosto\tg o s t o\ngosto\tg ɔ s t o\nda\td a\ncasa\tc a s a\n"
    assert "warning: Left as in the text: 'жизнь'" in printed.stderr
    assert run(*arguments, "--n_best", 3, "de").stdout == "de\td e\nde\td ɛ\nde\td e s\n"


def test_options_reach_the_model(loaded, tmp_path):
    lexicon = tmp_path / "mine.tsv"
    lexicon.touch()
    run("--model", "m", "--variant", "br", "--lexicon", lexicon, "--engine", "onnx", "--quantization", "int8", "a")
    assert loaded == [("m", lexicon, {"engine": "onnx", "quantization": "int8"})]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model", "m", "--n_best", 2, "a"], 2, "--format text has one reading of each word, not 2"),
        (["--model", "m", "--files", "none.txt"], 2, "none.txt: found no such file"),
        (["--model", "m", "--engine", "torch", "--quantization", "int8", "a"], 2, "--quantization int8"),
        (["--model", "m", "--variant", "gl", "a"], 1, "variant='gl'; expected one of br, pt"),
    ],
)
def test_wrong_options_are_named(loaded, arguments, code, message):
    refused = run(*arguments, code=code)
    assert message in " ".join(f"{refused.output} {refused.exception}".split())


def test_a_saved_model_and_a_lexicon(tmp_path):
    make_letter_tagger().save_pretrained(tmp_path / "model")
    lexicon = tmp_path / "mine.tsv"
    lexicon.write_text("Kokoro\tk o k o ɾ o\n", encoding="utf-8")
    options = ("--model", tmp_path / "model", "--lexicon", lexicon)
    assert run(*options, "KOKORO, kokoro").stdout == "kokoɾo kokoɾo\n"
    lexicon.write_text("Kokoro\n", encoding="utf-8")
    assert "line 1: found 'Kokoro' without phones" in str(run(*options, "a", code=1).exception)


def test_without_the_packages_model_its_place_is_named(monkeypatch, tmp_path):
    for module in ("phonemization.portuguese_words", "command.phonemize"):
        monkeypatch.setattr(f"atenta.{module}.PHONES_FOLDER", tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"none has no model.*make phones-model"):
        load_portuguese_phones()
    assert "none has no model" in str(run("a", code=1).exception)


def test_the_packages_model_is_the_default(monkeypatch, tmp_path):
    make_letter_tagger().save_pretrained(tmp_path)
    for module in ("phonemization.portuguese_words", "command.phonemize"):
        monkeypatch.setattr(f"atenta.{module}.PHONES_FOLDER", tmp_path)
    expected = phonemize(["Casa, sede!", ""], "pt", punctuation=True)
    assert run("--variant", "pt", "--punctuation", "Casa, sede!").stdout == f"{expected[0]}\n"
    assert (expected[1], phonemize("casa")) == ("", phonemize("casa", "br"))
