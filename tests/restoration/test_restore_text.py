"""The model of dictated Portuguese that comes with the package: what it keeps, what is switched off, its figures."""

import re
import unicodedata
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atenta import restore_accents, restore_text
from atenta.recipes.samples.portuguese_texts import MARKS, spoken_texts
from atenta.recipes.tasks.punctuation import most_frequent_marks, score_marks
from atenta.restoration.portuguese import SPEECH_FOLDER
from atenta.tokenization.base_letters import strip_accents
from support.command import run

HEARD = "voce vem amanha nao sei se o joao vai poder ir mas eu vou"


def test_accents_capitals_and_signs_are_restored():
    assert restore_text(HEARD) == "Você vem amanhã? Não sei se o João vai poder ir, mas eu vou."
    assert restore_text([HEARD, ""])[1] == ""


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
@example("A Ana, que mora em Évora, disse: «Vou à praia!» E foi?")
@example("RIO DE JANEIRO, 3,5 km; Sr. Silva")
def test_all_that_a_text_has_is_kept_over_all_of_unicode(text):
    restored = restore_text(text, return_probabilities=True)
    given_text = unicodedata.normalize("NFC", text)
    assert len(restored.pieces) == len(restored.probabilities) == len(given_text)
    for place, (before, piece) in enumerate(zip(given_text, restored.pieces)):
        if len(piece) > 1:  # a sign before white space, or after the last character
            sign, piece = (piece[0], piece[1:]) if before.isspace() else (piece[-1], piece[:-1])
            assert sign in MARKS
            assert before.isspace() or place == len(given_text) - 1
        assert piece == before or (before.isascii() and strip_accents(piece) in (before, before.upper()))


def test_a_sign_comes_before_a_line_end_of_two_characters():
    restored = restore_text("voce vem amanha\r\nnao sei se o joao vai", return_probabilities=True)
    assert restored.text == "Você vem amanhã?\r\nNão sei se o João vai."
    assert restored.pieces[15:17] == ["?\r", "\n"]
    assert restored.probabilities[16] == 1
    texts = ["nao sei\n\nse o joao\nvai\n", "titulo\n\neu nao sei", "\n\r\n\n"]
    for restore in (restore_accents, restore_text):
        of_two = restore([text.replace("\n", "\r\n") for text in texts])
        assert of_two == [text.replace("\n", "\r\n") for text in restore(texts)]


@pytest.mark.parametrize("text", ["tudo bem\n\nsim", "\n \n tudo bem \n\nsim\n\n", "\t \n"])
def test_no_sign_comes_after_white_space(text):
    assert re.sub(r"[.?!,:;]", "", restore_text(text)).lower() == text
    assert not re.search(r"(?<!\w)[.?!,:;]", restore_text(text))


@pytest.mark.parametrize(
    ("switches", "restored"),
    [
        ({"capitals": False, "punctuation": False}, restore_accents(HEARD)),
        ({"punctuation": False}, "Você vem amanhã Não sei se o João vai poder ir mas eu vou"),
        ({"accents": False, "punctuation": False}, "Voce vem amanha Nao sei se o Joao vai poder ir mas eu vou"),
        ({"accents": False, "capitals": False}, "voce vem amanha? nao sei se o joao vai poder ir, mas eu vou."),
    ],
)
def test_each_kind_of_change_can_be_switched_off(switches, restored):
    assert restore_text(HEARD, **switches) == restored
    names = [name for name in ("capitals", "punctuation") if switches.get(name, True)]
    flags = [*(f"--{name}" for name in names), *(["--no_accents"] if "accents" in switches else [])]
    assert run("restore", HEARD, *flags).stdout == f"{restored}\n"


def test_nothing_to_restore_is_refused():
    with pytest.raises(ValueError, match="accents, capitals and punctuation"):
        restore_text(HEARD, accents=False, capitals=False, punctuation=False)
    run("restore", HEARD, "--no_accents", code=1)


def test_a_byte_order_mark_of_a_file_does_not_begin_its_first_sentence(tmp_path):
    path = tmp_path / "texto.txt"
    path.write_text(HEARD, encoding="utf-8-sig")
    restored = restore_text(path, return_probabilities=True)
    assert restored.text == "".join(restored.pieces) == "\ufeff" + restore_text(HEARD)
    assert len(restored.probabilities) == len(HEARD) + 1


def test_doubtful_changes_are_left_out():
    for text in (HEARD, "bom dia tudo bem com voce"):
        sure = restore_text(text, min_confidence=0.9, return_probabilities=True)
        changes = zip(text[:-1], sure.pieces, sure.probabilities)  # the last one is a letter's and a sign's
        assert all(piece == before or probability >= 0.9 for before, piece, probability in changes)


def test_a_word_has_doubtful_capitals_at_no_letter_the_first_or_all():
    """In lists the model is sure of no word, and decides each letter by itself: `TRABalho`."""
    texts = ["- trabalho\n- casa\n- escola", "compras\tarroz\tfeijao", "saldanha botelho da usp e da otan"]
    for word in re.findall(r"[^\W\d_]{2,}", " ".join(restore_text(texts))):
        assert word[1:].islower() or word.isupper(), word
    assert restore_text("o github caiu") == "O GitHub caiu."  # of which it is sure


@pytest.fixture(scope="module")
def spoken():
    return spoken_texts()


@pytest.mark.slow
def test_more_is_right_than_with_the_most_frequent_marks(spoken):
    rows = spoken["test"][::10]
    model = score_marks(rows, restore_text([row["source"] for row in rows]))
    # Of every eighth row, because counting takes long; of all of them, F1 is at most 0.07 higher.
    counts = score_marks(rows, most_frequent_marks(spoken["train"][::8], rows))
    for each, margin in {"capital": 0.1, "comma": 0.1, "period": 0.1, "question": 0}.items():  # others are too rare
        assert model[f"{each}_f1"] > counts[f"{each}_f1"] + margin


def test_the_model_is_small():
    files = [path for path in SPEECH_FOLDER.rglob("*") if path.suffix in {".onnx", ".txt", ".json"}]
    assert sum(len(zlib.compress(path.read_bytes(), 9)) for path in files) < 4_000_000  # of a wheel
