"""Embeddings end to end: pairs of each kind, what is compared, the saved folder, and search with it."""

import json

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from atenta import AtentaDecoderForCausalLM
from atenta.recipes.retrieval import (
    ALL,
    COMBINATIONS,
    COMBINED,
    EDITS,
    NGRAMS,
    SIZES,
    SPELLINGS,
    WEIGHTS,
    LabelledQuery,
    embed,
)
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.train_embeddings import EmbeddingArguments, add_hard_negatives, compare_searches
from support.recipes import (
    arguments,
    assert_complete,
    assert_reported,
    load,
    read_metrics,
    read_predictions,
    refusal,
    run_here,
    run_recorded,
    tiny,
    write_lines,
)
from support.saved import save_with_tokenizer

NAME = "train_embeddings"
NAMES = ["oliveira", "nesterov", "waldemar", "mendonça", "figueira", "barbosa", "carvalho", "teixeira"]
TESTED = ["machado", "azevedo", "pereira"]
OPTIONS = {"per_device_train_batch_size": 4, "metric_for_best_model": "mean_reciprocal_rank", "max_length": 16}


def pairs(names):
    """Return lines of a table with the names without each of their letters."""
    errors = [f"{name[:place]}{name[place + 1 :]}\t{name}" for name in names for place in range(len(name))]
    return ["anchor\tpositive", *dict.fromkeys(errors)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    splits = {"train": NAMES, "validation": TESTED[:1], "test": TESTED[1:]}
    return {f"{split}_file": write_lines(folder / f"{split}.tsv", *pairs(names)) for split, names in splits.items()}


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **OPTIONS, "edit_distance": True, "tfidf_sizes": [1, 2], "hard_negatives": True}
    options["output_dir"] = folder / "model"
    return folder / "model", run_recorded(NAME, folder, *tiny(NAME, **options))


def test_the_folder_is_complete(trained):
    folder, done = trained
    assert_complete(folder, "AutoModel", {"chance", NGRAMS, EDITS, *COMBINATIONS})
    assert_reported(done, folder)
    assert not (folder / "eval").exists()
    assert read_metrics(folder)["card"]["rows"]["train"] == len(pairs(NAMES)) - 1  # no sample is added


def test_weights_are_chosen_by_validation(trained):
    folder, done = trained
    weights = read_metrics(folder)[WEIGHTS]
    assert weights.keys() == COMBINATIONS.keys()
    assert "chosen on 7 validation queries" in done.stdout  # of one name


def test_validation_is_searched_at_each_evaluation(trained):
    evaluations = [entry for entry in read_metrics(trained[0])["training"] if "eval_loss" in entry]
    assert [entry["step"] for entry in evaluations] == [2, 4]
    assert all(0 < entry["eval_mean_reciprocal_rank"] <= 1 for entry in evaluations)
    assert all(entry["eval_recall@10"] >= entry["eval_recall@1"] for entry in evaluations)


def test_predictions_are_passages(trained):
    rows = read_predictions(trained[0])
    assert {row["gold"] for row in rows} == set(TESTED[1:])
    assert {row["output"] for row in rows} <= {*NAMES, *TESTED}
    recall = read_metrics(trained[0])["test"][COMBINED]["recall@1"]
    assert np.mean([row["output"] == row["gold"] for row in rows]) == pytest.approx(recall)


def test_sentence_transformers_and_search_give_the_same_vectors(trained):
    folder, _ = trained
    tokenizer, model = load(folder, AutoModel)
    expected = embed(model, tokenizer, NAMES, batch_size=3)
    found = SentenceTransformer(str(folder), device="cpu").encode(NAMES, normalize_embeddings=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_search_finds_what_was_found_after_training(trained, files, tmp_path, capsys):
    folder, _ = trained
    passages = [*NAMES, *TESTED]
    (tmp_path / "texts").mkdir()
    write_lines(tmp_path / "texts" / "names.txt", *passages)
    asked = [line.split("\t") for line in pairs(TESTED[1:])[1:]]
    queries = write_lines(
        tmp_path / "queries.tsv", *(f"{wrong}\tnames.txt:{passages.index(name) + 1}" for wrong, name in asked)
    )
    given = ("--text_folder", tmp_path / "texts", "--sample_by", "line", "--model_name_or_path", folder)
    options = (*given, "--queries_file", queries, "--output_dir", tmp_path / "index")
    run_here("search", tmp_path, *options)
    found, expected = read_metrics(tmp_path / "index"), read_metrics(folder)
    assert list(found["test"]) == list(expected["test"])
    assert found["test"] == expected["test"]
    assert (found[WEIGHTS], found[SIZES]) == (expected[WEIGHTS], expected[SIZES]) == (expected[WEIGHTS], [1, 2])
    capsys.readouterr()

    run_here("search", tmp_path, *options, "--model_weight", 0, "--query", "pereirra", "--num_results", 1)
    changed = read_metrics(tmp_path / "index")
    assert changed[WEIGHTS] == {**expected[WEIGHTS], COMBINED: 0, ALL: 0}
    assert changed["test"][COMBINED] == found["test"][NGRAMS]
    assert changed["test"][ALL] == found["test"][SPELLINGS]
    printed = capsys.readouterr().out
    assert f"Ranked by {ALL}; " in printed
    assert "names.txt:11\n     pereira\n" in printed


def test_it_starts_from_a_saved_encoder(trained, files, tmp_path):
    options = {"model_name_or_path": trained[0], "learning_rate": 1e-9, "output_dir": tmp_path / "m"}
    run_here(NAME, tmp_path, *tiny(NAME, **files, **OPTIONS, **options))
    (_, before), (_, after) = load(trained[0], AutoModel), load(tmp_path / "m", AutoModel)
    weights = dict(after.named_parameters())
    for name, weight in before.named_parameters():
        torch.testing.assert_close(weights[name], weight, atol=1e-6, rtol=0)


def test_a_run_goes_on_from_its_checkpoint(files, tmp_path):
    options = {**files, **OPTIONS, "output_dir": tmp_path / "model"}
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    (tmp_path / "model" / "metrics.json").unlink()
    done = run_recorded(NAME, tmp_path, *tiny(NAME, **options))
    assert "training had ended there" in done.stdout
    assert (tmp_path / "model" / "metrics.json").is_file()


def test_questions_and_neighbours(tmp_path):
    questions = [
        {"context": f"{name} escreveu um romance em 18{number}, e morreu.", "qas": []}
        for number, name in enumerate(NAMES, start=50)
    ]
    for number, paragraph in enumerate(questions):
        paragraph["qas"] = [{"id": str(number), "question": f"Quem escreveu em {number}?", "answers": []}]
    content = {"data": [{"title": "a", "paragraphs": questions}]}
    for split in ("train", "dev"):
        (tmp_path / f"{split}.json").write_text(json.dumps(content), encoding="utf-8")
    text = write_lines(tmp_path / "a.txt", " ".join(f"O senhor {name} já não morava naquela rua." for name in NAMES))
    options = {
        **OPTIONS,
        **{"train_file": tmp_path / "train.json", "validation_file": tmp_path / "dev.json", "neighbours_file": text},
        **{"max_neighbours": 5, "output_dir": tmp_path / "model"},
    }
    done = run_recorded(NAME, tmp_path, *tiny(NAME, **options))
    assert "2 training rows, those of 2 passages, validate instead" in done.stdout
    assert "are longer than 16 tokens: their beginnings are trained on" in done.stdout
    assert read_metrics(tmp_path / "model")["card"]["rows"] == {"train": 11, "validation": 2, "test": 8}
    assert read_metrics(tmp_path / "model")["passages"] == 8  # neighbours are not searched


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--streaming", "true"), "--streaming and --lora_rank"),
        (("--lora_rank", "2"), "--streaming and --lora_rank"),
        (("--neighbours_file", "nowhere"), "nowhere: found no sample of texts"),
        (("--metric_for_best_model", "accuracy"), "--metric_for_best_model accuracy"),
    ],
)
def test_what_is_not_possible_is_refused(files, tmp_path, given, message):
    assert message in refusal(NAME, tmp_path, *arguments(**OPTIONS | files), *given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--optim", "muon"), "--optim muon"),
        (("--average_best_checkpoints", "1"), "averages of checkpoints"),
        (("--input_mask_probability", "0.2"), "--input_mask_probability"),
        (("--max_tokens_per_batch", "99"), "--max_tokens_per_batch"),
        (("--tfidf_sizes", "5", "3"), "--tfidf_sizes [5, 3]"),
    ],
)
def test_options_without_meaning_are_refused(files, tmp_path, capsys, given, message):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *tiny(NAME, **OPTIONS, **files, output_dir=tmp_path / "model"), *given)
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_decoder_is_refused(files, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "decoder")
    reason = refusal(NAME, tmp_path, *arguments(**OPTIONS | files, model_name_or_path=tmp_path / "decoder"))
    assert "found a model of type atenta_decoder; expected atenta_encoder" in reason


def test_hard_negatives_look_like_the_passage_and_are_others():
    rows = Dataset.from_list(
        [{"anchor": f"{name}x", "positive": name} for name in (*NAMES, *NAMES)], TEXT_PAIRS.features
    )
    for by_edits in (True, False):
        found = add_hard_negatives(rows, by_edits, seed=0)
        assert all(row["negative"] in NAMES and row["negative"] != row["positive"] for row in found)
    with pytest.raises(SystemExit, match="found one passage"):
        add_hard_negatives(rows.select([0]), True, seed=0)


def test_the_weight_of_the_test_is_that_of_the_validation():
    passages = ["um rio corre", "gato dorme", "casa velha"]
    vectors = {"rio": np.eye(3)[0], "gato": np.eye(3)[2], **dict(zip(passages, np.eye(3)))}
    queries = {"validation": [LabelledQuery("rio", frozenset([0]))], "test": [LabelledQuery("gato", frozenset([1]))]}
    compared = compare_searches(
        queries, passages, lambda texts: np.array([vectors[text] for text in texts]), EmbeddingArguments()
    )
    assert compared.weights == {COMBINED: 0}  # n-grams alone are right
    assert compared.scores["test"][COMBINED]["recall@1"] == compared.scores["test"][NGRAMS]["recall@1"] == 1
    assert compared.scores["test"]["model"]["recall@1"] == 0
    assert compared.found == [1]
