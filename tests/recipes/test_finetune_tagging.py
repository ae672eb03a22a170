"""Tagging end to end: CoNLL and CoNLL-U, entities counted by hand, saved taggers."""

import pytest
import torch
from transformers import AutoModelForTokenClassification

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
    write_lines,
)

NAME = "finetune_tagging"
SENTENCES = [
    [("Machado", "B-PER"), ("de", "I-PER"), ("Assis", "I-PER"), ("escreveu", "O")],
    [("Vive", "O"), ("no", "O"), ("Rio", "B-LOC")],
    [("O", "O"), ("Rio", "B-LOC"), ("é", "O"), ("belo", "O")],
]
HARD = [[("Rio", "B-PER"), ("escreveu", "O")], [("Assis", "B-LOC"), ("é", "O"), ("no", "O"), ("Rio", "B-LOC")]]
TEST = SENTENCES + HARD
BASELINES = {"most frequent tag of each word"}
LEARNING = {"max_steps": 80, "eval_steps": 40, "save_steps": 40, "logging_steps": 20, "hidden_size": 32}
UNIVERSAL = (
    "1\tVive\tviver\tVERB\t_\t_\t_\t_\t_\t_",
    "2-3\tno\t_\t_\t_\t_\t_\t_\t_\t_",
    "2\tem\tem\tADP\t_\t_\t_\t_\t_\t_",
    "3\to\to\tDET\t_\t_\t_\t_\t_\t_",
    "4\tRio\tRio\tPROPN\t_\t_\t_\t_\t_\t_",
    "",
)


def conll(sentences):
    return [line for sentence in sentences for line in (*(f"{word} {tag}" for word, tag in sentence), "")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagged")
    return {
        "train_file": write_lines(folder / "train.conll", *conll(SENTENCES * 4)),
        "validation_file": write_lines(folder / "validation.conll", *conll(SENTENCES)),
        "test_file": write_lines(folder / "test.conll", *conll(TEST)),
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **LEARNING, "output_dir": folder / "model"}
    return folder / "model", run_recorded(NAME, folder, *tiny(NAME, **options))


def entities(tags):
    """(type, first word, word after the last) of each entity; an `I-` that continues none begins one."""
    found, start = set(), None
    for place, (before, tag) in enumerate(zip(["O", *tags], [*tags, "O"])):
        if start is not None and tag != f"I-{before[2:]}":
            found.add((before[2:], start, place))
            start = None
        if tag != "O" and start is None:
            start = place
    return found


def counted(rows):
    """Precision, recall and F1 of entities, and the share of correct tags."""
    gold, output = (
        {(number, *entity) for number, row in enumerate(rows) for entity in entities(row[name].split(" "))}
        for name in ("gold", "output")
    )
    pairs = [pair for row in rows for pair in zip(row["gold"].split(" "), row["output"].split(" "), strict=True)]
    right = len(gold & output)
    return {
        "precision": right / len(output) if output else 0,
        "recall": right / len(gold),
        "f1": 2 * right / (len(gold) + len(output)),
        "tag_accuracy": sum(one == other for one, other in pairs) / len(pairs),
    }


def test_the_entities_counted_here():
    tags = ["B-A", "I-A", "B-A", "O", "I-B", "I-A", "O"]
    assert entities(tags) == {("A", 0, 2), ("A", 2, 3), ("B", 4, 5), ("A", 5, 6)}


def test_printed_data_progress_and_scores(trained):
    assert_reported(trained[1], trained[0])


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForTokenClassification", BASELINES)


def test_scores_are_those_of_the_predictions(trained):
    rows, scores = read_predictions(trained[0]), read_metrics(trained[0])["test"]
    assert list(rows[0]) == ["words", "output", "gold"]
    assert [row["words"] for row in rows] == [" ".join(word for word, _ in sentence) for sentence in TEST]
    assert [row["gold"] for row in rows] == [" ".join(tag for _, tag in sentence) for sentence in TEST]
    assert 0.5 < scores["model"]["f1"] < 1
    assert scores["model"] == pytest.approx(counted(rows))
    tag_of = dict(pair for sentence in SENTENCES for pair in sentence)
    guessed = [{**row, "output": " ".join(tag_of[word] for word in row["words"].split(" "))} for row in rows]
    assert scores["most frequent tag of each word"] == pytest.approx(counted(guessed))


def test_the_saved_model_gives_the_predictions_at_first_characters(trained):
    tokenizer, model = load(trained[0], AutoModelForTokenClassification)
    for row in read_predictions(trained[0]):
        inputs = tokenizer(row["words"], return_tensors="pt")
        with torch.no_grad():
            best = model(**inputs).logits[0].argmax(-1).tolist()
        text = f" {row['words']}"
        firsts = [place for place in range(len(row["words"])) if text[place] == " "]
        tags = [model.config.id2label[best[inputs.char_to_token(place)]] for place in firsts]
        assert " ".join(tags) == row["output"]


def test_training_a_saved_tagger(trained, files, tmp_path):
    options = {**files, "model_name_or_path": trained[0], "max_steps": 1, "eval_steps": 1, "learning_rate": 1e-12}
    run_here(NAME, tmp_path, *tiny(NAME, output_dir=tmp_path / "more", **options))
    assert read_predictions(tmp_path / "more") == read_predictions(trained[0])


def test_a_tag_unknown_to_a_saved_tagger_is_named(trained, tmp_path):
    new = write_lines(tmp_path / "new.conll", *conll([[("Rio", "B-LOC"), ("hoje", "B-TIME")]]))
    arguments = ("--train_file", new, "--validation_file", new, "--model_name_or_path", trained[0])
    assert "B-TIME" in refusal(NAME, tmp_path, *arguments)


@pytest.mark.parametrize(("column", "tags"), [("upos", "VERB ADP+DET PROPN"), ("lemma", "viver em+o Rio")])
def test_other_tags_are_scored_without_entities(tmp_path, column, tags):
    """Tags of CoNLL-U; `no` is one word with the tags of its parts."""
    file = write_lines(tmp_path / "train.conllu", *UNIVERSAL * 2)
    options = {"train_file": file, "validation_file": file, "tag_column": column, "max_steps": 2}
    options |= {"metric_for_best_model": "tag_accuracy", "output_dir": tmp_path / "model"}
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    assert [row["gold"] for row in read_predictions(tmp_path / "model")] == [tags] * 2
    assert list(read_metrics(tmp_path / "model")["test"]["model"]) == ["tag_accuracy"]


def test_a_metric_of_the_default_file_that_other_tags_lack_is_refused_with_its_origin(tmp_path):
    file = write_lines(tmp_path / "train.conllu", *UNIVERSAL)
    reason = refusal(NAME, tmp_path, "--train_file", file, "--validation_file", file)
    assert "--metric_for_best_model f1: expected one of loss, tag_accuracy" in reason
    assert "configuration file" in reason


def test_a_malformed_line_is_named_by_file_and_line(files, tmp_path):
    bad = write_lines(tmp_path / "bad.conll", "Rio B-LOC", "belo")
    reason = refusal(NAME, tmp_path, "--train_file", bad, "--validation_file", files["validation_file"])
    assert reason.startswith(f"{bad}, line 2: found 1 column(s) in 'belo'")


def test_an_unknown_column_is_named(tmp_path):
    file = write_lines(tmp_path / "train.conllu", *UNIVERSAL)
    arguments = ("--train_file", file, "--validation_file", file, "--tag_column", "postag")
    assert "--tag_column postag: expected one of" in refusal(NAME, tmp_path, *arguments)
