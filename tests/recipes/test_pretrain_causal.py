"""Pre-training of a decoder end to end: packed rows, bits per character, a sample, streaming, LoRA."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from atenta import (
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaPairVotesForCausalLM,
)
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
from support.saved import save_with_tokenizer

VERSE = ["Ora direis ouvir estrelas", "Certo perdeste o senso", "E eu vos direi no entanto", "que para ouvi-las"]
TEST = ["muita vez desperto", "e abro as janelas pálido de espanto"]
BASELINES = {"uniform characters", "unigram characters", "6-gram characters"}
SAMPLE = {"prompt": "Ora ", "sample_length": 20}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        "train_file": write_lines(folder / "train.txt", *(line for verse in VERSE * 4 for line in (verse, ""))),
        "validation_file": write_jsonl(folder / "validation.jsonl", [{"text": verse} for verse in VERSE]),
        "test_file": write_lines(folder / "test.csv", "text", *TEST),
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **SAMPLE, "sample_by": "paragraph", "max_length": 128, "output_dir": folder / "model"}
    options["preprocessing_num_workers"] = 2
    return folder / "model", run_recorded("pretrain_causal", folder, *tiny("pretrain_causal", **options))


def test_printed_data_progress_scores_and_a_sample(trained):
    folder, done = trained
    assert_reported(done, folder)
    sample = (folder / "sample.txt").read_text(encoding="utf-8")
    assert sample in done.stdout
    assert sample.startswith("Ora ")
    assert len("Ora ") < len(sample) <= len("Ora ") + 20


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForCausalLM", BASELINES)


def test_the_score_is_that_of_single_texts(trained):
    """Each text fits in a row, so packing must not change its score."""
    folder, _ = trained
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = 0.0
    for text in TEST:
        ids = torch.tensor([[*tokenizer(text).input_ids, tokenizer.eos_token_id]])
        nats += cross_entropy(model(ids).logits[0, :-1], ids[0, 1:], reduction="sum").item()
    characters = len("\n".join(TEST))
    scores = read_metrics(folder)["test"]
    assert scores["model"]["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-4)
    uniform = math.log2(len(set("".join(VERSE))) + 1)
    assert scores["uniform characters"]["bits_per_character"] == pytest.approx(uniform)


def test_training_a_saved_model_with_lora(trained, files, tmp_path):
    options = {**files, "max_length": 128, "sample_by": "line", "model_name_or_path": trained[0], "lora_rank": 2}
    run_here("pretrain_causal", tmp_path, *tiny("pretrain_causal", output_dir=tmp_path / "more", **options))
    (_, before), (_, after) = (load(folder, AutoModelForCausalLM) for folder in (trained[0], tmp_path / "more"))
    # LoRA does not change the embeddings.
    assert torch.equal(before.get_input_embeddings().weight, after.get_input_embeddings().weight)
    weights = after.state_dict()
    assert weights.keys() == before.state_dict().keys()
    assert any(not torch.equal(weights[name], value) for name, value in before.state_dict().items())


def test_streamed_training_texts_are_not_cached(files, tmp_path):
    options = {**files, "max_length": 32, "sample_by": "line", "output_dir": tmp_path / "model", "max_steps": 2}
    run_here("pretrain_causal", tmp_path, *tiny("pretrain_causal", **options), "--streaming")
    assert not list(tmp_path.glob("cache/generator/*/*/generator-train.arrow"))
    assert list(tmp_path.glob("cache/generator/*/*/generator-validation.arrow"))
    assert_complete(tmp_path / "model", "AutoModelForCausalLM", BASELINES)


def test_a_malformed_line_is_named_by_file_and_line(files, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"um verso\n" + "cão\n".encode("latin-1"))
    reason = refusal("pretrain_causal", tmp_path, "--train_file", bad, "--validation_file", files["validation_file"])
    assert reason.startswith(f"{bad}, line 2: found")


def test_an_unknown_unit_is_refused_before_texts_are_read(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here("pretrain_causal", tmp_path, "--sample_by", "page", "--train_file", "nowhere.txt")
    assert "--sample_by page: expected document, paragraph, line or sentence" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model_class",
    [AtentaEncoderForMaskedLM, AtentaEncoderDecoderForConditionalGeneration, AtentaPairVotesForCausalLM],
)
def test_a_model_of_another_family_is_refused(model_class, files, tmp_path):
    save_with_tokenizer(model_class, tmp_path / "other")
    arguments = [part for name, path in files.items() for part in (f"--{name}", path)]
    reason = refusal("pretrain_causal", tmp_path, *arguments, "--model_name_or_path", tmp_path / "other")
    found = model_class.config_class.model_type
    assert (
        reason == f"--model_name_or_path {tmp_path / 'other'}: found a model of type {found}; expected atenta_decoder"
    )


def test_a_foreign_model_without_the_options_of_ours_is_refused(files, tmp_path):
    """Its configuration has no `dropout`, which recipes set."""
    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=30)).save_pretrained(tmp_path / "other")
    arguments = [part for name, path in files.items() for part in (f"--{name}", path)]
    reason = refusal("pretrain_causal", tmp_path, *arguments, "--model_name_or_path", tmp_path / "other")
    assert reason.endswith("found a model of type gpt2; expected atenta_decoder")


def test_a_sample_of_no_characters_is_refused_by_the_command_line(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here("pretrain_causal", tmp_path, "--sample_length", "0")
    assert "--sample_length 0: expected 1 or more" in capsys.readouterr().err
