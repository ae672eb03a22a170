"""Pre-training: what its scores count, and what the models can be used for."""

import math
import re
from collections import Counter

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
)

from atenta import AtentaPairVotesForCausalLM, load_engine
from atenta.recipes.reading.records import printable
from support.models import nats_at_once
from support.recipe_cases import CASES, TEST_VERSES, VERSES, refused_files, write_files
from support.recipes import (
    arguments,
    assert_complete,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    tiny,
    write_lines,
)
from support.saved import save_with_tokenizer


def test_masked_texts_keep_all_that_is_not_masked(trained):
    for row in read_predictions(trained("pretrain_denoising").folder):
        assert "<mask>" in row["source"]
        assert len(row["source"].replace("<mask>", "")) == len(row["gold"]) - round(0.2 * len(row["gold"]))


def test_texts_have_no_tags(tmp_path):
    reason = refusal("pretrain_denoising", tmp_path, "--tags_with_positions", "true")
    assert reason.startswith("--tags_with_positions: ")


def test_the_baseline_of_masked_characters_counted_by_hand(trained):
    scores = read_metrics(trained("pretrain_masked").folder)["test"]
    for row in scores.values():
        assert 0 <= row["masked_accuracy"] <= 1
        assert 0 <= row["next_sentence_accuracy"] <= 1
    text = "\n".join([*VERSES[::-1], *VERSES])
    counts = Counter("\n".join(VERSES) * 8)
    most = counts.most_common(1)[0][0]
    assert scores["most frequent"]["masked_accuracy"] == pytest.approx(text.count(most) / len(text))
    total = counts.total() + len(counts) + 1
    bits = -sum(math.log2((counts[character] + 1) / total) for character in text) / len(text)
    assert scores["most frequent"]["bits_per_masked_character"] == pytest.approx(bits)


def test_the_encoder_fills_masks(trained):
    folder = trained("pretrain_masked").folder
    tokenizer, model = load(folder, AutoModelForMaskedLM)
    pretrained = AutoModelForPreTraining.from_pretrained(folder).eval()
    inputs = tokenizer("Ora d<mask>reis", return_tensors="pt")
    assert (inputs.input_ids == tokenizer.mask_token_id).sum() == 1
    with torch.no_grad():
        assert torch.allclose(model(**inputs).logits, pretrained(**inputs).prediction_logits, atol=1e-6)


def test_texts_without_a_neighbour_are_no_pairs(tmp_path):
    short = {name: write_lines(tmp_path / f"{name}.txt", "Ora") for name in ("train_file", "validation_file")}
    reason = refusal("pretrain_masked", tmp_path, *arguments(**short, sample_by="line"))
    assert "--max_length" in reason
    assert reason.startswith("train: ")


def test_words_runs_of_words_and_neighbours(tmp_path):
    options = {"max_length": 64, "num_words": 5, "mean_span_words": 2}
    options |= {"ngram_sizes": [2, 3], "ngram_buckets": 64, "conv_kernel_size": 3, "output_dir": tmp_path / "model"}
    files = write_files(CASES["pretrain_masked"], tmp_path)
    run_here("pretrain_masked", tmp_path, *tiny("pretrain_masked", **files, **options))
    _, model = load(tmp_path / "model", AutoModelForPreTraining)
    assert model.word_head.out_features == 5
    assert model.model.ngrams.table.num_embeddings == 2 * 64
    assert model.model.convolution.neighbours.kernel_size == (3,)
    assert read_metrics(tmp_path / "model")["test"]["model"]["bits_per_masked_character"] > 0


def test_the_score_of_packed_texts_is_that_of_single_ones_and_a_sample_is_shown(trained):
    """Each text fits in a row, so packing must not change its score."""
    run = trained("pretrain_causal")
    tokenizer, model = load(run.folder, AutoModelForCausalLM)
    nats = nats_at_once(model, [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in TEST_VERSES])
    scores = read_metrics(run.folder)["test"]
    characters = len("\n".join(TEST_VERSES))
    assert scores["model"]["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-4)
    uniform = math.log2(len(set("".join(VERSES))) + 1)
    assert scores["uniform characters"]["bits_per_character"] == pytest.approx(uniform)
    sample = (run.folder / "sample.txt").read_text(encoding="utf-8")
    assert sample in run.done.stdout
    assert sample.startswith("Ora ")
    assert len("Ora ") < len(sample) <= len("Ora ") + 20
    start = TEST_VERSES[0][:30]
    command = rf"\n\$ atenta predict {run.folder} --max_new_tokens (\d+) '(.*)'\n(.*)\Z"
    length, prompt, continued = re.search(command, run.done.stdout, re.DOTALL).groups()
    assert prompt == start
    engine = load_engine(run.folder, "torch")
    assert continued == printable(start + engine.generate(start, max_new_tokens=int(length))) + "\n"


def test_streamed_training_texts_are_not_cached(tmp_path):
    files = write_files(CASES["pretrain_causal"], tmp_path)
    options = {**files, "max_length": 32, "sample_by": "line", "output_dir": tmp_path / "model", "max_steps": 2}
    run_here("pretrain_causal", tmp_path, *tiny("pretrain_causal", **options), "--streaming")
    assert not list(tmp_path.glob("cache/generator/*/*/generator-train.arrow"))
    assert list(tmp_path.glob("cache/generator/*/*/generator-validation.arrow"))
    assert_complete(tmp_path / "model", "AutoModelForCausalLM", CASES["pretrain_causal"].baselines)


@pytest.mark.parametrize("kind", ["atenta_pair_votes", "gpt2"])
def test_a_model_without_the_options_of_ours_is_refused(kind, tmp_path):
    """They predict the next token too, but their configuration has no `dropout`, which recipes set."""
    if kind == "gpt2":
        GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=30)).save_pretrained(tmp_path / "other")
    else:
        save_with_tokenizer(AtentaPairVotesForCausalLM, tmp_path / "other")
    words = refused_files("pretrain_causal", tmp_path, model_name_or_path=tmp_path / "other")
    assert refusal("pretrain_causal", tmp_path, *words).endswith(
        f"found a model of type {kind}; expected atenta_decoder"
    )


def test_a_saved_encoder_predicts_as_many_words_as_before(trained, tmp_path):
    saved = trained("pretrain_masked").folder
    words = refused_files("pretrain_masked", tmp_path, model_name_or_path=saved, num_words=3)
    assert "the saved model predicts 0" in refusal("pretrain_masked", tmp_path, *words)
