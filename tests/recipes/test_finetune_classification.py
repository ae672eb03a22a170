"""Classification end to end: scores counted by hand, the confusion matrix, saved classifiers, LoRA, launchers."""

from collections import Counter

import datasets
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from atenta import AtentaDecoderForSequenceClassification
from atenta.recipes.training import report_misspelt
from support.recipes import (
    assert_complete,
    assert_picture,
    assert_reported,
    launch_one,
    launch_two,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    run_recorded,
    tiny,
    write_jsonl,
    write_lines,
)
from support.saved import save_with_tokenizer

NAME = "finetune_classification"
ROWS = [("casa", "nome"), ("rua", "nome"), ("lua", "nome"), ("cantar", "verbo"), ("falar", "verbo")]
TEST = [*ROWS, ("casa", "verbo"), ("falar", "nome")]  # the last two cannot be predicted
BASELINES = {"most frequent label", "n-grams of characters"}
LEARNING = {"max_steps": 60, "eval_steps": 30, "save_steps": 30, "logging_steps": 10, "hidden_size": 32}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Labelled texts as csv, jsonl and parquet."""
    folder = tmp_path_factory.mktemp("labelled")
    rows = [{"text": text, "label": label} for text, label in TEST]
    datasets.Dataset.from_list(rows).to_parquet(folder / "test.parquet")
    return {
        "train_file": write_lines(
            folder / "train.csv", "label,text", *(f'{label},"{text}"' for text, label in ROWS * 4)
        ),
        "validation_file": write_jsonl(folder / "validation.jsonl", rows[: len(ROWS)]),
        "test_file": folder / "test.parquet",
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **LEARNING, "output_dir": folder / "model"}
    return folder / "model", run_recorded(NAME, folder, *tiny(NAME, **options))


def counted(rows):
    """Accuracy and macro F1, from the counts of gold and output labels."""
    pairs = Counter((row["gold"], row["output"]) for row in rows)
    gold, output = Counter(row["gold"] for row in rows), Counter(row["output"] for row in rows)
    f1 = [2 * pairs[label, label] / (gold[label] + output[label]) for label in gold | output]
    accuracy = sum(count for (one, other), count in pairs.items() if one == other) / len(rows)
    return {"accuracy": accuracy, "macro_f1": sum(f1) / len(f1)}


def test_printed_data_progress_and_scores(trained):
    folder, done = trained
    assert_reported(done, folder)
    assert "text_pair" not in done.stdout
    assert done.stdout.endswith(f"Saved in {folder}\n\n$ atenta predict {folder} rua\n")


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForSequenceClassification", BASELINES)
    assert_picture(trained[0] / "confusion.png")


def test_scores_are_those_of_the_predictions(trained):
    rows, scores = read_predictions(trained[0]), read_metrics(trained[0])["test"]
    assert list(rows[0]) == ["text", "output", "gold"]
    assert [(row["text"], row["gold"]) for row in rows] == TEST
    assert 0.5 < scores["model"]["accuracy"] < 1
    assert scores["model"] == pytest.approx(counted(rows))
    assert scores["most frequent label"] == pytest.approx(counted([{**row, "output": "nome"} for row in rows]))


def test_the_saved_model_gives_the_predictions(trained):
    tokenizer, model = load(trained[0], AutoModelForSequenceClassification)
    for row in read_predictions(trained[0]):
        with torch.no_grad():
            logits = model(**tokenizer(row["text"], return_tensors="pt")).logits
        assert model.config.id2label[logits.argmax().item()] == row["output"]


def test_training_a_saved_classifier(trained, files, tmp_path):
    options = {**files, "model_name_or_path": trained[0], "max_steps": 1, "eval_steps": 1, "learning_rate": 1e-12}
    run_here(NAME, tmp_path, *tiny(NAME, output_dir=tmp_path / "more", **options))
    assert read_predictions(tmp_path / "more") == read_predictions(trained[0])


def test_a_label_unknown_to_a_saved_classifier_is_named(trained, tmp_path):
    new = write_lines(tmp_path / "new.tsv", "casa\tnome", "azul\tadjetivo", "falar\tverbo")
    arguments = ("--train_file", new, "--validation_file", new, "--model_name_or_path", trained[0])
    assert "'adjetivo'" in refusal(NAME, tmp_path, *arguments)


def test_pairs_of_texts(tmp_path):
    """Only the second text determines the label."""
    lines = [f"{text}\t{label}\t{pair}" for text in ("casa", "rua") for label, pair in (("sim", "a"), ("nao", "bb"))]
    pairs = write_lines(tmp_path / "pairs.tsv", "text\tlabel\ttext_pair", *lines * 4)
    options = {"train_file": pairs, "validation_file": pairs, "output_dir": tmp_path / "model", **LEARNING}
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    assert read_metrics(tmp_path / "model")["test"]["model"]["accuracy"] == 1


def test_a_single_label_is_refused(tmp_path):
    file = write_lines(tmp_path / "one.tsv", "text\tlabel", "casa\tnome", "rua\tnome")
    assert "'nome'" in refusal(NAME, tmp_path, "--train_file", file, "--validation_file", file)


def test_lora(files, tmp_path):
    options = {**files, "lora_rank": 4, "output_dir": tmp_path / "model"}
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    assert_complete(tmp_path / "model", "AutoModelForSequenceClassification", BASELINES)
    test_the_saved_model_gives_the_predictions((tmp_path / "model", None))


def test_a_malformed_row_is_named_by_file_and_line(files, tmp_path):
    bad = write_lines(tmp_path / "bad.csv", "text,label", "casa,nome", 'rua," "')
    reason = refusal(NAME, tmp_path, "--train_file", bad, "--validation_file", files["validation_file"])
    assert reason.startswith(f"{bad}, line 3: found an empty label")


def test_a_text_that_is_too_long_is_refused_before_training(files, tmp_path):
    arguments = tiny(NAME, **{**files, "output_dir": tmp_path / "refused"})
    assert "found 8 tokens in an input; expected at most 7" in refusal(NAME, tmp_path, *arguments, "--max_length", 7)


@pytest.mark.slow
@pytest.mark.parametrize("launch", [launch_one, launch_two])
def test_launched_processes_score_each_text_once(files, tmp_path, monkeypatch, launch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    options = {**files, **LEARNING, "per_device_eval_batch_size": 2, "output_dir": folder}
    printed = launch(NAME, *tiny(NAME, **options))
    assert printed.count("most frequent label") == 1
    assert_complete(folder, "AutoModelForSequenceClassification", BASELINES)
    rows = read_predictions(folder)
    assert [(row["text"], row["gold"]) for row in rows] == TEST
    assert read_metrics(folder)["test"]["model"] == pytest.approx(counted(rows))
    test_the_saved_model_gives_the_predictions((folder, None))


def test_a_decoder_is_refused(files, tmp_path):
    """It has a head of its own for classification."""
    save_with_tokenizer(AtentaDecoderForSequenceClassification, tmp_path / "other")
    arguments = [part for name, path in files.items() for part in (f"--{name}", path)]
    reason = refusal("finetune_classification", tmp_path, *arguments, "--model_name_or_path", tmp_path / "other")
    assert reason.endswith("found a model of type atenta_decoder; expected atenta_encoder")


def test_labels_that_no_training_row_has_are_named(capsys):
    report_misspelt("label", {"train": ["ita", "por"], "validation": ["por"], "test": ["ita", "itaa"]})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("test: ")
    assert "itaa" in line


def test_labels_that_look_the_same_are_named(capsys):
    report_misspelt("label", {"train": ["mac\u0327a\u0303", "ma\xe7\xe3", "a", "a ", "\xa0a", "b"], "test": ["b"]})
    lines = capsys.readouterr().out.splitlines()
    assert [[name in line for name in (r"'ma\xe7\xe3'", r"'mac\u0327a\u0303'", r"'\xa0a'")] for line in lines] == [
        [False, False, True],
        [True, True, False],
    ]
