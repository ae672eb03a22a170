"""Bytes of files: encodings, marks of their own, modes and links, and nothing written but marks."""

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta.checking.text_files import decode, replace_characters, replace_file

TEXT = "\ufeffx\r\nnao\té\rfim\n"[1:]
WRITTEN = "x\r\nnão\té\rfim\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        *((b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (b"", "cp1252")),
        *((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    ],
)
def test_encodings_are_kept(mark, encoding):
    decoded = decode(mark + TEXT.encode(encoding))
    assert decoded == (TEXT, encoding, mark)
    assert replace_characters(decoded, {TEXT.index("a"): "ã"}) == mark + WRITTEN.encode(encoding)


def test_marks_stay_characters_of_their_own():
    text = unicodedata.normalize("NFD", "Olá, nao")
    written = replace_characters(decode(text.encode()), {text.index("ao"): "ã"}).decode()
    assert written == unicodedata.normalize("NFD", "Olá, não")


@pytest.mark.parametrize("content", [b"a\0b", codecs.BOM_UTF16_LE + b"a", b"\x81\xff", codecs.BOM_UTF8 + b"\xff"])
def test_what_is_no_text_is_refused(content):
    with pytest.raises(ValueError, match="binary"):
        decode(content)


def test_a_file_says_in_which_encoding_its_other_letters_will_be():
    for line in (b'<meta charset="iso-8859-1">', b"# -*- coding: latin-1 -*-"):
        assert decode(line + b"nao") == (line.decode() + "nao", "cp1252", b"")
    assert decode(b'open("a", encoding="latin-1") # nao').encoding == "utf-8"  # said of another file
    with pytest.raises(ValueError, match="in two encodings"):
        decode("não".encode() + b"\xff")


@given(st.binary(max_size=80))
def test_what_is_read_is_written_as_it_was(content):
    try:
        decoded = decode(content)
    except ValueError:
        return
    assert replace_characters(decoded, {}) == content


@pytest.mark.parametrize("change", [{0: "b"}, {0: ""}, {0: "ãã"}])
def test_more_than_marks_is_refused(change):
    with pytest.raises(ValueError, match="More than marks"):
        replace_characters(decode(b"a"), change)


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    path, link = tmp_path / "a.sh", tmp_path / "link.sh"
    path.write_bytes(b"nao")
    path.chmod(0o755)
    link.symlink_to("a.sh")
    replace_file(link, b"sim")
    assert link.is_symlink()
    assert path.read_bytes() == b"sim"
    assert path.stat().st_mode & 0o777 == 0o755
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.sh", "link.sh"]


def test_a_file_that_cannot_be_replaced_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"nao")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"sim")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"nao"]
