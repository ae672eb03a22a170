import json

import pytest
from datasets import Dataset

from atenta.recipes.reading.questions import FEATURES, check
from atenta.recipes.reading.records import BadRow
from atenta.recipes.reading.squad import read_squad

CONTEXT = "A UFMS fica em Campo Grande."


def question(identifier="q1", **values):
    answers = [{"text": "Campo Grande", "answer_start": 15}, {"text": "em Campo Grande", "answer_start": 12}]
    return {"id": identifier, "question": "Onde fica?", "answers": answers, **values}


def without(name, value):
    return {key: kept for key, kept in value.items() if key != name}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "train.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def squad(*questions):
    return {"version": "1.1", "data": [{"title": "UFMS", "paragraphs": [{"context": CONTEXT, "qas": [*questions]}]}]}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_questions_come_with_their_context_and_all_answers(write, mark):
    path = write(mark + json.dumps(squad(question("q1"), question("q2")), ensure_ascii=False))
    row = {
        "context": CONTEXT,
        "question": "Onde fica?",
        "answers": {"text": ["Campo Grande", "em Campo Grande"], "answer_start": [15, 12]},
    }
    assert list(read_squad(path)) == [(f"{path}, question {name}", {"id": name, **row}) for name in ("q1", "q2")]


def test_what_is_read_passes_the_check_of_the_task(write):
    rows = [check(fields) for _, fields in read_squad(write(squad(question())))]
    assert Dataset.from_list(rows, features=FEATURES).to_list() == rows


def test_a_question_of_squad_2_without_an_answer_is_refused_by_the_check(write):
    impossible = question(answers=[], is_impossible=True, plausible_answers=[{"text": "UFMS", "answer_start": 2}])
    ((_, fields),) = read_squad(write(squad(impossible)))
    with pytest.raises(ValueError, match="found no answer; expected at least one"):
        check(fields)


@pytest.mark.parametrize(
    ("malformed", "where", "message"),
    [
        (without("answers", question("q2")), "question q2", "answers"),
        (without("question", question("q2")), "question q2", "question"),
        (without("id", question()), "paragraph 1, question 2", "id"),
        (question("q2", answers=[{"text": "UFMS"}]), "question q2", "answer_start"),
        (question("q2", answers="UFMS"), "question q2", "answers"),
        ("Onde fica?", "paragraph 1, question 2", "Onde fica"),
    ],
)
def test_a_malformed_question_is_named_and_the_others_are_read(write, malformed, where, message):
    path = write(squad(question("q1"), malformed, question("q3")))
    first, bad, last = read_squad(path)
    assert (first[1]["id"], last[1]["id"]) == ("q1", "q3")
    assert isinstance(bad, BadRow)
    assert bad.where.startswith(str(path))
    assert bad.where.endswith(where)
    assert message in bad.problem
    assert "expected" in bad.problem


@pytest.mark.parametrize("paragraph", ["text", {"context": CONTEXT}, {"context": CONTEXT, "qas": question()}])
def test_a_malformed_paragraph_is_named_and_the_others_are_read(write, paragraph):
    content = squad(question("q3"))
    content["data"][0]["paragraphs"].insert(0, paragraph)
    path = write(content)
    *bad, last = read_squad(path)
    assert last[1]["id"] == "q3"
    assert [row.where for row in bad] == [f"{path}, article 1, paragraph 1"]


@pytest.mark.parametrize("article", ["text", {"title": "UFMS"}, {"paragraphs": 3}])
def test_a_malformed_article_is_named_and_the_others_are_read(write, article):
    content = squad(question("q3"))
    content["data"].insert(0, article)
    path = write(content)
    *bad, last = read_squad(path)
    assert last[1]["id"] == "q3"
    assert [row.where for row in bad] == [f"{path}, article 1"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": "1.1"}', '{"data": {}}', '{"data": 3}', '{"data": []}']
)
def test_a_file_that_is_no_squad_is_refused(write, content):
    with pytest.raises(ValueError, match=r"train.json: found .*expected an object with a list 'data'"):
        list(read_squad(write(content)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        list(read_squad(tmp_path / "absent.json"))
