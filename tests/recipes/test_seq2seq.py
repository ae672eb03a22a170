"""The recipe end to end, at a size that takes seconds: train, score, save, load in a fresh process, decode, go on."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY = [
    *("--hidden_size", "16", "--num_attention_heads", "2", "--intermediate_size", "32"),
    *("--encoder_layers", "1", "--decoder_layers", "1", "--max_steps", "4", "--eval_steps", "2", "--save_steps", "2"),
    *("--per_device_train_batch_size", "4", "--warmup_steps", "1", "--logging_steps", "1"),
]
ROWS = [("ser", "sou", "V;1;SG"), ("ver", "vês", "V;2;SG"), ("ir", "vão", "V;3;PL"), ("V<V>", "V<3>", "V;3;SG")]


def run(*command, check=True):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, cwd=ROOT, check=False)
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join("\t".join(row) + "\n" for row in ROWS * 4), encoding="utf-8")
    files = ("--train_file", pairs, "--validation_file", pairs, "--output_dir", folder / "model")
    return folder, run("recipes/seq2seq.py", *files, *TINY)


def test_it_shows_progress_scores_baselines_and_examples(trained):
    _, done = trained
    assert "16 train pairs, 16 validation pairs, 16 test pairs" in done.stdout
    assert all(row in done.stdout for row in ("left as it is", "most frequent in training", "model"))
    assert done.stdout.count("  gold    ") == 10
    assert "eval_word_accuracy" in done.stdout
    assert "4/4" in done.stderr  # the progress bar


def test_it_leaves_figures_predictions_a_picture_a_card_and_no_pickle(trained):
    folder, _ = trained
    files = {path.name for path in (folder / "model").iterdir()}
    assert {"model.safetensors", "tokenizer.json", "config.json", "generation_config.json", "README.md"} <= files
    assert {"learning_curve.png", "metrics.json", "predictions.tsv", "modeling_encoder_decoder.py"} <= files
    assert not [name for name in files if name.endswith((".bin", ".pt", ".pkl"))]
    metrics = json.loads((folder / "model" / "metrics.json").read_text(encoding="utf-8"))
    assert set(metrics["test"]) == {"left as it is", "most frequent in training", "model"}
    assert metrics["test"]["most frequent in training"]["exact_match"] == 1.0
    with (folder / "model" / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [(row["source"], row["gold"]) for row in rows] == [row[:2] for row in ROWS * 4]


def test_generation_is_not_cut_at_a_default_length(trained):
    folder, _ = trained
    generation = json.loads((folder / "model" / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["max_length"] == 2 * len("V<3>\n")  # twice the longest target with its <eos>


def test_decode_reads_tags_by_id_and_refuses_unknown_ones(trained):
    folder, _ = trained
    assert run("recipes/decode.py", folder / "model", "ser\tV;1;SG", "ver").stdout.count("\n") >= 2
    refused = run("recipes/decode.py", folder / "model", "ser\tADJ", check=False)
    assert refused.returncode
    assert "trained without the tag <ADJ>" in refused.stderr


def test_it_goes_on_from_a_saved_model(trained):
    folder, _ = trained
    files = ("--train_file", folder / "pairs.tsv", "--validation_file", folder / "pairs.tsv")
    again = run(
        "recipes/seq2seq.py", *files, *TINY, "--output_dir", folder / "more", "--model_name_or_path", folder / "model"
    )
    assert "A fresh process loads it and decodes these ten alike" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train_file", "x.tsv"], "Give both --train_file and --validation_file"),
        (["--hidden_size", "15"], "does not divide hidden_size=15"),
        (["--hiden_size", "16"], "--hiden_size"),
    ],
)
def test_wrong_options_end_it_before_any_training(arguments, message, tmp_path):
    done = run("recipes/seq2seq.py", "--output_dir", tmp_path, *arguments, check=False)
    assert done.returncode
    assert message in done.stderr


def test_a_malformed_row_ends_it_with_file_and_line(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\nno tab here\n", encoding="utf-8")
    done = run("recipes/seq2seq.py", "--train_file", pairs, "--validation_file", pairs, check=False)
    assert done.returncode
    assert "pairs.tsv, line 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_decode_says_in_a_line_that_there_is_no_such_model(tmp_path):
    refused = run("recipes/decode.py", tmp_path / "nothing", "a", check=False)
    assert refused.returncode
    assert "nothing is no folder with a model" in refused.stderr
    assert "Traceback" not in refused.stderr
