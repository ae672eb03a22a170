"""Pre-training of an encoder end to end, and fine-tuning of the encoder for each task."""

import math
import re
from collections import Counter

import datasets
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForPreTraining

from atenta import AtentaDecoderForCausalLM
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
    write_jsonl,
    write_lines,
)
from support.saved import save_with_tokenizer

SENTENCES = ["Ora direis ouvir estrelas", "Certo perdeste o senso", "E eu vos direi no entanto", "que para ouvi-las"]
DOCUMENT = "\n".join(SENTENCES)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Texts as parquet, txt and tsv."""
    folder = tmp_path_factory.mktemp("texts")
    datasets.Dataset.from_list([{"text": DOCUMENT}] * 8).to_parquet(folder / "train.parquet")
    return {
        "train_file": folder / "train.parquet",
        "validation_file": write_lines(folder / "validation.txt", *SENTENCES),
        "test_file": write_lines(folder / "test.txt", *SENTENCES[::-1], *SENTENCES),
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, "max_length": 64, "output_dir": folder / "model"}
    return folder / "model", run_recorded("pretrain_masked", folder, *tiny("pretrain_masked", **options))


def test_printed_data_progress_and_scores(trained):
    assert_reported(trained[1], trained[0])


def test_the_output_folder(trained):
    assert_complete(trained[0], "AutoModelForPreTraining", {"most frequent"})


def test_the_baseline_counted_by_hand(trained):
    scores = read_metrics(trained[0])["test"]
    for row in scores.values():
        assert 0 <= row["masked_accuracy"] <= 1
        assert 0 <= row["next_sentence_accuracy"] <= 1
    text = "\n".join([*SENTENCES[::-1], *SENTENCES])
    counts = Counter(DOCUMENT * 8)
    most = counts.most_common(1)[0][0]
    assert scores["most frequent"]["masked_accuracy"] == pytest.approx(text.count(most) / len(text))
    total = counts.total() + len(counts) + 1
    bits = -sum(math.log2((counts[character] + 1) / total) for character in text) / len(text)
    assert scores["most frequent"]["bits_per_masked_character"] == pytest.approx(bits)


def test_the_saved_model_fills_masks(trained):
    tokenizer, model = load(trained[0], AutoModelForMaskedLM)
    pretrained = AutoModelForPreTraining.from_pretrained(trained[0]).eval()
    inputs = tokenizer("Ora d<mask>reis", return_tensors="pt")
    assert (inputs.input_ids == tokenizer.mask_token_id).sum() == 1
    with torch.no_grad():
        assert torch.allclose(model(**inputs).logits, pretrained(**inputs).prediction_logits, atol=1e-6)


def test_training_a_saved_model(trained, files, tmp_path):
    options = {**files, "max_length": 64, "model_name_or_path": trained[0], "max_steps": 1, "learning_rate": 1e-12}
    run_here("pretrain_masked", tmp_path, *tiny("pretrain_masked", output_dir=tmp_path / "more", **options))
    before, after = (read_metrics(folder)["test"]["model"] for folder in (trained[0], tmp_path / "more"))
    assert after == pytest.approx(before, rel=1e-3)


TASKS = {
    "finetune_classification": [{"text": "direis", "label": "verbo"}, {"text": "estrelas", "label": "nome"}],
    "finetune_tagging": [{"words": ["Ora", "direis"], "tags": ["ADV", "VERB"]}],
    "finetune_qa": [
        {
            "id": "1",
            "context": "Certo perdeste o senso",
            "question": "O que?",
            "answers": {"text": ["o senso"], "answer_start": [15]},
        }
    ],
}


SCORES = {"finetune_classification": "accuracy", "finetune_tagging": "tag_accuracy", "finetune_qa": "f1"}


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize("name", TASKS)
def test_fine_tuning_starts_from_the_encoder(trained, tmp_path, name, lora):
    """A tiny learning rate leaves the pre-trained weights unchanged."""
    rows = write_jsonl(tmp_path / "rows.jsonl", TASKS[name])
    options = {"train_file": rows, "validation_file": rows, "model_name_or_path": trained[0], "max_length": 64}
    options |= {"max_steps": 1, "learning_rate": 1e-12, "metric_for_best_model": SCORES[name]}
    options |= {"stride": 8} if name == "finetune_qa" else {}
    options |= {"lora_rank": 2} if lora else {}
    run_here(name, tmp_path, *tiny(name, output_dir=tmp_path / "tuned", **options))
    assert len(read_predictions(tmp_path / "tuned")) == len(TASKS[name])
    before = load(trained[0], AutoModelForPreTraining)[1].base_model.state_dict()
    after = load(tmp_path / "tuned", AutoModel)[1].state_dict()
    for weight in (weight for weight in before if not weight.startswith("pooler.")):
        assert torch.allclose(before[weight], after[weight], atol=1e-6), weight


def test_a_malformed_row_is_named_by_file_and_line(files, tmp_path):
    bad = write_jsonl(tmp_path / "bad.jsonl", [{"text": DOCUMENT}, {"text": 3}])
    reason = refusal("pretrain_masked", tmp_path, "--train_file", bad, "--validation_file", files["validation_file"])
    assert reason.startswith(f"{bad}, line 2: found 3 (int) as the text")


def test_a_decoder_is_refused(files, tmp_path):
    """It has a head of its own for pre-training."""
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "other")
    arguments = [part for name, path in files.items() for part in (f"--{name}", path)]
    reason = refusal("pretrain_masked", tmp_path, *arguments, "--model_name_or_path", tmp_path / "other")
    assert reason.endswith("found a model of type atenta_decoder; expected atenta_encoder")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("mlm_probability", "nan", "a number above 0 and below 1"),
        ("mlm_probability", "0", "a number above 0 and below 1"),
        ("whole_word_probability", "1.5", "a number from 0 to 1"),
    ],
)
def test_shares_out_of_range_are_refused_by_the_command_line(name, value, expected, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here("pretrain_masked", tmp_path, f"--{name}", value)
    assert re.search(rf"--{name} {value}\S*: expected {expected}\n", capsys.readouterr().err)


def test_words_runs_of_words_and_neighbours(files, tmp_path):
    options = {
        "max_length": 64,
        "num_words": 5,
        "mean_span_words": 2,
        "ngram_sizes": [2, 3],
        "ngram_buckets": 64,
        "conv_kernel_size": 3,
    }
    run_here("pretrain_masked", tmp_path, *tiny("pretrain_masked", **files, **options, output_dir=tmp_path / "model"))
    _, model = load(tmp_path / "model", AutoModelForPreTraining)
    assert model.word_head.out_features == 5
    assert model.model.ngrams.table.num_embeddings == 2 * 64
    assert model.model.convolution.neighbours.kernel_size == (3,)
    assert read_metrics(tmp_path / "model")["test"]["model"]["bits_per_masked_character"] > 0
