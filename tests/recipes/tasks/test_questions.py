"""Questions: rows with corrected offsets, windows of a context, and answers read from logits."""

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy
from transformers import DataCollatorWithPadding

from atenta import AtentaEncoderForQuestionAnswering, AtentaTokenizer
from atenta.recipes.tasks.questions import answers_from_logits, check_question, count_lost_answers, encode_questions
from support.models import assert_close, tiny_model
from support.trainers import trainer_of

TOKENIZER = AtentaTokenizer.from_alphabet(family="encoder")
CONTEXT = "A banca é presidida por um professor, e a banca decide."  # `banca` at 2 and 42, `professor` at 27
MARKS = "\u0301\u0327\u0323"


# Rows


def fields(*answers, context=CONTEXT, **others):
    texts, starts = [text for text, _ in answers], [start for _, start in answers]
    answers = {"text": texts, "answer_start": starts}
    return {"id": "q1", "context": context, "question": "Quem?", "answers": answers, **others}


def test_correct_offsets_are_unchanged_and_wrong_ones_counted():
    raw = fields(("professor", 27), ("banca", 2), ("banca", 42), title="Banca")
    row = check_question(raw)
    assert check_question(raw | {"id": 7})["id"] == "7"
    assert row == {**{name: raw[name] for name in ("id", "context", "question", "answers")}, "corrected": 0}
    row = check_question(fields(("professor", 26), ("banca", 2), ("professor", 1000)))
    assert row["answers"] == {"text": ["professor", "banca", "professor"], "answer_start": [27, 2, 27]}
    assert row["corrected"] == 2


@pytest.mark.parametrize(
    ("context", "answer", "start", "message"),
    [
        (CONTEXT, "banca", 3, "found 'anca ' at answer_start 3, and the answer 'banca' 2 times in the context; exp"),
        (CONTEXT, "banca", -13, "found '' at answer_start -13, and the answer 'banca' 2 times"),
        ("banana", "ana", 0, "the answer 'ana' 2 times"),  # the places overlap
    ],
)
def test_wrong_offset_that_cannot_be_corrected(context, answer, start, message):
    with pytest.raises(ValueError, match=message):
        check_question(fields((answer, start), context=context))


@given(st.text("ab ", min_size=1), st.integers(0, 30), st.integers(1, 5), st.integers(-40, 40))
def test_answers_are_at_their_offsets(context, start, length, wrong):
    start %= len(context)
    answer = context[start : start + length]
    assume(answer.strip())
    assert check_question(fields((answer, start), context=context))["corrected"] == 0
    try:
        row = check_question(fields((answer, wrong), context=context))
    except ValueError:
        assert context.find(answer) != context.rfind(answer)
    else:
        [found] = row["answers"]["answer_start"]
        assert found >= 0
        assert context[found : found + len(answer)] == answer
        assert row["corrected"] == (found != wrong)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (None, "None as the answers"),
        ({"text": [], "answer_start": []}, "no answer"),
        ({"text": ["A"], "answer_start": []}, r"1 answer\(s\) and 0 answer_start\(s\)"),
        ({"text": [""], "answer_start": [0]}, "an empty answer"),
        ({"text": ["A"], "answer_start": ["0"]}, r"'0' \(str\) as an answer_start"),
    ],
)
def test_malformed_answers(answers, found):
    with pytest.raises(ValueError, match=f"found .*{found}.*; expected"):
        check_question(fields() | {"answers": answers})


# Windows


def row_of(context, start, end, question="o quê?", id_="1"):
    answers = {"text": [context[start:end]], "answer_start": [start]}
    return {"id": id_, "question": question, "context": context, "answers": answers}


def windows_of(rows, max_length, stride):
    columns = encode_questions({name: [row[name] for row in rows] for name in rows[0]}, TOKENIZER, max_length, stride)
    return [dict(zip(columns, window)) for window in zip(*columns.values())]


def gold_logits(windows):
    """Padded logits that are high only for the gold answer, in the windows that contain it."""
    longest = max(len(window["input_ids"]) for window in windows) + 3
    logits = np.zeros((2, len(windows), longest), dtype=np.float32)
    for index, window in enumerate(windows):
        if window["end_positions"]:
            logits[0, index, window["start_positions"]] = logits[1, index, window["end_positions"]] = 9
    return logits


def test_windows():
    context = "".join(map(chr, range(ord("a"), ord("z") + 1)))
    windows = windows_of([row_of(context, 8, 11, question="q?")], max_length=15, stride=4)
    texts = [TOKENIZER.decode(window["input_ids"]) for window in windows]
    assert texts == [f"<bos>q?<eos>{part}<eos>" for part in ("abcdefghij", "ghijklmnop", "mnopqrstuv", "stuvwxyz")]
    positions = [(window["start_positions"], window["end_positions"]) for window in windows]
    assert positions == [(0, 0), (6, 8), (0, 0), (0, 0)]
    assert windows[1]["offset_mapping"] == [(0, 0)] * 4 + [(at, at + 1) for at in range(6, 16)] + [(0, 0)]
    assert windows[1]["token_type_ids"] == [0] * 4 + [1] * 11
    assert {window["example_id"] for window in windows} == {"1"}


def test_answers_that_are_lost_are_counted():
    context = "".join(map(chr, range(ord("a"), ord("z") + 1)))
    spans = {"1": (8, 11), "2": (0, 10), "3": (1, 12), "4": (5, 11)}  # 3 and 4 go over the end of the first window
    rows = [row_of(context, *span, question="q?", id_=id_) for id_, span in spans.items()]
    windows = windows_of(rows, max_length=15, stride=4)
    assert count_lost_answers(windows, 10) == (2, 0)
    assert count_lost_answers(windows, 9) == (2, 1)
    assert count_lost_answers(windows_of(rows, max_length=40, stride=4), 10) == (0, 1)


def test_question_without_an_answer():
    row = row_of("abc", 0, 1) | {"answers": {"text": [], "answer_start": []}}
    (window,) = windows_of([row], 20, 5)
    assert (window["start_positions"], window["end_positions"]) == (0, 0)


def test_question_that_is_too_long():
    row = row_of("abc" * 9, 0, 1, question="q" * 12, id_="4c1f")
    with pytest.raises(ValueError, match=r"12 tokens in question 4c1f.*--max_length 20 leaves 5 tokens.*--stride 5"):
        windows_of([row], 20, 5)
    with pytest.raises(ValueError, match=r"--max_length 10 leaves 0 tokens"):
        windows_of([row], 10, 0)
    assert windows_of([row], 20, 4)


def test_accumulated_gradients_are_those_of_the_mean_over_all_windows(tmp_path):
    """A step of gradient descent at rate 1 subtracts the gradient of torch's own loss on all windows together."""
    rows = windows_of([row_of(CONTEXT, 2, 2 + length, id_=str(length)) for length in range(1, 6)], 80, 5)
    collator = DataCollatorWithPadding(TOKENIZER)
    options = {"vocab_size": len(TOKENIZER), "pad_token_id": TOKENIZER.pad_token_id}
    model = tiny_model(AtentaEncoderForQuestionAnswering, **options)
    columns = ["input_ids", "token_type_ids", "start_positions", "end_positions"]
    rows = Dataset.from_list(rows).select_columns(columns)
    batch = collator(list(rows))
    output = model(input_ids=batch["input_ids"], token_type_ids=batch["token_type_ids"])
    losses = [cross_entropy(getattr(output, f"{end}_logits"), batch[f"{end}_positions"]) for end in ("start", "end")]
    (sum(losses) / 2).backward()
    expected = {name: (weight - weight.grad).detach() for name, weight in model.named_parameters()}
    accumulated = {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 2, "max_steps": 1}
    descent = {"optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.0}
    model.zero_grad()
    trainer = trainer_of(
        tmp_path, {"train": rows}, model, options={"data_collator": collator}, **accumulated, **descent
    )
    trainer.fit(None)
    for name, weight in trainer.model.named_parameters():
        assert_close(weight, expected[name], 1e-5)


# Answers


@st.composite
def question_rows(draw, characters):
    context = draw(st.text(characters, min_size=1, max_size=60))
    start = draw(st.integers(0, len(context) - 1))
    end = draw(st.integers(start + 1, len(context)))
    return row_of(context, start, end, question=draw(st.text("ab?", max_size=5)))


@given(question_rows("abé <eos>Ж𝄞"), st.integers(1, 40), st.integers(0, 39))
def test_answers_round_trip(row, room, stride):
    assume(stride < room)
    windows = windows_of([row], len(row["question"]) + 3 + room, stride)
    answer = row["answers"]["text"][0]
    tokens = len(TOKENIZER(answer, add_special_tokens=False, split_special_tokens=True).input_ids)
    if tokens <= stride:
        assert any(window["end_positions"] for window in windows)
    if any(window["end_positions"] for window in windows):
        assert answers_from_logits(*gold_logits(windows), windows, [row], max_answer_length=tokens) == [answer]


@given(question_rows("aeo " + MARKS), st.integers(0, 19))
def test_answers_with_combining_marks_are_complete(row, stride):
    """Only the marks of a letter of the answer, or the letter of a mark of the answer, are added to it."""
    windows = windows_of([row], len(row["question"]) + 3 + 20, stride)
    start, answer, context = row["answers"]["answer_start"][0], row["answers"]["text"][0], row["context"]
    if any(window["end_positions"] for window in windows):
        (read,) = answers_from_logits(*gold_logits(windows), windows, [row], max_answer_length=60)
        assert answer in read
        assert read in context
        clean = context[start].isalpha() and not context[start + len(answer) :].startswith(tuple(MARKS))
        assert read == answer or not clean


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_best_span_equals_exhaustive_search(seed, longest):
    generator = np.random.default_rng(seed)
    context = "o céu azul de outono"
    rows = [row_of(context, 0, 1, id_="1"), row_of(context[::-1], 0, 1, id_="2")]
    windows = windows_of(rows, 18, 3)
    starts, ends = generator.normal(size=(2, len(windows), 18))
    expected = []
    for row in rows:
        spans = []
        for index, window in enumerate(windows):
            if window["example_id"] == row["id"]:
                end, offsets = len(window["input_ids"]) - 1, window["offset_mapping"]
                shares = [np.exp(logits[index]) for logits in (starts, ends)]
                shares = [each / each[[0, *range(8, end)]].sum() for each in shares]  # of <bos> and the context
                for first in range(8, end):
                    for last in range(first, min(first + longest, end)):
                        score = shares[0][first] * shares[1][last]
                        spans.append((score, offsets[first][0], offsets[last][1]))
        _, start, end = max(spans)
        expected.append(row["context"][start:end])
    assert answers_from_logits(starts, ends, windows, rows, max_answer_length=longest) == expected


@pytest.mark.parametrize(
    ("context", "first", "last", "answer"),
    [
        ("no Rio de Janeiro, em 1839.", 4, 8, "Rio de"),  # "io de" is best without words
        ("custa 100%!", 9, 9, "%"),
        ("Machado", 2, 3, "Machado"),
    ],
)
def test_answers_are_whole_words(context, first, last, answer):
    row = row_of(context, 0, len(context))
    windows = windows_of([row], 64, 4)
    inside = np.flatnonzero(np.diff(windows[0]["offset_mapping"])[:, 0])
    starts, ends = np.zeros((2, 1, len(windows[0]["input_ids"])))
    places = np.abs(np.arange(len(inside)) - first), np.abs(np.arange(len(inside)) - last)
    starts[0, inside], ends[0, inside] = -places[0], -places[1]
    assert answers_from_logits(starts, ends, windows, [row], 20, align_to_words=True) == [answer]
    assert answers_from_logits(starts, ends, windows, [row], 20) == [context[first : last + 1]]


def test_marks_that_are_composed_with_their_letters_are_within_words():
    context = "a cafe\u0301s, ate\u0301"
    (window,) = windows_of([row_of(context, 0, 1)], 64, 4)
    logits = np.zeros((2, 1, len(window["input_ids"])))
    first = window["offset_mapping"].index((2, 3))  # the c of cafés
    logits[:, 0, [first, first + 3]] = [9, 2], [2, 9]  # caf and é would be best
    assert answers_from_logits(*logits, [window], [row_of(context, 0, 1)], 20, align_to_words=True) == ["cafe\u0301s"]
    logits[:, 0, [-4, -3, -2]] = [20, 20, 0], [0, 0, 20]
    assert answers_from_logits(*logits, [window], [row_of(context, 0, 1)], 20, align_to_words=True) == ["ate\u0301"]


def test_a_window_inside_a_long_word_has_an_answer():
    row = row_of("a" * 30, 0, 30)
    windows = windows_of([row], 64, 4)
    logits = np.zeros((2, len(windows), len(windows[0]["input_ids"])))
    assert answers_from_logits(*logits, windows, [row], 5, align_to_words=True) == ["a"]
