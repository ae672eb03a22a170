"""Embeddings: pairs of each kind, what is compared, and search with the saved folder."""

import json
import shutil

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from atenta import load_engine
from atenta.engines.onnx_export import export_onnx
from atenta.recipes.retrieval import (
    ALL,
    COMBINATIONS,
    COMBINED,
    NGRAMS,
    SIZES,
    SPELLINGS,
    WEIGHTS,
    LabelledQuery,
    embed,
)
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.train_embeddings import EmbeddingArguments, add_hard_negatives, compare_searches
from support.recipe_cases import NAMES, TEST_NAMES, misspelt, refused_files
from support.recipes import load, read_metrics, read_predictions, refusal, run_here, run_recorded, tiny, write_lines

NAME = "train_embeddings"
PASSAGES = [*NAMES, "machado", *TEST_NAMES]


def test_what_is_searched_and_found(trained):
    run = trained(NAME)
    assert not (run.folder / "eval").exists()
    metrics, rows = read_metrics(run.folder), read_predictions(run.folder)
    assert metrics["card"]["rows"]["train"] == len(misspelt(NAMES))  # no sample is added
    assert metrics[WEIGHTS].keys() == COMBINATIONS.keys()
    assert "chosen on 7 validation queries" in run.done.stdout  # of one name
    evaluations = [entry for entry in metrics["training"] if "eval_loss" in entry]
    assert [entry["step"] for entry in evaluations] == [2, 4]
    assert all(0 < entry["eval_mean_reciprocal_rank"] <= 1 for entry in evaluations)
    assert all(entry["eval_recall@10"] >= entry["eval_recall@1"] for entry in evaluations)
    assert {row["output"] for row in rows} <= {*PASSAGES}
    right = np.mean([row["output"] == row["gold"] for row in rows])
    assert right == pytest.approx(metrics["test"][COMBINED]["recall@1"])


def test_sentence_transformers_search_and_onnx_files_give_the_same_vectors(trained, tmp_path):
    folder = shutil.copytree(trained(NAME).folder, tmp_path / "model")
    tokenizer, model = load(folder, AutoModel)
    expected = embed(model, tokenizer, NAMES, batch_size=3)
    found = SentenceTransformer(str(folder), device="cpu").encode(NAMES, normalize_embeddings=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    export_onnx(folder)
    outputs = load_engine(folder, "onnx").predict(NAMES)
    means = np.stack([each["last_hidden_state"].mean(0) for each in outputs])
    np.testing.assert_allclose(means / np.linalg.norm(means, axis=1, keepdims=True), expected, atol=1e-5)


def test_search_finds_what_was_found_after_training(trained, tmp_path, capsys):
    folder = trained(NAME).folder
    (tmp_path / "texts").mkdir()
    write_lines(tmp_path / "texts" / "names.txt", *PASSAGES)
    asked = (f"{wrong}\tnames.txt:{PASSAGES.index(name) + 1}" for wrong, name in misspelt(TEST_NAMES))
    queries = write_lines(tmp_path / "queries.tsv", *asked)
    words = ("--text_folder", tmp_path / "texts", "--sample_by", "line", "--model_name_or_path", folder)
    words += ("--queries_file", queries, "--output_dir", tmp_path / "index")
    run_here("search", tmp_path, *words)
    found, expected = read_metrics(tmp_path / "index"), read_metrics(folder)
    assert list(found["test"]) == list(expected["test"])
    assert found["test"] == expected["test"]
    assert (found[WEIGHTS], found[SIZES]) == (expected[WEIGHTS], expected[SIZES]) == (expected[WEIGHTS], [1, 2])
    capsys.readouterr()

    run_here("search", tmp_path, *words, "--model_weight", 0, "--query", "pereirra", "--num_results", 1)
    changed = read_metrics(tmp_path / "index")
    assert changed[WEIGHTS] == {**expected[WEIGHTS], COMBINED: 0, ALL: 0}
    assert changed["test"][COMBINED] == found["test"][NGRAMS]
    assert changed["test"][ALL] == found["test"][SPELLINGS]
    printed = capsys.readouterr().out
    assert f"Ranked by {ALL}; " in printed
    assert "names.txt:11\n     pereira\n" in printed


def test_questions_and_neighbours(tmp_path):
    paragraphs = [
        {
            "context": f"{name} escreveu um romance em 18{number}, e morreu.",
            "qas": [{"id": str(number), "question": f"Quem escreveu em {number}?", "answers": []}],
        }
        for number, name in enumerate(NAMES, start=50)
    ]
    for split in ("train", "dev"):
        content = json.dumps({"data": [{"title": "a", "paragraphs": paragraphs}]})
        (tmp_path / f"{split}.json").write_text(content, encoding="utf-8")
    text = write_lines(tmp_path / "a.txt", " ".join(f"O senhor {name} já não morava naquela rua." for name in NAMES))
    options = {
        **{"per_device_train_batch_size": 4, "metric_for_best_model": "mean_reciprocal_rank", "max_length": 16},
        **{"train_file": tmp_path / "train.json", "validation_file": tmp_path / "dev.json", "neighbours_file": text},
        **{"max_neighbours": 5, "output_dir": tmp_path / "model"},
    }
    done = run_recorded(NAME, tmp_path, *tiny(NAME, **options))
    assert "2 training rows, those of 2 passages, are for validation instead" in done.stdout
    assert "are longer than 16 tokens: their beginnings are trained on" in done.stdout
    assert read_metrics(tmp_path / "model")["card"]["rows"] == {"train": 11, "validation": 2, "test": 8}
    assert read_metrics(tmp_path / "model")["passages"] == 8  # neighbours are not searched


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("streaming", "true", "--streaming and --lora_rank"),
        ("lora_rank", 2, "--streaming and --lora_rank"),
        ("neighbours_file", "nowhere", "nowhere: found no sample of texts"),
        ("label_smoothing_factor", 0.1, "this task has none: leave it out"),
    ],
)
def test_what_is_not_possible_is_refused(option, value, message, tmp_path):
    assert message in refusal(NAME, tmp_path, *refused_files(NAME, tmp_path, **{option: value}))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--optim", "muon"), "--optim muon"),
        (("--average_best_checkpoints", "1"), "averages of checkpoints"),
        (("--input_mask_probability", "0.2"), "--input_mask_probability"),
        (("--max_tokens_per_batch", "99"), "--max_tokens_per_batch"),
        (("--tfidf_sizes", "5", "3"), "--tfidf_sizes [5, 3]"),
    ],
)
def test_options_without_meaning_are_refused(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *tiny(NAME, metric_for_best_model="loss"), *words)
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_hard_negatives_look_like_the_passage_and_are_others():
    rows = Dataset.from_list([{"anchor": f"{name}x", "positive": name} for name in NAMES * 2], TEXT_PAIRS.features)
    for by_edits in (True, False):
        found = add_hard_negatives(rows, by_edits, seed=0)
        assert all(row["negative"] in NAMES and row["negative"] != row["positive"] for row in found)
    with pytest.raises(SystemExit, match="found one passage"):
        add_hard_negatives(rows.select([0]), True, seed=0)


def test_the_weight_of_the_test_is_that_of_the_validation():
    passages = ["um rio corre", "gato dorme", "casa velha"]
    vectors = {"rio": np.eye(3)[0], "gato": np.eye(3)[2], **dict(zip(passages, np.eye(3)))}
    queries = {"validation": [LabelledQuery("rio", frozenset([0]))], "test": [LabelledQuery("gato", frozenset([1]))]}
    scores, weights, _, found = compare_searches(
        queries, passages, lambda texts: np.array([vectors[text] for text in texts]), EmbeddingArguments()
    )
    assert weights == {COMBINED: 0}  # n-grams alone are right
    assert scores["test"][COMBINED]["recall@1"] == scores["test"][NGRAMS]["recall@1"] == 1
    assert scores["test"]["model"]["recall@1"] == 0
    assert found == [1]
