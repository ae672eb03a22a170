"""Pairs of texts end to end: tags, n-best outputs, denoising, saved models, LoRA, launchers."""

import csv
import json

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from atenta.recipes import decode, seq2seq
from support.recipes import (
    assert_complete,
    assert_reported,
    launch_one,
    launch_two,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    run_recipe,
    run_recorded,
    tiny,
    write_jsonl,
    write_lines,
)

ROWS = [("ser", "sou", "V;1;SG"), ("ver", "vês", "V;2;SG"), ("ir", "vão", "V;3;PL"), ("V<V>", "V<3>", "V;3;SG")]
TEST = [*ROWS, ("ser", "é", "V;1;SG"), ("ver", "vês", "V;2;SG"), ("ir", "foi", "V;3;PL")]  # two cannot be predicted
BASELINES = {"left as it is", "most frequent in training"}
LEARNING = {"max_steps": 60, "eval_steps": 30, "save_steps": 30, "logging_steps": 10, "hidden_size": 32}
SEARCH = {"num_beams": 3, "num_return_sequences": 2}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pairs with tags as tsv, jsonl, and tsv with a header."""
    folder = tmp_path_factory.mktemp("pairs")
    names = ("source", "target", "tags")
    return {
        "train_file": write_lines(folder / "train.tsv", *("\t".join(row) for row in ROWS * 4)),
        "validation_file": write_jsonl(folder / "validation.jsonl", [dict(zip(names, row)) for row in ROWS]),
        "test_file": write_lines(folder / "test.tsv", "\t".join(names), *("\t".join(row) for row in TEST)),
    }


@pytest.fixture
def _not_decoded_again(monkeypatch):
    """Spares the new process in which a recipe decodes with the saved model."""
    monkeypatch.setattr(seq2seq, "_decode_in_new_process", lambda *_: None)


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **SEARCH, **LEARNING, "metrics": ["word_accuracy", "exact_match", "chrf"]}
    return folder / "model", run_recipe("seq2seq", folder, *tiny("seq2seq", output_dir=folder / "model", **options))


def exact_match(rows):
    return sum(row["output 1"] == row["gold"] for row in rows) / len(rows)


def test_printed_data_progress_scores_and_examples(trained):
    folder, done = trained
    assert_reported(done, folder, steps=60)
    assert done.stdout.count("\n  gold    ") == len(TEST)
    assert f"A new process loads the model and decodes these {len(TEST)} sources identically" in done.stdout


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForSeq2SeqLM", BASELINES)


def test_predictions_are_the_best_outputs_with_their_scores(trained):
    folder, _ = trained
    rows = read_predictions(folder)
    assert list(rows[0]) == ["source", "tags", "gold", "output 1", "score 1", "output 2", "score 2"]
    assert [(row["source"], row["gold"]) for row in rows] == [row[:2] for row in TEST]
    tokenizer, model = decode.load_pretrained(str(folder))
    sources = [f"{source}\t{tags}" for source, _, tags in TEST]
    again = decode.decode_texts_n_best(tokenizer, model, sources, **SEARCH)
    assert [text for _, text, _ in again] == [row[f"output {number}"] for row in rows for number in (1, 2)]
    scores = [float(row[f"score {number}"]) for row in rows for number in (1, 2)]
    assert [score for _, _, score in again] == pytest.approx(scores, abs=1e-3)


def test_scores_are_those_of_the_predictions(trained):
    folder, _ = trained
    rows, scores = read_predictions(folder), read_metrics(folder)["test"]
    assert 0 < scores["model"]["exact_match"] < 1
    assert scores["model"]["exact_match"] == pytest.approx(exact_match(rows))
    assert scores["left as it is"]["exact_match"] == 0
    assert scores["most frequent in training"]["exact_match"] == pytest.approx(5 / 7)


def test_generation_is_not_cut_at_a_default_length(trained):
    generation = json.loads((trained[0] / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["max_length"] == 2 * len("V<3>\n")  # twice the longest target with its <eos>


@pytest.mark.usefixtures("_not_decoded_again")
def test_training_a_saved_model(trained, files, tmp_path):
    """A tiny learning rate leaves the model unchanged."""
    options = {**files, "model_name_or_path": trained[0], "max_steps": 1, "learning_rate": 1e-12}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "more", **{**options, **SEARCH}))
    outputs = [[row["output 1"] for row in read_predictions(folder)] for folder in (trained[0], tmp_path / "more")]
    assert outputs[0] == outputs[1]


@pytest.mark.usefixtures("_not_decoded_again")
def test_lora(trained, files, tmp_path):
    options = {**files, "model_name_or_path": trained[0], "lora_rank": 2, "max_steps": 2}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "lora", **options))
    (_, before), (_, after) = (load(folder, AutoModelForSeq2SeqLM) for folder in (trained[0], tmp_path / "lora"))
    weights = after.state_dict()
    assert weights.keys() == before.state_dict().keys()
    assert any(not torch.equal(weights[name], value) for name, value in before.state_dict().items())


def test_a_tag_unknown_to_a_saved_model_is_named(trained, files, tmp_path):
    new = write_lines(tmp_path / "new.tsv", "ser\tsendo\tGER")
    reason = refusal(
        "seq2seq", tmp_path, "--train_file", new, "--validation_file", new, "--model_name_or_path", trained[0]
    )
    assert "no tag <GER>" in reason


@pytest.fixture(scope="module")
def denoised(tmp_path_factory):
    folder = tmp_path_factory.mktemp("denoised")
    verse = ("Ora direis ouvir estrelas", "", "Certo perdeste o senso", "", "E eu vos direi no entanto")
    text = write_lines(folder / "verse.txt", *verse)
    options = {"train_file": text, "validation_file": text, "sample_by": "paragraph", "noise_density": 0.2}
    arguments = tiny("seq2seq", output_dir=folder / "model", **options, max_steps=2)
    return folder / "model", run_recorded("seq2seq", folder, *arguments, "--denoising"), [*filter(None, verse)]


def test_denoising_restores_masked_texts(denoised):
    folder, done, verse = denoised
    assert_reported(done, folder, steps=2)
    assert_complete(folder, "AutoModelForSeq2SeqLM", BASELINES)
    rows = read_predictions(folder)
    assert [row["gold"] for row in rows] == verse
    for row in rows:
        kept = len(row["source"].replace("<mask>", ""))
        assert "<mask>" in row["source"]
        assert kept == len(row["gold"]) - round(0.2 * len(row["gold"]))


@pytest.mark.usefixtures("_not_decoded_again")
def test_pairs_start_from_a_denoising_model(denoised, tmp_path):
    folder, _, _ = denoised
    pairs = write_lines(tmp_path / "pairs.tsv", "ora\tera", "senso\tsentido")
    options = {"train_file": pairs, "validation_file": pairs, "model_name_or_path": folder, "max_steps": 1}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "pairs", **options))
    assert len(read_predictions(tmp_path / "pairs")) == 2


def test_a_malformed_row_is_named_by_file_and_line(tmp_path):
    bad = write_lines(tmp_path / "bad.tsv", "a\tb", "no tab here")
    reason = refusal("seq2seq", tmp_path, "--train_file", bad, "--validation_file", bad)
    assert reason.startswith(f"{bad}, line 2: found 1 column")


@pytest.mark.usefixtures("_not_decoded_again")
def test_malformed_rows_are_skipped_and_listed(tmp_path, capsys):
    bad = write_lines(tmp_path / "bad.tsv", "a\tb", "no tab here", "c\t ", "e\tf")
    good = write_lines(tmp_path / "good.tsv", "a\tb")
    options = {"train_file": bad, "validation_file": good, "output_dir": tmp_path / "model", "max_steps": 1}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", **options), "--skip_bad_rows")
    assert "2 malformed rows" in capsys.readouterr().out
    with (tmp_path / "model" / "bad_rows.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["where"] for row in rows] == [f"{bad}, line 2", f"{bad}, line 3"]


def test_a_pair_that_is_too_long_is_refused_before_training(tmp_path, capsys):
    long = write_lines(tmp_path / "long.tsv", "a\tb\tV;PL", "abcdefg\tb\tV;PL")  # tags, text and <eos>
    reason = refusal("seq2seq", tmp_path, "--train_file", long, "--validation_file", long, "--max_length", 9)
    assert "train, row 1: found 10 tokens" in reason
    assert "longer than 9 tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train_file", "x.tsv"], "Give both --train_file and --validation_file"),
        (["--train_file", "x.tsv", "--validation_file", "x.tsv"], "No such file or directory: 'x.tsv'"),
        (["--sample", "nothing"], "--sample of accents, novels"),
        (["--model_name_or_path", "nowhere/nothing"], "--model_name_or_path nowhere/nothing"),
        (["--hidden_size", "15"], "does not divide hidden_size=15"),
        (["--metric_for_best_model", "f1"], "--metric_for_best_model f1: expected one of loss, word_accuracy"),
    ],
)
def test_options_refused_before_training(arguments, message, files, tmp_path):
    data = [] if {"--train_file", "--sample"} & set(arguments) else tiny("seq2seq", **files)
    assert message in refusal("seq2seq", tmp_path, *data, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num_beams", "2", "--num_return_sequences", "3"], "asks for more outputs than --num_beams 2"),
        (["--metrics", "wer"], "--metrics wer: expected some of accuracy"),
    ],
)
def test_options_refused_by_the_command_line(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here("seq2seq", tmp_path, *arguments)
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("launch", [launch_one, launch_two])
def test_launched_processes_score_each_pair_once(files, tmp_path, monkeypatch, launch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    options = {**files, **SEARCH, **LEARNING, "per_device_eval_batch_size": 2}
    folder = tmp_path / "model"
    printed = launch("seq2seq", *tiny("seq2seq", output_dir=folder, **options))
    assert printed.count("most frequent in training") == 1
    assert_complete(folder, "AutoModelForSeq2SeqLM", BASELINES)
    rows = read_predictions(folder)
    assert [(row["source"], row["gold"]) for row in rows] == [row[:2] for row in TEST]
    assert read_metrics(folder)["test"]["model"]["exact_match"] == pytest.approx(exact_match(rows))
    tokenizer, model = decode.load_pretrained(str(folder))
    again = decode.decode_texts_n_best(tokenizer, model, [f"{source}\t{tags}" for source, _, tags in TEST], **SEARCH)
    assert [text for _, text, _ in again] == [row[f"output {number}"] for row in rows for number in (1, 2)]
