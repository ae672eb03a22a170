"""The model that comes with the package: everyday text, documents, files, confidence, and no network."""

import csv
import json
import random
import unicodedata

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atenta import CharacterRestorer, RestoredText, restore_accents, restore_text
from atenta.recipes.samples.files import DATA
from atenta.recipes.samples.portuguese_texts import cut_into_sentences
from atenta.recipes.tasks.characters import score_restored
from atenta.restoration.portuguese import MODEL_FOLDER
from atenta.tokenization.base_letters import strip_accents
from support.command import run
from support.wheels import ROOT

EVERYDAY = (DATA / "portugues" / "cotidiano.txt").read_text(encoding="utf-8").splitlines()


def test_accents_are_restored():
    assert restore_accents("A acao comecou amanha, nao e?") == "A ação começou amanhã, não é?"
    assert restore_accents("O Pokemon de Gomez e Jimenez.") == "O Pokémon de Gómez e Jiménez."
    assert restore_accents(["Ele esta la.", "Esta casa e bonita."]) == ["Ele está lá.", "Esta casa é bonita."]
    assert restore_accents("VOCE TEM INFORMACOES, PORTUGUES?") == "VOCÊ TEM INFORMAÇÕES, PORTUGUÊS?"


@pytest.mark.parametrize(
    ("variant", "right"),
    [
        ("br", "O prêmio acadêmico do gênio de Antônio, que tem estômago."),
        ("pt", "O prémio académico do génio de António, que tem estômago."),
    ],
)
def test_words_get_the_marks_of_a_variant(variant, right):
    for expected in (right, right.upper()):
        assert restore_accents(strip_accents(expected), variant=variant) == expected
        assert restore_accents(expected, variant={"br": "pt", "pt": "br"}[variant]) == expected
    assert restore_text(strip_accents(right.lower()), variant=variant) == right
    baby = {"br": "bebê", "pt": "bebé"}[variant]
    assert restore_accents("A mae do bebe chegou.", variant=variant) == f"A mãe do {baby} chegou."
    assert restore_accents("O Pokemon de Gomez e Jimenez.", variant=variant) == "O Pokémon de Gómez e Jiménez."


@pytest.mark.parametrize(("variant", "own", "others"), [("br", "êô", "éó"), ("pt", "éó", "êô")])
def test_a_variant_takes_the_probability_of_the_other(variant, own, others):
    restorer = CharacterRestorer.from_pretrained(MODEL_FOLDER)
    text, labels = "o genio economico e academico sonha com fe", restorer.codes.label_of
    ((places, either),) = restorer.probabilities([text])
    ((same, of_variant),) = restorer.probabilities([text], variant)
    assert (places == same).all()
    differs = np.array([text[place] in "eo" and text[place + 1 : place + 3] in ("ni", "no", "mi") for place in places])
    assert differs.sum() == 4  # gEnio ecOnOmico acadEmico
    for first, second in zip(map(labels.get, own), map(labels.get, others)):
        assert (of_variant[differs, second] == 0).all()
        both = either[differs, first] + either[differs, second]
        assert of_variant[differs, first] == pytest.approx(both, abs=1e-6)
    assert of_variant[~differs] == pytest.approx(either[~differs], abs=1e-6)


@pytest.mark.parametrize("variant", ["en", "", ["br"]])
def test_there_are_two_variants_of_accents(variant):
    for restore in (restore_accents, restore_text):
        with pytest.raises(ValueError, match=r"variant=.*br or pt"):
            restore("a", variant=variant)
    with pytest.raises(ValueError, match="variant='br' is about accents"):
        restore_text("a", accents=False, variant="br")


@settings(max_examples=50)
@given(st.text(max_size=300))
@example("\n".join(EVERYDAY))
@example(strip_accents("\n".join(EVERYDAY)))
def test_only_marks_are_added_over_all_of_unicode(text):
    restored = restore_accents(text)
    given_text = unicodedata.normalize("NFC", text)
    assert len(restored) == len(given_text)
    for before, after in zip(given_text, restored):
        assert after == before or (before.isascii() and strip_accents(after) == before)


def test_everyday_text_is_better_than_a_look_up():
    variants = json.loads((MODEL_FOLDER / "config.json").read_text(encoding="utf-8"))["character_variants"]
    rows = [{"source": strip_accents(each), "target": each} for each in cut_into_sentences(EVERYDAY)]
    scored = score_restored(rows, restore_accents([row["source"] for row in rows]), variants)
    saved = json.loads((MODEL_FOLDER / "metrics.json").read_text(encoding="utf-8"))["everyday"]
    assert scored == pytest.approx(saved["model"], abs=0.015)  # int8 may change two or three of 169 sentences
    assert scored["choice_error_rate"] < saved["most frequent after the word before"]["choice_error_rate"]


@pytest.fixture(scope="module")
def held_out():
    """Sentences that the model has not been trained on, without their marks."""
    path = ROOT / "restoration" / "portuguese_accents" / "predictions.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        return [row["source"] for row in csv.DictReader(file, delimiter="\t")][::10]


def test_an_answer_does_not_depend_on_the_texts_beside_it_nor_on_threads(held_out, monkeypatch):
    assert len(held_out) > 500
    alone = {}
    for seed, (threads, size) in enumerate(((1, len(held_out)), (1, 37), (3, len(held_out)), (3, 37))):
        monkeypatch.setattr("atenta.restoration.restorer.count_cores", lambda threads=threads: threads)
        restorer = CharacterRestorer.from_pretrained(MODEL_FOLDER, engine="onnx")
        alone = alone or {text: restorer.restore([text])[0] for text in held_out}
        shuffled = random.Random(seed).sample(held_out, len(held_out))
        for start in range(0, len(shuffled), size):
            batch = shuffled[start : start + size]
            for text, restored in zip(batch, restorer.restore(batch), strict=True):
                assert restored.text == alone[text].text
                np.testing.assert_allclose(restored.probabilities, alone[text].probabilities, atol=1e-4)


def test_two_commands_restore_the_same(held_out):
    commands = (["restore"], ["predict", str(MODEL_FOLDER)])
    texts = held_out[::5]
    restored, predicted = (run(*command, "--", *texts).stdout for command in commands)
    assert restored.count("\n") == len(texts) > 100
    assert predicted == restored


def test_a_file_keeps_its_line_ends(tmp_path):
    path = tmp_path / "texto.txt"
    path.write_bytes("\ufeffA acao\r\nnao e\n\n\tfacil\r".encode())
    assert restore_accents(path) == "\ufeffA ação\r\nnão é\n\n\tfácil\r"
    assert restore_accents([path, "nao"])[1] == "não"


def test_a_document_is_restored_in_windows():
    document = "\n".join(strip_accents(line) for line in EVERYDAY)
    restored = restore_accents(document).split("\n")
    assert [strip_accents(line) for line in restored] == document.split("\n")
    right = sum(output == line for output, line in zip(restored, EVERYDAY))
    alone = sum(output == line for output, line in zip(restore_accents(document.split("\n")), EVERYDAY))
    assert right >= 0.9 * alone


def test_probabilities_and_confidence():
    text = "Ela esta em casa, e facil."
    restored = restore_accents(text, return_probabilities=True)
    assert isinstance(restored, RestoredText)
    assert restored.text == restore_accents(text)
    assert restored.probabilities.shape == (len(text),)
    assert restored.probabilities[text.index("s")] == 1
    least = float(np.nextafter(restored.probabilities.min(), 1))
    assert restore_accents(text, min_confidence=0.0) == restored.text
    doubtful = int(restored.probabilities.argmin())
    assert restore_accents(text, min_confidence=least)[doubtful] == text[doubtful]


def test_the_model_is_small():
    assert (MODEL_FOLDER / "model.safetensors").stat().st_size < 12_500_000
    assert not {path.suffix for path in MODEL_FOLDER.iterdir()} & {".bin", ".pt", ".pkl", ".py"}


def test_a_column_gives_what_a_list_gives():
    texts = ["nao e", "amanha"]
    columns = Dataset.from_dict({"text": texts})["text"], pd.Series(texts, index=[1, 0]), np.array(texts)
    assert [restore_accents(column) for column in columns] == [restore_accents(texts)] * 3


def test_what_is_no_text_is_refused(tmp_path):
    for wrong in (None, 3, b"nao", {"a": 1}):
        with pytest.raises(TypeError, match="expected a str"):
            restore_accents(wrong)
    path = tmp_path / "latin.txt"
    path.write_bytes("ação".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.txt is not UTF-8 at byte 1"):
        restore_accents(["nao", path])
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        restore_accents(tmp_path / "none.txt")
