"""Pairs of texts: n-best outputs, scores, texts of any characters, kept letters, several targets, invented pairs."""

import json
import re
import subprocess

import pytest
from transformers import AutoModelForSeq2SeqLM, pipeline

from atenta.recipes.reading.records import printable
from atenta.recipes.training.encoder_decoders import spread_over
from support.command import run
from support.recipe_cases import PAIRS, TEST_PAIRS
from support.recipes import (
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

NAME = "seq2seq"


@pytest.fixture
def run_pairs(tmp_path):
    """A function that trains two steps on pairs, with other options, and returns the output folder."""

    def run_pairs(*pairs, **options):
        data = write_lines(tmp_path / "pairs.tsv", *("\t".join(pair) for pair in pairs))
        files = {"train_file": data, "validation_file": data, "output_dir": tmp_path / "model", "max_steps": 2}
        run_here(NAME, tmp_path, *tiny(NAME, **files | options))
        return tmp_path / "model"

    return run_pairs


def test_predictions_are_the_best_outputs_of_the_saved_model_with_their_scores(trained):
    folder = trained(NAME).folder
    rows, scores = read_predictions(folder), read_metrics(folder)["test"]
    decode = pipeline("text2text-generation", str(folder), device="cpu", return_scores=True)
    sources = [f"{source}\t{tags}" for source, _, tags in TEST_PAIRS]
    again = [each for ranked in decode(sources, num_beams=3, num_return_sequences=2) for each in ranked]
    assert [each["generated_text"] for each in again] == [row[f"output {number}"] for row in rows for number in (1, 2)]
    found = [float(row[f"score {number}"]) for row in rows for number in (1, 2)]
    assert [each["score"] for each in again] == pytest.approx(found, abs=1e-3)
    right = sum(row["output 1"] == row["gold"] for row in rows) / len(rows)
    assert scores["model"]["exact_match"] == pytest.approx(right)
    assert 0 < right < 1
    assert scores["left as it is"]["exact_match"] == 0
    assert scores["most frequent in training"]["exact_match"] == pytest.approx(5 / 7)


def test_generation_is_not_cut_at_a_default_length(trained):
    generation = json.loads((trained(NAME).folder / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["max_length"] == 2 * len("V<3>\n")  # twice the longest target with its <eos>


def test_answers_may_be_as_long_as_those_of_training(run_pairs, tmp_path):
    folder = run_pairs(("a", "b" * 9), ("b", "a"), validation_file=write_lines(tmp_path / "short.tsv", "a\tb"))
    assert (
        json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))["max_length"] == len("b" * 9) + 1
    )


def test_the_best_checkpoint_may_be_that_of_a_metric_that_needs_the_sources(run_pairs, tmp_path):
    chosen = {"metrics": ["length_ratio", "copied"], "metric_for_best_model": "length_ratio", "num_beams": 1}
    folder = run_pairs(*PAIRS, test_file=tmp_path / "pairs.tsv", eval_steps=2, save_steps=2, **chosen)
    state = json.loads((folder / "checkpoint-2" / "trainer_state.json").read_text(encoding="utf-8"))
    assert state["best_metric"] == pytest.approx(read_metrics(folder)["test"]["model"]["length_ratio"])
    assert state["best_metric"] > 0


@pytest.mark.parametrize("most", [1, 2, 7, 100, None])
@pytest.mark.parametrize("rows", [1, 6, 100, 101])
def test_rows_of_validation_are_spread_over_a_sorted_file(rows, most):
    chosen = spread_over(rows, most).tolist()
    assert len(chosen) == min(rows, most or rows)
    assert chosen == sorted({*chosen})
    assert chosen[0] == 0
    assert len(chosen) == 1 or chosen[-1] == rows - 1


def test_sources_of_any_characters(tmp_path):
    """A run's data break nothing that it does with them: scores, tables, the command that it prints."""
    sources = ["a\nb", "a\tb", "-h \x00'$(ls)", "\u2028\r\n é\u0301", "  a  b ", '"a\\n"']
    data = write_jsonl(
        tmp_path / "pairs.jsonl", [{"source": each, "target": each.upper(), "tags": "V;PL"} for each in sources]
    )
    options = {"train_file": data, "validation_file": data, "max_steps": 2, "output_dir": tmp_path / "model"}
    done = run_recorded(NAME, tmp_path, *tiny(NAME, **options))
    assert [row["source"] for row in read_predictions(tmp_path / "model")] == sources
    (command,) = re.findall(r"^\$ (atenta predict .*?'V;PL')$", done.stdout, re.DOTALL | re.MULTILINE)
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    assert words[-2] in [f"{source}\tV;PL" for source in sources]
    again = run(*words[1:-1]).stdout
    assert printable(again).removesuffix("\n") == done.stdout.split(f"$ {command}\n")[1].removesuffix("\n")


def test_scores_by_length_and_with_letters_kept(run_pairs, capsys):
    words = ["nao", "e so", "acao e reacao em serie", "a"]
    marked = ["não", "é só", "ação e reação em série", "a"]
    folder = run_pairs(*zip(words, marked), metrics=["word_accuracy", "letters_kept"])
    metrics = read_metrics(folder)
    assert metrics["test"]["model, letters kept"]["letters_kept"] == 1
    assert metrics["test"]["model"]["letters_kept"] < 1
    by_length = metrics["by_length"]
    assert {length: of_range["texts"] for length, of_range in by_length.items()} == {"1–10": 3, "21–40": 1}
    assert by_length["21–40"]["left as it is"]["word_accuracy"] == pytest.approx(2 / 5)
    assert "word accuracy by number of characters" in capsys.readouterr().out
    assert (folder / "scores_by_length.png").read_bytes().startswith(b"\x89PNG")
    config = load(folder, AutoModelForSeq2SeqLM)[1].config
    assert config.window_length == len("acao e reacao em serie") + 1
    assert config.length_ratios == [1.0, 1.0]


def test_units_and_several_right_targets(run_pairs):
    """A word of the test with two pronunciations is one word, and either is right."""
    pairs = [("casa", "k a z ɐ"), ("chá", "ʃ a"), ("tia", "t͡ʃ i ɐ"), ("tia", "t i ɐ")]
    options = {"hidden_size": 32, "max_steps": 120, "eval_steps": 60, "save_steps": 60}
    options |= {"target_separator": " ", "several_targets": True, "metrics": ["exact_match", "phone_error_rate"]}
    folder = run_pairs(*pairs, **options, metric_for_best_model="exact_match")
    tokenizer, _ = load(folder, AutoModelForSeq2SeqLM)
    assert tokenizer("t͡ʃ i ɐ").input_ids == tokenizer.convert_tokens_to_ids(["t͡ʃ", " i", " ɐ", "<eos>"])
    found = read_predictions(folder)
    assert [row["source"] for row in found] == ["casa", "chá", "tia"]
    assert found[2]["output 1"] in ("t͡ʃ i ɐ", "t i ɐ")
    assert found[2]["gold"] == "t͡ʃ i ɐ | t i ɐ"
    assert read_metrics(folder)["test"]["model"] == {"exact_match": 1.0, "phone_error_rate": 0.0}


def test_the_example_of_the_card_is_of_the_alphabet(run_pairs, tmp_path):
    test = write_lines(tmp_path / "test.tsv", "ñu\tnu\tV;X", "vi\tver\tV;X")
    folder = run_pairs(("vi", "ver", "V;X"), ("vai", "ir", "V;X"), test_file=test)
    assert 'print(transform("vi\\tV;X")[0]["generated_text"])' in (folder / "README.md").read_text(encoding="utf-8")


def test_hallucinated_rows_are_trained_on_and_not_looked_up(run_pairs, tmp_path, capsys):
    stems = ("cant", "lembr", "mostr", "sond", "girass", "perdo")
    folder = run_pairs(*((f"{stem}ar", f"{stem}ava", "V;PST") for stem in stems), hallucinated_rows=20)
    assert "26" in next(line for line in capsys.readouterr().out.splitlines() if line.startswith("rows"))
    assert read_metrics(folder)["test"]["most frequent in training"]["exact_match"] == 1
    data = write_lines(tmp_path / "verb.tsv", "ser\tfui\tV;PST", "ir\tfui\tV;PST")
    reason = refusal(NAME, tmp_path, "--train_file", data, "--validation_file", data, "--hallucinated_rows", 20)
    assert "--hallucinated_rows 20: None of the 2 training pairs has a stem" in reason


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--num_beams", "2", "--num_return_sequences", "3"], "asks for more outputs than --num_beams 2"),
        (["--metrics", "wer"], "--metrics wer: expected some of accuracy"),
        (["--metrics", "chrf", "chrf"], "each of them once"),
        (["--streaming"], "--streaming reads rows of any lengths: give --max_tokens_per_batch null"),
        (["--streaming", "--max_steps=-1"], "--streaming reads rows without end: give --max_steps"),
        (
            ["--streaming", "--max_tokens_per_batch=null", "--eval_strategy=epoch", "--save_strategy=epoch"],
            "--eval_strategy steps, --save_strategy steps, --eval_steps and --save_steps",
        ),
        (["--optim", "adamw_bnb_8bit"], "--optim adamw_bnb_8bit: You need to install"),
        (["--optim", "adamw_torch", "--optim_args", "fast"], "with --optim_args fast: not enough values"),
        (["--denoising"], "--denoising; masked spans are restored by a recipe of their own, pretrain_denoising.py"),
        (["--config", "denoising.yaml"], "pretrain_denoising.py"),
    ],
)
def test_options_refused_by_the_command_line(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *words)
    assert message in capsys.readouterr().err
