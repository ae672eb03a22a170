import json

import pytest

from atenta.recipes.reading.records import BadRow
from atenta.recipes.retrieval.passages import LabelledQuery, read_folder, read_queries, read_questions
from support.recipes import write_lines


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "more").mkdir(parents=True)
    write_lines(tmp_path / "texts" / "b.txt", "um", "", "dois", "três")
    write_lines(tmp_path / "texts" / "more" / "a.txt", "quatro")
    write_lines(tmp_path / "texts" / "notes.md", "no passage")
    return tmp_path / "texts"


def test_passages_say_where_they_stand(folder):
    assert read_folder(folder, "paragraph").to_list() == [
        {"file": "b.txt", "id": "b.txt:1", "text": "um"},
        {"file": "b.txt", "id": "b.txt:3", "text": "dois\ntrês"},
        {"file": "more/a.txt", "id": "more/a.txt:1", "text": "quatro"},
    ]
    assert read_folder(folder, "line")["text"] == ["um", "dois", "três", "quatro"]


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(ValueError, match="found no txt file"):
        read_folder(tmp_path, "paragraph")


def test_a_malformed_text_is_named(folder):
    (folder / "c.txt").write_bytes("cão".encode("latin-1"))
    with pytest.raises(BadRow, match=r"c\.txt, line 1: found byte 0xE3"):
        read_folder(folder, "paragraph")


def test_queries_name_a_file_or_a_passage(folder, tmp_path):
    passages = read_folder(folder, "paragraph")
    queries = write_lines(tmp_path / "queries.tsv", "qual?\tb.txt:3", "onde?\tb.txt", "quando?\tmore/a.txt")
    assert read_queries(queries, passages) == [
        LabelledQuery("qual?", frozenset([1])),
        LabelledQuery("onde?", frozenset([0, 1])),
        LabelledQuery("quando?", frozenset([2])),
    ]
    wrong = write_lines(tmp_path / "wrong.tsv", "qual?\tb.txt:2")
    with pytest.raises(BadRow, match=r"wrong\.tsv, line 1: found 'b\.txt:2'; expected a file, such as b\.txt"):
        read_queries(wrong, passages)


def test_contexts_come_once_and_questions_find_them(tmp_path):
    def paragraph(context, *questions):
        answers = [{"text": "no answer", "answer_start": 0}]  # where it stands is of no interest here
        return {"context": context, "qas": [{"id": q, "question": q, "answers": answers} for q in questions]}

    first, second = ([paragraph("A", "a?", "b?"), paragraph("B", "c?")], [paragraph("B", "d?"), paragraph("C", "e?")])
    for name, paragraphs in (("first", first), ("second", second)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    passages, queries = read_questions([tmp_path / "first.json", tmp_path / "second.json"])
    assert passages["text"] == ["A", "B", "C"]
    assert passages["id"] == ["first.json:1", "first.json:2", "second.json:1"]
    assert {query.text: passages[min(query.answers)]["text"] for query in queries} == {
        **{"a?": "A", "b?": "A", "c?": "B", "d?": "B", "e?": "C"}
    }


def test_the_sample_has_all_questions_of_faquad():
    passages, queries = read_questions()
    assert (len(passages), len(queries)) == (249, 900)


def test_sample_data_that_are_not_there_are_said_to_be_of_the_repository(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"found no train\.json .* with --text_folder"):
        read_questions([tmp_path / "train.json"])
