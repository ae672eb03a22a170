"""Tests of pairs for embeddings: questions, neighbouring sentences, and the rows that are set aside."""

import json

import pytest
from datasets import Dataset

from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS, read_neighbours, set_aside_validation
from support.recipes import write_lines

FIRST, SECOND, THIRD = (
    "O gato dormia no sofá da sala de jantar.",
    "Ninguém ousava acordá-lo antes das seis horas.",
    "A chuva caía sem parar sobre os telhados da vila.",
)


def pairs(path):
    return [(fields["anchor"], fields["positive"]) for _, fields in TEXT_PAIRS.read(str(path))]


def test_questions_are_paired_with_their_contexts(tmp_path):
    questions = [{"id": str(number), "question": f"{number}?", "answers": []} for number in (1, 2)]
    content = {"data": [{"title": "a", "paragraphs": [{"context": "Um texto.", "qas": questions}]}]}
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    assert pairs(tmp_path / "a.json") == [("1?", "Um texto."), ("2?", "Um texto.")]


def test_sentences_are_paired_with_the_next_of_their_paragraph(tmp_path):
    wrapped = SECOND.replace(" ", "\n", 1)
    path = write_lines(tmp_path / "a.txt", f"{FIRST} {wrapped}", "", f"{THIRD} Sim. {FIRST}")
    assert pairs(path) == [(FIRST, SECOND)]  # a short sentence is between the others


def test_neighbours_of_files(tmp_path):
    path = write_lines(tmp_path / "a.txt", f"{FIRST} {SECOND} {THIRD}")
    found = read_neighbours([str(path)], "", 10, seed=0)
    assert {tuple(row.values()) for row in found} == {(FIRST, SECOND), (SECOND, THIRD)}
    assert len(read_neighbours([str(path)], "", 1, seed=0)) == 1
    of_a_sample = read_neighbours(["novels"], "", 50, seed=0)
    assert len(of_a_sample) == 50
    assert all(len(text) >= 30 for row in of_a_sample for text in row.values())


def test_sentences_of_held_out_passages_are_left_out(tmp_path):
    path = write_lines(tmp_path / "a.txt", f"{FIRST} {SECOND} {THIRD}")
    held_out = f"Um título. {FIRST.replace(' ', chr(10), 2)} Mais."  # wrapped in another way
    assert read_neighbours([str(path)], held_out, 10, seed=0).to_list() == [{"anchor": SECOND, "positive": THIRD}]
    with pytest.raises(ValueError, match="found no two neighbouring sentences"):
        read_neighbours([str(path)], SECOND, 10, seed=0)


def test_what_has_no_neighbours_is_refused(tmp_path):
    path = write_lines(tmp_path / "a.txt", FIRST, "", SECOND)
    with pytest.raises(ValueError, match=r"a\.txt: found no paragraph of two sentences of 30 characters"):
        pairs(path)
    for name in ("nowhere", "french_g2p"):
        with pytest.raises(ValueError, match=rf"{name}: found no sample of texts; expected a txt file"):
            read_neighbours([name], "", 10, seed=0)
    path.write_bytes("cão".encode("latin-1"))
    with pytest.raises(BadRow, match=r"a\.txt, line 1: found byte 0xE3"):
        read_neighbours([str(path)], "", 10, seed=0)


def rows_of(*positives):
    rows = [{"anchor": f"{number}?", "positive": positive} for number, positive in enumerate(positives)]
    return Dataset.from_list(rows, TEXT_PAIRS.features)


def test_whole_passages_validate_where_validation_is_the_test(capsys):
    train, test = rows_of(*"aabbccddee"), rows_of("x")
    splits = set_aside_validation({"train": train, "validation": test, "test": test}, seed=0)
    held = set(splits["validation"]["positive"])
    assert len(held) == 1
    assert len(splits["validation"]) == 2
    assert set(splits["train"]["positive"]) == set("abcde") - held
    assert splits["test"] is test
    assert "those of 1 passages, are for validation instead" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="found one passage to train on"):
        set_aside_validation({"train": rows_of("a", "a"), "validation": test, "test": test}, seed=0)
    of_its_own = {"train": rows_of("a", "b"), "validation": rows_of("c"), "test": rows_of("d")}
    assert set_aside_validation(of_its_own, seed=0) == of_its_own
