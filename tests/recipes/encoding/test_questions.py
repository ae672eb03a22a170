import json
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import assume, given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.encoding.questions import answers_from_logits, encode_questions

TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder")
FAQUAD = Path(__file__).parents[3] / "recipes" / "data" / "faquad"


def row_of(context, start, end, question="o quê?", id_="1"):
    answers = {"text": [context[start:end]], "answer_start": [start]}
    return {"id": id_, "question": question, "context": context, "answers": answers}


def windows_of(rows, max_length, stride):
    columns = encode_questions({name: [row[name] for row in rows] for name in rows[0]}, TOKENIZER, max_length, stride)
    return [dict(zip(columns, window)) for window in zip(*columns.values())]


def gold_logits(windows):
    """Logits, padded, that are sure of the gold answer where a window holds it, and of nothing elsewhere."""
    longest = max(len(window["input_ids"]) for window in windows) + 3
    logits = np.zeros((2, len(windows), longest), dtype=np.float32)
    for index, window in enumerate(windows):
        if window["end_positions"]:
            logits[0, index, window["start_positions"]] = logits[1, index, window["end_positions"]] = 9
    return logits


def test_windows_hold_the_question_and_a_part_of_the_context():
    context = "".join(map(chr, range(ord("a"), ord("z") + 1)))
    windows = windows_of([row_of(context, 8, 11, question="q?")], max_length=15, stride=4)
    texts = [TOKENIZER.decode(window["input_ids"]) for window in windows]
    assert texts == [f"<bos>q?<eos>{part}<eos>" for part in ("abcdefghij", "ghijklmnop", "mnopqrstuv", "stuvwxyz")]
    assert [(window["start_positions"], window["end_positions"]) for window in windows] == [
        (0, 0),
        (6, 8),
        (0, 0),
        (0, 0),
    ]
    assert windows[1]["offset_mapping"] == [(0, 0)] * 4 + [(at, at + 1) for at in range(6, 16)] + [(0, 0)]
    assert windows[1]["token_type_ids"] == [0] * 4 + [1] * 11
    assert {window["example_id"] for window in windows} == {"1"}


@st.composite
def question_rows(draw, characters):
    context = draw(st.text(characters, min_size=1, max_size=60))
    start = draw(st.integers(0, len(context) - 1))
    return row_of(
        context, start, draw(st.integers(start + 1, len(context))), question=draw(st.text("ab?", max_size=5))
    )


@given(question_rows("abé <eos>Ж𝄞"), st.integers(1, 40), st.integers(0, 39))
def test_the_gold_answer_comes_back_for_every_stride(row, room, stride):
    assume(stride < room)
    windows = windows_of([row], len(row["question"]) + 3 + room, stride)
    answer = row["answers"]["text"][0]
    tokens = len(TOKENIZER(answer, add_special_tokens=False, split_special_tokens=True).input_ids)
    if tokens <= stride:
        assert any(window["end_positions"] for window in windows)
    if any(window["end_positions"] for window in windows):
        assert answers_from_logits(*gold_logits(windows), windows, [row], max_answer_length=tokens) == [answer]


@given(question_rows("aeo \u0301\u0327\u0323"), st.integers(0, 19))
def test_an_answer_with_combining_marks_comes_back_whole(row, stride):
    windows = windows_of([row], len(row["question"]) + 3 + 20, stride)
    start, answer = row["answers"]["answer_start"][0], row["answers"]["text"][0]
    if any(window["end_positions"] for window in windows):
        (read,) = answers_from_logits(*gold_logits(windows), windows, [row], max_answer_length=60)
        assert answer in read
        assert read in row["context"]
        # Only marks that belong to a letter of the answer, or the letter of a mark of the answer, come with it.
        clean = row["context"][start : start + 1].isalpha() and not row["context"][start + len(answer) :].startswith(
            ("\u0301", "\u0327", "\u0323")
        )
        assert read == answer or not clean


@pytest.mark.parametrize(("max_length", "stride"), [(512, 128), (448, 100)])
def test_all_answers_of_faquad_come_back(max_length, stride):
    rows = [
        {
            "id": f"{question['id']}/{number}",
            "question": question["question"],
            "context": paragraph["context"],
            "answers": {name: [answer[name]] for name in ("text", "answer_start")},
        }
        for split in ("train", "dev")
        for article in json.loads((FAQUAD / f"{split}.json").read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
        for number, answer in enumerate(question["answers"])
        if paragraph["context"].startswith(answer["text"], answer["answer_start"]) and len(answer["text"]) <= stride
    ]
    assert len(rows) > 1000
    windows = windows_of(rows, max_length, stride)
    answers = answers_from_logits(*gold_logits(windows), windows, rows, max_answer_length=stride)
    assert answers == [row["answers"]["text"][0] for row in rows]


def test_the_best_span_is_in_order_in_the_context_and_not_too_long():
    row = row_of("abcdef", 0, 1, question="q")
    windows = windows_of([row], 20, 5)
    logits = np.zeros((2, 1, 12))
    logits[0, 0, [0, 1, 6]] = 9, 9, 5  # <bos>, the question, and the d
    logits[1, 0, [5, 8, 10, 11]] = 7, 3, 99, 99  # before it, the f, <eos>, padding
    assert answers_from_logits(*logits, windows, [row], max_answer_length=3) == ["def"]
    logits[1, 0, 6] = 3
    assert answers_from_logits(*logits, windows, [row], max_answer_length=2) == ["d"]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_span_is_that_of_trying_all(seed):
    generator = np.random.default_rng(seed)
    context = "o céu azul de outono"
    rows = [row_of(context, 0, 1, id_="1"), row_of(context[::-1], 0, 1, id_="2")]
    windows = windows_of(rows, 18, 3)
    starts, ends = generator.normal(size=(2, len(windows), 18))
    expected = []
    for row in rows:
        spans = [
            (
                starts[index, first] + ends[index, last],
                window["offset_mapping"][first][0],
                window["offset_mapping"][last][1],
            )
            for index, window in enumerate(windows)
            if window["example_id"] == row["id"]
            for first in range(8, len(window["input_ids"]) - 1)
            for last in range(first, min(first + 4, len(window["input_ids"]) - 1))
        ]
        _, start, end = max(spans)
        expected.append(row["context"][start:end])
    assert answers_from_logits(starts, ends, windows, rows, max_answer_length=4) == expected


def test_a_question_without_an_answer_points_at_the_first_token():
    row = row_of("abc", 0, 1) | {"answers": {"text": [], "answer_start": []}}
    (window,) = windows_of([row], 20, 5)
    assert (window["start_positions"], window["end_positions"]) == (0, 0)


def test_a_question_too_long_is_named():
    row = row_of("abc" * 9, 0, 1, question="q" * 12, id_="4c1f")
    with pytest.raises(ValueError, match=r"12 tokens in question 4c1f.*--max_length 20 leaves 5 tokens.*--stride 5"):
        windows_of([row], 20, 5)
    with pytest.raises(ValueError, match=r"--max_length 10 leaves 0 tokens"):
        windows_of([row], 10, 0)
    assert windows_of([row], 20, 4)


def test_windows_of_other_questions_are_an_error():
    row = row_of("abc", 0, 1)
    windows = windows_of([row], 20, 5)
    for rows in ([row, row], [row, row | {"id": "2"}], [row | {"id": "2"}]):
        with pytest.raises(ValueError, match="expected an id for each question"):
            answers_from_logits(*np.zeros((2, 1, 20)), windows, rows, max_answer_length=3)


def test_it_maps_a_dataset():
    rows = Dataset.from_list([row_of("abc" * 9, 4, 6), row_of("ab", 0, 1, id_="2")])
    options = {"tokenizer": TOKENIZER, "max_length": 20, "stride": 4}
    windows = rows.map(encode_questions, batched=True, remove_columns=rows.column_names, fn_kwargs=options)
    assert len(windows) > 2
    assert answers_from_logits(*gold_logits(windows), windows, rows, max_answer_length=5) == ["bc", "a"]
