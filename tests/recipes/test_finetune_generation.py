"""Prompts and answers, end to end, from a data set in a folder, and from a decoder that was pre-trained."""

import json
import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from support.recipes import (
    assert_complete,
    assert_told,
    load,
    read_metrics,
    refusal,
    run_here,
    run_recipe,
    tiny,
    write_jsonl,
    write_lines,
)

NAME = "finetune_generation"
ROWS = [("Bom dia!", "Bom dia, senhor."), ("Quem é?", "Sou eu."), ("Vens?", "Já vou!")]
TEST = [*ROWS, ("Boa noite!", "Até amanhã.")]
BASELINES = {"uniform characters", "unigram characters"}


def as_dicts(rows):
    return [{"prompt": prompt, "answer": answer} for prompt, answer in rows]


@pytest.fixture(scope="module")
def folder_of_data(tmp_path_factory):
    """A folder with three splits, as `load_dataset` reads it."""
    folder = tmp_path_factory.mktemp("data")
    write_jsonl(folder / "train.jsonl", as_dicts(ROWS * 4))
    write_jsonl(folder / "validation.jsonl", as_dicts(ROWS))
    write_jsonl(folder / "test.jsonl", as_dicts(TEST))
    return folder


@pytest.fixture(scope="module")
def trained(folder_of_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    arguments = tiny(NAME, dataset_name=folder_of_data, max_length=64, output_dir=folder / "model")
    return folder / "model", run_recipe(NAME, folder, *arguments)


def test_it_shows_data_progress_scores_and_answers(trained):
    folder, done = trained
    assert_told(done, folder)
    for prompt, answer in TEST:
        assert f"\n{prompt}\n" in done.stdout
        assert f"\n  (in the data: {answer})\n" in done.stdout


def test_it_leaves_a_folder_that_is_complete(trained):
    assert_complete(trained[0], "AutoModelForCausalLM", BASELINES)


def test_its_score_is_what_the_saved_model_gives_each_answer_by_itself(trained):
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


@pytest.mark.parametrize("lora", [False, True], ids=["whole", "lora"])
def test_it_goes_on_from_a_decoder_that_was_pre_trained(tmp_path, lora):
    """A step too small to be seen leaves the score of the model that was pre-trained; a larger one changes it."""
    texts = write_lines(tmp_path / "texts.txt", "Quem é? Bom dia, senhor. Já vou! Sou eu, até amanhã.")
    options = {"train_file": texts, "validation_file": texts, "max_length": 64, "output_dir": tmp_path / "pretrained"}
    run_here("pretrain_causal", tmp_path, *tiny("pretrain_causal", **options))
    rows = write_jsonl(tmp_path / "rows.jsonl", as_dicts(ROWS))
    options |= {"train_file": rows, "validation_file": rows, "model_name_or_path": tmp_path / "pretrained"}
    options |= {"lora_rank": 2} if lora else {}
    for name, rate in (("as it was", 1e-12), ("changed", 0.05)):
        run_here(NAME, tmp_path, *tiny(NAME, **{**options, "output_dir": tmp_path / name, "learning_rate": rate}))
    before, same, changed = (
        load(tmp_path / name, AutoModelForCausalLM)[1].state_dict() for name in ("pretrained", "as it was", "changed")
    )
    assert before.keys() == same.keys() == changed.keys()
    assert all(torch.allclose(before[name], same[name], atol=1e-6) for name in before)
    assert not all(torch.allclose(before[name], changed[name], atol=1e-3) for name in before)
    scores = [
        read_metrics(tmp_path / name)["test"]["model"]["bits_per_character"] for name in ("as it was", "changed")
    ]
    assert scores[1] < scores[0]


def test_a_malformed_row_of_a_data_set_stops_it_with_its_number(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write_jsonl(data / "train.jsonl", [*as_dicts(ROWS), {"prompt": " ", "answer": "Sim."}])
    write_jsonl(data / "validation.jsonl", as_dicts(ROWS))
    told = refusal(NAME, tmp_path, "--dataset_name", data)
    assert told.startswith(f"{data}, split train, row 4: found an empty prompt")


def test_a_row_that_is_too_long_stops_it_before_training(folder_of_data, tmp_path):
    told = refusal(NAME, tmp_path, "--dataset_name", folder_of_data, "--max_length", 26)
    assert "found 27 tokens in the prompt 'Bom dia!'" in told


def test_a_table_without_the_columns_is_refused(tmp_path):
    table = write_lines(tmp_path / "rows.jsonl", json.dumps({"question": "Vens?", "answer": "Já vou!"}))
    told = refusal(NAME, tmp_path, "--train_file", table, "--validation_file", table)
    assert "expected a JSON object with prompt, answer" in told
