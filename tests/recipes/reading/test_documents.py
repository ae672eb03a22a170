import tracemalloc

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.documents import FEATURES, check, cut_documents, cut_sentences, read_documents
from atenta.recipes.reading.records import BadRow

TEXT = "Capítulo I\nUma noite destas\n\nvindo da cidade\n\nencontrei um rapaz\nno trem"


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "novel.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def texts(path, sample_by):
    return [fields["text"] for _, fields in read_documents(path, sample_by)]


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line"])
def test_the_text_builder_of_datasets_cuts_alike(write, sample_by, tmp_path):
    path = write(TEXT)
    rows = load_dataset("text", data_files=str(path), sample_by=sample_by, split="train", cache_dir=str(tmp_path))
    assert texts(path, sample_by) == [text for text in rows["text"] if text]  # it counts blank lines as texts


def test_where_a_text_begins(write):
    path = write(f"\n \n{TEXT}\n\n\n")
    assert [where for where, _ in read_documents(path, "paragraph")] == [f"{path}, line {n}" for n in (3, 6, 8)]
    assert [where for where, _ in read_documents(path, "line")] == [f"{path}, line {n}" for n in (3, 4, 6, 8, 9)]
    assert [where for where, _ in read_documents(path, "document")] == [f"{path}, line 1"]


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line", "sentence"])
def test_windows_line_ends_and_byte_order_mark_are_no_text(write, sample_by):
    plain = texts(write(TEXT), sample_by)
    assert texts(write("\ufeff" + TEXT.replace("\n", "\r\n")), sample_by) == plain


@pytest.mark.parametrize(
    ("sample_by", "good"), [("document", []), ("paragraph", ["e"]), ("line", ["a", "d", "e"]), ("sentence", ["e"])]
)
def test_a_text_with_bytes_that_are_not_utf_8_is_bad_as_a_whole(write, sample_by, good):
    rows = list(read_documents(write(b"a\nb\xe3\nd\n\ne"), sample_by))
    assert [row[1]["text"] for row in rows if not isinstance(row, BadRow)] == good
    (bad,) = (row for row in rows if isinstance(row, BadRow))
    assert bad.where.endswith("line 2")
    assert "found byte 0xE3 at byte 2" in str(bad)


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line", "sentence"])
@pytest.mark.parametrize("content", ["", " \n\n", "\ufeff\r\n"])
def test_a_file_without_text_is_refused(write, sample_by, content):
    with pytest.raises(ValueError, match=r"novel.txt: found no text"):
        texts(write(content), sample_by)


def test_another_way_to_cut_is_refused(write):
    for cut in (lambda: texts(write(TEXT), "page"), lambda: cut_documents({"text": [TEXT]}, "page")):
        with pytest.raises(ValueError, match="--sample_by page: expected document, paragraph, line or sentence"):
            cut()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Sim. Não! Será?… Talvez", ["Sim.", "Não!", "Será?…", "Talvez"]),
        ("Disse: “Vem.” E foi (à tarde.) — Só?", ["Disse: “Vem.”", "E foi (à tarde.)", "— Só?"]),
        ("  um texto\nque segue.\n\tOutro \n", ["um texto\nque segue.", "Outro"]),
        ("1.5 é 3.0/2... ponto.com", ["1.5 é 3.0/2...", "ponto.com"]),
        ("o Sr. Alves", ["o Sr.", "Alves"]),
        ("", []),
    ],
)
def test_where_a_sentence_ends(text, sentences):
    assert [sentence for _, sentence in cut_sentences(text)] == sentences


def test_the_line_where_a_sentence_begins(write):
    path = write("Título\num. dois\ntrês. quatro\n\ncinco. Seis")
    found = [(where.rpartition(" ")[2], fields["text"]) for where, fields in read_documents(path, "sentence")]
    expected = [("1", "Título\num."), ("2", "dois\ntrês."), ("3", "quatro"), ("5", "cinco."), ("5", "Seis")]
    assert found == expected


@given(text=st.text(alphabet='ab.!?…”)"\n \u2028\u0301', max_size=40))
def test_sentences_keep_every_character_that_is_not_white_space(text):
    kept = "".join(sentence for _, sentence in cut_sentences(text))
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize("sample_by", ["document", "paragraph", "line", "sentence"])
def test_texts_in_memory_are_cut_as_files_are_and_once_for_all(write, sample_by):
    of_file = texts(write(TEXT), sample_by)
    assert cut_documents({"text": [TEXT]}, sample_by) == {"text": of_file}
    assert cut_documents({"text": of_file}, sample_by) == {"text": of_file}


@pytest.mark.parametrize("sample_by", ["paragraph", "line"])
def test_a_large_file_is_never_whole_in_memory(write, sample_by):
    path = write(f"{'a' * 5_000}\n\n" * 1_000)
    tracemalloc.start()
    assert sum(1 for _ in read_documents(path, sample_by)) == 1_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 20


def test_the_row_of_a_document():
    assert check({"text": " a\n", "other": 1}) == {"text": " a\n"}
    assert list(check({"text": "a"})) == list(FEATURES)


@pytest.mark.parametrize(("fields", "message"), [({}, "found no text"), ({"text": "\n"}, "found an empty text")])
def test_a_malformed_document_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        check(fields)
