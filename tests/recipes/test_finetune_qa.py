"""Question answering end to end: SQuAD JSON, windows, scores counted by hand, offsets corrected or listed."""

import csv
import json
from collections import Counter

import pytest
import torch
from transformers import AutoModelForQuestionAnswering

from support.recipes import (
    assert_complete,
    assert_reported,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    run_recorded,
    tiny,
    write_jsonl,
)

NAME = "finetune_qa"
CONTEXTS = [
    "Machado nasceu em 1839 no Rio, e Alencar nasceu em 1829 no Ceara.",
    "Eça nasceu em 1845 na Povoa, e Pessoa nasceu em 1888 em Lisboa.",
]
# Question, number of its context, accepted answers with their positions.
ROWS = [
    ("Quando nasceu Machado?", 0, {"1839": 18}),
    ("Onde nasceu Alencar?", 0, {"Ceara": 59, "no Ceara": 56}),
    ("Quando nasceu Pessoa?", 1, {"1888": 48}),
    ("Onde nasceu Pessoa?", 1, {"Lisboa": 56}),
]
LEARNING = {"max_steps": 60, "eval_steps": 30, "save_steps": 30, "logging_steps": 20, "hidden_size": 32}
WINDOWS = {"max_length": 64, "stride": 16, "max_answer_length": 12}


def squad(path, rows):
    """Write rows like those above as a SQuAD file with one paragraph for each."""
    paragraphs = [
        {
            "context": CONTEXTS[context],
            "qas": [
                {
                    "id": f"question {number}",
                    "question": question,
                    "answers": [{"text": text, "answer_start": start} for text, start in answers.items()],
                }
            ],
        }
        for number, (question, context, answers) in enumerate(rows)
    ]
    path.write_text(json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]}), encoding="utf-8")
    return path


def test_the_positions_above():
    assert all(CONTEXTS[context].startswith(text, start) for _, context, of in ROWS for text, start in of.items())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    return {
        "train_file": squad(folder / "train.json", ROWS * 2),
        "validation_file": squad(folder / "validation.json", ROWS[:2]),
        "test_file": squad(folder / "test.json", ROWS),
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **LEARNING, **WINDOWS, "output_dir": folder / "model"}
    return folder / "model", run_recorded(NAME, folder, *tiny(NAME, **options))


def words(text):
    kept = "".join(character for character in text.lower() if character.isalnum() or character == " ")
    return [word for word in kept.split() if word not in ("a", "an", "the")]


def f1(answer, accepted):
    common = sum(min(words(answer).count(word), words(accepted).count(word)) for word in set(words(answer)))
    return 2 * common / (len(words(answer)) + len(words(accepted)))


def counted(rows):
    gold = [row["gold"].split(" | ") for row in rows]
    exact = [any(words(row["output"]) == words(one) for one in accepted) for row, accepted in zip(rows, gold)]
    best = [max(f1(row["output"], one) for one in accepted) for row, accepted in zip(rows, gold)]
    return {"exact_match": sum(exact) / len(rows), "f1": sum(best) / len(rows)}


def test_printed_data_progress_and_scores(trained):
    assert_reported(trained[1], trained[0])


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForQuestionAnswering", {"random span", "most similar sentence"})


def test_its_scores_are_those_counted_in_predictions(trained):
    rows, scores = read_predictions(trained[0]), read_metrics(trained[0])["test"]
    assert list(rows[0]) == ["question", "output", "gold"]
    assert [(row["question"], row["gold"]) for row in rows] == [(row[0], " | ".join(row[2])) for row in ROWS]
    assert all(row["output"] in CONTEXTS[context] for row, (_, context, _) in zip(rows, ROWS))
    assert all(0 < len(row["output"]) <= WINDOWS["max_answer_length"] for row in rows)
    assert scores["model"] == pytest.approx(counted(rows))
    assert scores["model"]["f1"] > 0


def test_the_saved_model_gives_the_predictions(trained):
    """Each window of a context is read by itself, and all its spans are tried."""
    tokenizer, model = load(trained[0], AutoModelForQuestionAnswering)
    for row, (question, number, _) in zip(read_predictions(trained[0]), ROWS):
        context = CONTEXTS[number]
        first = len(tokenizer(question).input_ids)
        room = WINDOWS["max_length"] - first - 1
        found = Counter()
        for start in range(0, len(context), room - WINDOWS["stride"]):
            inputs = tokenizer(question, context[start : start + room], return_tensors="pt")
            with torch.no_grad():
                output = model(**inputs)
            inside = [0, *range(first, inputs.input_ids.shape[1] - 1)]  # <bos> stands for no answer
            starts, ends = (each[0, inside].softmax(-1)[1:] for each in (output.start_logits, output.end_logits))
            for one in range(len(starts)):
                for last in range(one, min(one + WINDOWS["max_answer_length"], len(starts))):
                    span = context[start + one : start + last + 1]
                    found[span] = max(found[span], (starts[one] * ends[last]).item())
            if start + room >= len(context):
                break
        assert found[row["output"]] == pytest.approx(max(found.values()), rel=1e-4)


def test_training_a_saved_model(trained, files, tmp_path):
    options = {**files, **WINDOWS, "model_name_or_path": trained[0], "max_steps": 1, "learning_rate": 1e-12}
    run_here(NAME, tmp_path, *tiny(NAME, output_dir=tmp_path / "more", eval_steps=1, **options))
    assert read_predictions(tmp_path / "more") == read_predictions(trained[0])


def test_wrong_offsets_are_corrected_or_refused(files, tmp_path, capsys):
    """1839 occurs once in the context, `nasceu` twice."""
    wrong = squad(tmp_path / "wrong.json", [(ROWS[0][0], 0, {"1839": 3}), ROWS[1], ("Que fez?", 0, {"nasceu": 3})])
    given = {"train_file": wrong, "validation_file": files["validation_file"], **WINDOWS}
    reason = refusal(NAME, tmp_path, *tiny(NAME, **given, output_dir=tmp_path / "refused"))
    assert reason.startswith(f"{wrong}, question question 2: found 'hado n' at answer_start 3")
    assert "2 times in the context" in reason

    run_here(NAME, tmp_path, *tiny(NAME, **given, output_dir=tmp_path / "model", max_steps=1), "--skip_bad_rows")
    printed = capsys.readouterr().out
    assert "1 malformed rows are left out" in printed
    assert "train: corrected the positions of 1 answers" in printed
    assert "validation: corrected the positions of 0 answers" in printed
    with (tmp_path / "model" / "bad_rows.tsv").open(encoding="utf-8", newline="") as file:
        assert [row["where"] for row in csv.DictReader(file, delimiter="\t")] == [f"{wrong}, question question 2"]


def test_windows_without_room_for_the_context_are_refused(files, tmp_path):
    arguments = tiny(NAME, **{**files, **WINDOWS, "max_length": 30, "output_dir": tmp_path / "refused"})
    assert "raise --max_length or lower --stride" in refusal(NAME, tmp_path, *arguments)


def test_a_table_of_questions(files, tmp_path):
    question, context, answers = ROWS[0]
    row = {"id": "1", "context": CONTEXTS[context], "question": question}
    row["answers"] = {"text": list(answers), "answer_start": list(answers.values())}
    table = write_jsonl(tmp_path / "table.jsonl", [row])
    options = {"train_file": table, "validation_file": table, **WINDOWS, "max_steps": 1, "eval_steps": 1}
    run_here(NAME, tmp_path, *tiny(NAME, output_dir=tmp_path / "model", **options))
    assert [row["question"] for row in read_predictions(tmp_path / "model")] == [question]


@pytest.mark.parametrize(("name", "value", "expected"), [("stride", -1, 0), ("max_answer_length", 0, 1)])
def test_lengths_out_of_range_are_refused_by_the_command_line(name, value, expected, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, f"--{name}={value}")
    assert f"--{name} {value}: expected {expected} or more" in capsys.readouterr().err
