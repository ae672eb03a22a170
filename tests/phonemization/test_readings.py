"""Lexicons of users, and the readings beside a model."""

import re

import pytest

from atenta.phonemization.readings import load_readings, read_lexicon, save_readings


def test_a_lexicon_of_aligners_is_read(tmp_path):
    path = tmp_path / "lexicon.txt"
    path.write_text(
        "\ufeffKokoro\tk o k o ɾ o\n\nd’água d a ɡ w ɐ\r\nx\ta\u2028b\nkokoro\t0.5\t.25\tk ɔ k o ɾ o\n"
        "Dr.\tˈd\n.\tsil\n",
        encoding="utf-8",
    )
    assert read_lexicon(path) == {
        "kokoro": [("k", "o", "k", "o", "ɾ", "o"), ("k", "ɔ", "k", "o", "ɾ", "o")],
        "d'água": [("d", "a", "ɡ", "w", "ɐ")],
        "x": [("a", "b")],
        "dr": [("ˈ", "d")],
        ".": [("sil",)],
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"casa\tk a z a\nmesa\n", "line 2.*'mesa' without phones"),
        (b"mesa\t0.5\n", "'mesa' without phones"),
        ("São Paulo\ts ɐ̃ w".encode(), "'São Paulo'; expected one word"),
        ("ação\ta".encode("latin-1"), "UTF-8 at byte 1"),
    ],
)
def test_a_damaged_lexicon_is_named(tmp_path, content, message):
    path = tmp_path / "lexicon.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}.*{message}"):
        read_lexicon(path)


def test_readings_are_saved_and_loaded(tmp_path):
    assert load_readings(tmp_path) == {}
    rows = [("br", "de", ["d ʒ ɪ"]), ("pt", "gosto", ["ɡ o ʃ t u", "ɡ ɔ ʃ t u"]), ("br", "gosto", [])]
    save_readings(tmp_path, iter(rows))
    assert load_readings(tmp_path) == {
        ("br", "de"): [("d", "ʒ", "ɪ")],
        ("pt", "gosto"): [("ɡ", "o", "ʃ", "t", "u"), ("ɡ", "ɔ", "ʃ", "t", "u")],
        ("br", "gosto"): [],
    }


@pytest.mark.parametrize("line", ["br", "br\t ", "br\ta\tb\tc\td"])
def test_damaged_readings_are_named(tmp_path, line):
    (tmp_path / "readings.txt").write_text(f"br\tde\td\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"readings\.txt, line 2 is damaged"):
        load_readings(tmp_path)
