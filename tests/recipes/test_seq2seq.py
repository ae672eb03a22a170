"""Pairs of texts end to end: tags, n-best outputs, denoising, saved models, LoRA, launchers."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, pipeline

from atenta.recipes.reading.records import printable
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
BASELINES_OF_WORDS = BASELINES | {"letters in context"}
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


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **SEARCH, **LEARNING, "metrics": ["word_accuracy", "exact_match", "chrf"]}
    return folder / "model", run_recipe("seq2seq", folder, *tiny("seq2seq", output_dir=folder / "model", **options))


def exact_match(rows):
    return sum(row["output 1"] == row["gold"] for row in rows) / len(rows)


def test_printed_data_progress_scores_and_examples(trained):
    folder, done = trained
    assert_reported(done, folder)
    assert done.stdout.count("\n  gold    ") == len(TEST)
    assert "\n$ atenta predict " in done.stdout


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForSeq2SeqLM", BASELINES_OF_WORDS)


def decode_again(folder):
    """Return the outputs of the saved model for the test's sources, by the pipeline."""
    decode = pipeline("text2text-generation", str(folder), device="cpu", return_scores=True)
    return decode([f"{source}\t{tags}" for source, _, tags in TEST], **SEARCH)


def test_predictions_are_the_best_outputs_with_their_scores(trained):
    folder, _ = trained
    rows = read_predictions(folder)
    assert list(rows[0]) == ["source", "tags", "gold", "output 1", "score 1", "output 2", "score 2"]
    assert [(row["source"], row["gold"]) for row in rows] == [row[:2] for row in TEST]
    again = [each for ranked in decode_again(folder) for each in ranked]
    assert [each["generated_text"] for each in again] == [row[f"output {number}"] for row in rows for number in (1, 2)]
    scores = [float(row[f"score {number}"]) for row in rows for number in (1, 2)]
    assert [each["score"] for each in again] == pytest.approx(scores, abs=1e-3)


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


def test_training_a_saved_model(trained, files, tmp_path):
    """A tiny learning rate leaves the model unchanged."""
    options = {**files, "model_name_or_path": trained[0], "max_steps": 1, "learning_rate": 1e-12}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "more", **{**options, **SEARCH}))
    outputs = [[row["output 1"] for row in read_predictions(folder)] for folder in (trained[0], tmp_path / "more")]
    assert outputs[0] == outputs[1]


def test_files_of_the_current_folder_are_not_run(files, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("open('run', 'w')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "model", **files, max_steps=1))
    assert not Path("run").exists()


def test_lora(trained, files, tmp_path):
    options = {**files, "model_name_or_path": trained[0], "lora_rank": 2, "max_steps": 2}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", output_dir=tmp_path / "lora", **options))
    (_, before), (_, after) = (load(folder, AutoModelForSeq2SeqLM) for folder in (trained[0], tmp_path / "lora"))
    weights = after.state_dict()
    assert weights.keys() == before.state_dict().keys()
    assert any(not torch.equal(weights[name], value) for name, value in before.state_dict().items())


@pytest.mark.parametrize("tags", [None, "V;PL"])
def test_sources_of_any_characters(tmp_path, tags):
    """A run's data break nothing that it does with them: scores, tables, the command that it prints."""
    sources = ["a\nb", "a\tb", "-h \x00'$(ls)", "\u2028\r\n é\u0301", "  a  b ", '"a\\n"']
    rows = [{"source": source, "target": source.upper(), **({"tags": tags} if tags else {})} for source in sources]
    data = write_jsonl(tmp_path / "pairs.jsonl", rows)
    options = {"train_file": data, "validation_file": data, "max_steps": 2, "output_dir": tmp_path / "model"}
    done = run_recipe("seq2seq", tmp_path, *tiny("seq2seq", **options))
    assert [row["source"] for row in read_predictions(tmp_path / "model")] == sources
    printed = done.stdout.split("\n")
    (command,) = [line.removeprefix("$ ") for line in printed if line.startswith("$ atenta predict")]
    arguments = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    assert arguments[-2] in [source + (f"\t{tags}" if tags else "") for source in sources]
    again = subprocess.run(
        [sys.executable, "-m", "atenta", *arguments[1:-1]], check=True, capture_output=True, text=True
    ).stdout
    assert printable(again).removesuffix("\n") == done.stdout.split(f"$ {command}\n")[1].removesuffix("\n")


def test_scores_by_length_and_with_letters_kept(tmp_path, capsys):
    words = ["nao", "e so", "acao e reacao em serie", "a"]
    marked = ["não", "é só", "ação e reação em série", "a"]
    data = write_lines(tmp_path / "pairs.tsv", *("\t".join(pair) for pair in zip(words, marked)))
    options = {"train_file": data, "validation_file": data, "max_steps": 2, "output_dir": tmp_path / "model"}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", **options, metrics=["word_accuracy", "letters_kept"]))
    metrics = read_metrics(tmp_path / "model")
    assert metrics["test"]["model, letters kept"]["letters_kept"] == 1
    assert metrics["test"]["model"]["letters_kept"] < 1
    by_length = metrics["by_length"]
    assert {length: of_range["texts"] for length, of_range in by_length.items()} == {"1–10": 3, "21–40": 1}
    assert by_length["21–40"]["left as it is"]["word_accuracy"] == pytest.approx(2 / 5)
    printed = capsys.readouterr().out
    assert "word accuracy by number of characters" in printed
    assert (tmp_path / "model" / "scores_by_length.png").read_bytes().startswith(b"\x89PNG")
    config = load(tmp_path / "model", AutoModelForSeq2SeqLM)[1].config
    assert config.window_length == len("acao e reacao em serie") + 1
    assert config.length_ratios == [1.0, 1.0]


def test_units_and_several_right_targets(tmp_path):
    """A word of the test with two pronunciations is one word, and either is right."""
    rows = ["casa\tk a z ɐ", "chá\tʃ a", "tia\tt͡ʃ i ɐ", "tia\tt i ɐ"]
    data = write_lines(tmp_path / "pairs.tsv", *rows)
    options = {"train_file": data, "validation_file": data, **LEARNING, "max_steps": 120, "learning_rate": 1e-2}
    options |= {"target_separator": " ", "several_targets": True, "metrics": ["exact_match", "phone_error_rate"]}
    options["metric_for_best_model"] = "exact_match"
    run_here("seq2seq", tmp_path, *tiny("seq2seq", **options, output_dir=tmp_path / "model"))
    tokenizer, _ = load(tmp_path / "model", AutoModelForSeq2SeqLM)
    assert tokenizer("t͡ʃ i ɐ").input_ids == tokenizer.convert_tokens_to_ids(["t͡ʃ", " i", " ɐ", "<eos>"])
    found = read_predictions(tmp_path / "model")
    assert [row["source"] for row in found] == ["casa", "chá", "tia"]
    assert found[2]["output 1"] in ("t͡ʃ i ɐ", "t i ɐ")
    assert read_metrics(tmp_path / "model")["test"]["model"] == {"exact_match": 1.0, "phone_error_rate": 0.0}


def test_hallucinated_rows_are_trained_on_and_not_looked_up(tmp_path, capsys):
    verbs = [f"{stem}ar\t{stem}ava\tV;PST" for stem in ("cant", "lembr", "mostr", "sond", "girass", "perdo")]
    data = write_lines(tmp_path / "verbs.tsv", *verbs)
    options = {"train_file": data, "validation_file": data, "max_steps": 2, "output_dir": tmp_path / "model"}
    run_here("seq2seq", tmp_path, *tiny("seq2seq", **options, hallucinated_rows=20))
    assert "26" in next(line for line in capsys.readouterr().out.splitlines() if line.startswith("rows"))
    assert read_metrics(tmp_path / "model")["test"]["most frequent in training"]["exact_match"] == 1
    data = write_lines(tmp_path / "verb.tsv", "ser\tfui\tV;PST", "ir\tfui\tV;PST")
    options |= {"train_file": data, "validation_file": data, "output_dir": tmp_path / "other"}
    message = refusal("seq2seq", tmp_path, *tiny("seq2seq", **options, hallucinated_rows=20))
    assert "--hallucinated_rows 20: None of the 2 training pairs has a stem" in message


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
    assert_reported(done, folder)
    assert_complete(folder, "AutoModelForSeq2SeqLM", BASELINES)
    rows = read_predictions(folder)
    assert [row["gold"] for row in rows] == verse
    for row in rows:
        kept = len(row["source"].replace("<mask>", ""))
        assert "<mask>" in row["source"]
        assert kept == len(row["gold"]) - round(0.2 * len(row["gold"]))


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
        (["--train_file", "x.tsv", "--validation_file", "x.tsv"], "x.tsv: No such file or directory"),
        (["--sample", "nothing"], "--sample of accents, novels"),
        (["--model_name_or_path", "nowhere/nothing"], "--model_name_or_path nowhere/nothing"),
        (
            ["--denoising", "--several_targets", "--tags_with_positions"],
            "--several_targets and --tags_with_positions: ",
        ),
        (["--denoising", "--keep_letters", "true"], "--keep_letters: about pairs"),
        (["--noise_density", 0.5], "--noise_density: about masked texts"),
        (["--metric_for_best_model", "f1"], "--metric_for_best_model f1: expected one of loss, word_accuracy"),
    ],
)
def test_options_refused_before_training(arguments, message, files, tmp_path):
    data = [] if {"--train_file", "--sample"} & set(arguments) else tiny("seq2seq", **files)
    assert message in refusal("seq2seq", tmp_path, *data, *arguments)


def test_validation_data_are_required(files, tmp_path):
    reason = refusal("seq2seq", tmp_path, "--train_file", files["train_file"])
    assert reason.startswith("Give both --train_file and --validation_file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num_beams", "2", "--num_return_sequences", "3"], "asks for more outputs than --num_beams 2"),
        (["--metrics", "wer"], "--metrics wer: expected some of accuracy"),
        (["--num_beams", "0"], "--num_beams 0: expected 1 or more"),
        (["--num_return_sequences", "0"], "--num_return_sequences 0: expected 1 or more"),
        (["--num_return_sequences=-1"], "--num_return_sequences -1: expected 1 or more"),
        (["--max_eval_samples", "0"], "--max_eval_samples 0: expected 1 or more"),
        (["--input_mask_probability", "1"], "--input_mask_probability 1.0: expected a number from 0 up to"),
        (["--decoder_mask_probability", "1"], "--decoder_mask_probability 1.0: expected a number from 0 up to"),
        (["--noise_density", "nan"], "--noise_density nan: expected a number above 0 and below 1"),
        (["--noise_density", "1"], "--noise_density 1.0: expected a number above 0 and below 1"),
        (["--mean_span_length", "inf"], "--mean_span_length inf: expected 1 or more"),
        (["--hidden_size", "30", "--num_attention_heads", "4"], "does not divide hidden_size=30"),
        (["--lora_rank", "2", "--average_last_checkpoints", "1"], "--lora_rank and an average exclude each other"),
        (["--metrics", "exact_match", "tag_accuracy"], "--metrics tag_accuracy: expected some of accuracy, macro_f1"),
        (["--metrics", "squad"], "--metrics squad: expected"),
        (["--metrics", "chrf", "chrf"], "each of them once"),
        (["--streaming"], "--streaming reads rows in their order, of any lengths: give --max_tokens_per_batch null"),
        (["--streaming", "--max_steps=-1"], "--streaming reads rows without end: give --max_steps"),
        (["--optim", "adamw_bnb_8bit"], "--optim adamw_bnb_8bit: You need to install"),
        (["--optim", "adamw_torch", "--optim_args", "fast"], "with --optim_args fast: not enough values"),
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
    assert printed.count("\nmost frequent in training") == 1
    assert_complete(folder, "AutoModelForSeq2SeqLM", BASELINES_OF_WORDS)
    rows = read_predictions(folder)
    assert [(row["source"], row["gold"]) for row in rows] == [row[:2] for row in TEST]
    assert read_metrics(folder)["test"]["model"]["exact_match"] == pytest.approx(exact_match(rows))
    again = [each["generated_text"] for ranked in decode_again(folder) for each in ranked]
    assert again == [row[f"output {number}"] for row in rows for number in (1, 2)]
