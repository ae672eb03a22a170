"""Prompts and answers end to end, from a data set in a folder, and from a pre-trained decoder."""

import json
import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from support.recipes import (
    assert_complete,
    assert_reported,
    load,
    read_metrics,
    refusal,
    run_here,
    run_recorded,
    tiny,
    write_jsonl,
    write_lines,
)

NAME = "finetune_generation"
ROWS = [("Bom dia!", "Bom dia, senhor."), ("Quem é?", "Sou eu."), ("Vens?", "Já vou!")]
TEST = [*ROWS, ("Boa noite!", "Até amanhã.")]
BASELINES = {"uniform characters", "unigram characters", "6-gram characters"}


def as_dicts(rows):
    return [{"prompt": prompt, "answer": answer} for prompt, answer in rows]


@pytest.fixture(scope="module")
def folder_of_data(tmp_path_factory):
    """A folder with three splits that `load_dataset` reads."""
    folder = tmp_path_factory.mktemp("data")
    write_jsonl(folder / "train.jsonl", as_dicts(ROWS * 4))
    write_jsonl(folder / "validation.jsonl", as_dicts(ROWS))
    write_jsonl(folder / "test.jsonl", as_dicts(TEST))
    return folder


@pytest.fixture(scope="module")
def trained(folder_of_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    arguments = tiny(NAME, dataset_name=folder_of_data, max_length=64, output_dir=folder / "model")
    return folder / "model", run_recorded(NAME, folder, *arguments)


def test_printed_data_progress_scores_and_answers(trained):
    folder, done = trained
    assert_reported(done, folder)
    for prompt, answer in TEST:
        assert f"\n{prompt}\n" in done.stdout
        assert f"\n  (in the data: {answer})\n" in done.stdout


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForCausalLM", BASELINES)


def test_the_score_is_that_of_single_answers(trained):
    folder, _ = trained
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = 0.0
    for prompt, answer in TEST:
        ids = torch.tensor([[*tokenizer(f"{prompt}\n{answer}").input_ids, tokenizer.eos_token_id]])
        first = len(tokenizer(f"{prompt}\n").input_ids)
        with torch.no_grad():
            nats += cross_entropy(model(ids).logits[0, first - 1 : -1], ids[0, first:], reduction="sum").item()
    characters = sum(len(answer) for _, answer in TEST)
    found = read_metrics(folder)["test"]["model"]
    assert found["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-4)
    assert found["character_perplexity"] == pytest.approx(math.exp(nats / characters), rel=1e-3)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    texts = write_lines(folder / "texts.txt", "Quem é? Bom dia, senhor. Já vou! Sou eu, até amanhã.")
    options = {"train_file": texts, "validation_file": texts, "max_length": 64, "output_dir": folder / "model"}
    run_here("pretrain_causal", folder, *tiny("pretrain_causal", **options))
    return folder / "model"


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_training_a_pre_trained_decoder(pretrained, tmp_path, lora):
    """A tiny learning rate leaves the pre-trained weights unchanged, a larger one changes them."""
    rows = write_jsonl(tmp_path / "rows.jsonl", as_dicts(ROWS))
    options = {"train_file": rows, "validation_file": rows, "max_length": 64, "model_name_or_path": pretrained}
    options |= {"optim": "adamw_torch_fused"} | ({"lora_rank": 2} if lora else {})
    before, bits = load(pretrained, AutoModelForCausalLM)[1].state_dict(), []
    for rate in (1e-12, 0.05):
        folder = tmp_path / str(rate)
        run_here(NAME, tmp_path, *tiny(NAME, **options, output_dir=folder, learning_rate=rate))
        after = load(folder, AutoModelForCausalLM)[1].state_dict()
        assert before.keys() == after.keys()
        assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before) is (rate < 1e-6)
        bits.append(read_metrics(folder)["test"]["model"]["bits_per_character"])
    assert bits[1] < bits[0]


def test_a_malformed_row_of_a_data_set_is_named_by_its_number(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write_jsonl(data / "train.jsonl", [*as_dicts(ROWS), {"prompt": " ", "answer": "Sim."}])
    write_jsonl(data / "validation.jsonl", as_dicts(ROWS))
    reason = refusal(NAME, tmp_path, "--dataset_name", data)
    assert reason.startswith(f"{data}, split train, row 4: found an empty prompt")


def test_a_row_that_is_too_long_is_refused_before_training(folder_of_data, tmp_path):
    reason = refusal(NAME, tmp_path, "--dataset_name", folder_of_data, "--max_length", 26)
    assert "found 27 tokens in the prompt 'Bom dia!'" in reason


def test_a_table_with_other_columns_is_refused(tmp_path):
    table = write_lines(tmp_path / "rows.jsonl", json.dumps({"question": "Vens?", "answer": "Já vou!"}))
    reason = refusal(NAME, tmp_path, "--train_file", table, "--validation_file", table)
    assert "expected a JSON object with prompt, answer" in reason


def test_the_decoder_of_the_sample_is_missed_before_the_data_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    default = ("--model_name_or_path", "outputs/pretrain_causal", "--train_file", tmp_path / "nothing.tsv")
    reason = refusal(NAME, tmp_path, *default)
    assert reason.startswith("--model_name_or_path outputs/pretrain_causal: found no config.json")
    assert "`python recipes/pretrain_causal.py` saves one there" in reason
