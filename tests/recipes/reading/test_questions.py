import json
from pathlib import Path

import pytest
from datasets import Dataset
from hypothesis import assume, given
from hypothesis import strategies as st

from atenta.recipes.reading.questions import FEATURES, check

FAQUAD = Path(__file__).parents[3] / "recipes" / "data" / "faquad"
CONTEXT = "A banca é presidida por um professor, e a banca decide."  # `banca` at 2 and 42, `professor` at 27


def fields(*answers, context=CONTEXT, **others):
    texts, starts = [text for text, _ in answers], [start for _, start in answers]
    answers = {"text": texts, "answer_start": starts}
    return {"id": "q1", "context": context, "question": "Quem?", "answers": answers, **others}


def test_right_answers_stay():
    raw = fields(("professor", 27), ("banca", 2), ("banca", 42), title="Banca")
    row = check(raw)
    assert row == {**{name: raw[name] for name in ("id", "context", "question", "answers")}, "mended": 0}


@pytest.mark.parametrize("wrong", [0, 26, 28, -28, 1000])
def test_a_wrong_offset_is_mended_where_the_answer_occurs_once(wrong):
    row = check(fields(("professor", wrong), ("banca", 2), ("professor", wrong)))
    assert row["answers"] == {"text": ["professor", "banca", "professor"], "answer_start": [27, 2, 27]}
    assert row["mended"] == 2


@pytest.mark.parametrize(
    ("answer", "start", "message"),
    [
        ("banca", 3, "found 'anca ' at answer_start 3, and the answer 'banca' 2 times in the context; expected it at"),
        ("banca", 99, "found '' at answer_start 99, and the answer 'banca' 2 times"),
        ("banca", -13, "found '' at answer_start -13, and the answer 'banca' 2 times"),
        ("aluno", 2, "found 'banca' at answer_start 2, and the answer 'aluno' 0 times"),
    ],
)
def test_a_wrong_offset_that_cannot_be_mended_is_named(answer, start, message):
    with pytest.raises(ValueError, match=message):
        check(fields(("professor", 27), (answer, start)))


def test_places_that_overlap_are_two():
    with pytest.raises(ValueError, match="the answer 'ana' 2 times"):
        check(fields(("ana", 0), context="banana"))


@given(st.text("ab ", min_size=1), st.integers(0, 30), st.integers(1, 5), st.integers(-40, 40))
def test_every_row_has_its_answers_where_it_says(context, start, length, wrong):
    answer = context[start : start + length]
    assume(answer.strip())
    assert check(fields((answer, start), context=context))["mended"] == 0
    try:
        row = check(fields((answer, wrong), context=context))
    except ValueError:
        assert context.find(answer) != context.rfind(answer)
    else:
        [found] = row["answers"]["answer_start"]
        assert found >= 0
        assert context[found : found + len(answer)] == answer
        assert row["mended"] == (found != wrong)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": None}, "found no id; expected"),
        ({"context": "  "}, "found an empty context; expected"),
        ({"question": ""}, "found an empty question; expected"),
        ({"answers": None}, "found None as the answers; expected lists 'text' and 'answer_start'"),
        ({"answers": {"text": ["A"]}}, "found .* as the answers; expected lists 'text' and 'answer_start'"),
        ({"answers": [{"text": "A", "answer_start": 0}]}, "found .* as the answers; expected lists"),
        ({"answers": {"text": [], "answer_start": []}}, "found no answer; expected at least one"),
        ({"answers": {"text": ["A"], "answer_start": []}}, r"found 1 answer\(s\) and 0 answer_start\(s\); expected"),
        ({"answers": {"text": [""], "answer_start": [0]}}, "found an empty answer; expected"),
        ({"answers": {"text": ["A"], "answer_start": ["0"]}}, r"found '0' \(str\) as an answer_start; expected"),
        ({"answers": {"text": ["A"], "answer_start": [0.0]}}, r"found 0.0 \(float\) as an answer_start; expected"),
    ],
)
def test_a_malformed_row_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        check({**fields(("professor", 27)), **changed})


def test_rows_have_the_features():
    rows = [check(fields(("professor", 0), ("banca", 2))), check(fields(("banca", 42), id=7))]
    assert Dataset.from_list(rows, features=FEATURES).to_list() == rows
    assert rows[1]["id"] == "7"


def test_of_the_wrong_offsets_of_faquad_all_but_two_are_mended():
    wrong, mended, left = 0, 0, []
    for name in ("train.json", "dev.json"):
        for article in json.loads((FAQUAD / name).read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = [(answer["text"], answer["answer_start"]) for answer in question["answers"]]
                    context = paragraph["context"]
                    wrong += sum(context[start : start + len(text)] != text for text, start in answers)
                    try:
                        row = check(fields(*answers, context=context, question=question["question"]))
                    except ValueError as error:
                        left.append(str(error))
                    else:
                        mended += row["mended"]
    assert (wrong, mended) == (34, 32)
    assert "the answer 'banca' 3 times" in left[0]
    assert "0 times" in left[1]
    assert len(left) == 2
