"""Tests of passages and queries, their vectors, the index and recall."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from atenta import AtentaEncoderForMaskedLM, AtentaEncoderModel, AtentaTokenizer
from atenta.recipes.reading.records import BadRow
from atenta.recipes.retrieval import (
    ALL,
    EDITS,
    MODEL,
    NGRAMS,
    SPELLINGS,
    LabelledQuery,
    chance_recall,
    choose_weight,
    combine,
    combine_kinds,
    edit_scores,
    embed,
    fingerprint,
    mean_reciprocal_rank,
    nearest,
    nearest_texts,
    ngram_scores,
    read_folder,
    read_misspellings,
    read_queries,
    recall,
)
from atenta.recipes.samples import files
from support.models import tiny_model
from support.recipes import write_lines
from support.trainers import tiny_tokenizer


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "more").mkdir(parents=True)
    write_lines(tmp_path / "texts" / "b.txt", "um", "", "dois", "três")
    write_lines(tmp_path / "texts" / "more" / "a.txt", "quatro")
    write_lines(tmp_path / "texts" / "notes.md", "not a passage")
    return tmp_path / "texts"


def test_passages_and_malformed_texts_are_named_by_file_and_line(folder):
    assert read_folder(folder, "paragraph").to_list() == [
        {"file": "b.txt", "id": "b.txt:1", "text": "um"},
        {"file": "b.txt", "id": "b.txt:3", "text": "dois\ntrês"},
        {"file": "more/a.txt", "id": "more/a.txt:1", "text": "quatro"},
    ]
    assert read_folder(folder, "line")["text"] == ["um", "dois", "três", "quatro"]
    (folder / "c.txt").write_bytes("cão".encode("latin-1"))
    with pytest.raises(BadRow, match=r"c\.txt, line 1: found byte 0xE3"):
        read_folder(folder, "paragraph")


def test_queries_name_a_file_or_a_passage(folder, tmp_path):
    passages = read_folder(folder, "paragraph")
    queries = write_lines(
        tmp_path / "queries.tsv", "qual?\tb.txt:3", "onde?\tb.txt", "quando?\tmore/a.txt", "qual?\tb.txt:1"
    )
    assert read_queries(queries, passages) == [
        LabelledQuery("qual?", frozenset([0, 1])),
        LabelledQuery("onde?", frozenset([0, 1])),
        LabelledQuery("quando?", frozenset([2])),
    ]
    wrong = write_lines(tmp_path / "wrong.tsv", "qual?\tb.txt:2")
    with pytest.raises(BadRow, match=r"wrong\.tsv, line 1: found 'b\.txt:2'; expected a file, such as b\.txt"):
        read_queries(wrong, passages)
    wrong = write_lines(tmp_path / "wrong.jsonl", '{"query": "qual?", "passage": ["b.txt:3"]}')
    with pytest.raises(BadRow, match=r"wrong\.jsonl, line 1: found \['b\.txt:3'\] \(list\) as the passage"):
        read_queries(wrong, passages)


def test_the_sample_has_all_names_and_the_misspellings_of_its_test(tmp_path, monkeypatch, rows_of):
    splits = rows_of("misspellings")
    with monkeypatch.context() as patch:
        patch.setattr("atenta.recipes.retrieval.misspellings", lambda: splits)
        passages, queries = read_misspellings()
    assert (len(passages), len(queries)) == (23_820, len({row["anchor"] for row in splits["test"]}))
    assert passages["id"] == passages["text"]
    answers = {query.text: {passages[index]["text"] for index in query.answers} for query in queries}
    assert all(row["positive"] in answers[row["anchor"]] for row in splits["test"])
    monkeypatch.setattr(files, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match="--text_folder"):
        read_misspellings()


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer("encoder")


def encoder(tokenizer, **options):
    return tiny_model(AtentaEncoderModel, vocab_size=len(tokenizer), **options)


@torch.no_grad()
def mean_of_tokens(model, tokenizer, *parts):
    """Return the mean over the tokens of texts that are read one by one, of length 1."""
    hidden = [model(**tokenizer(part, return_tensors="pt")).last_hidden_state[0] for part in parts]
    return normalize(torch.cat(hidden).mean(0), dim=0)


@pytest.mark.parametrize(
    ("texts", "options", "parts"),
    [
        (["abcdefghij", "ab", "ponmlk", "a", "abcdefghijkl"], {}, ["ponmlk"]),
        (["b", "o", "abcdefghij"], {"max_position_embeddings": 6}, ["abcd", "efgh", "ij"]),  # and <bos> and <eos>
    ],
    ids=["batches", "windows"],
)
def test_a_vector_is_the_mean_over_the_tokens_of_its_text(tokenizer, texts, options, parts):
    model = encoder(tokenizer, **options)
    found = embed(model, tokenizer, texts, batch_size=2)
    np.testing.assert_allclose(found[2], mean_of_tokens(model, tokenizer, *parts), atol=1e-5)
    assert found.dtype == np.float32


def test_windows_are_no_longer_than_the_tokenizer_says(tokenizer):
    """The positions of RoBERTa are two more than its tokens."""
    model = encoder(tokenizer, max_position_embeddings=8)
    tokenizer.model_max_length = 6
    (found,) = embed(model, tokenizer, ["abcdefghij"], batch_size=2)
    np.testing.assert_allclose(found, mean_of_tokens(model, tokenizer, "abcd", "efgh", "ij"), atol=1e-5)


def test_eos_written_in_a_text_is_read_as_characters(tokenizer):
    written, ended = embed(encoder(tokenizer), tokenizer, ["ab<eos>", "ab"], batch_size=2)
    assert written @ ended < 0.9999


def test_the_fingerprint_depends_on_weights_vocabulary_and_window_and_on_no_random_pooler(tokenizer, tmp_path):
    models = [encoder(tokenizer), encoder(tokenizer, max_position_embeddings=6), encoder(tokenizer)]
    with torch.no_grad():
        next(models[2].parameters())[0, 0] += 1
    other = AtentaTokenizer.from_texts(["bacdefghijklmnop!"], family="encoder")
    found = [fingerprint(model, tokenizer) for model in models] + [fingerprint(models[0], other)]
    assert len(set(found)) == 4
    assert fingerprint(encoder(tokenizer), tokenizer) == found[0]
    tiny_model(AtentaEncoderForMaskedLM, vocab_size=len(tokenizer)).save_pretrained(tmp_path)
    first, second = (AtentaEncoderModel.from_pretrained(tmp_path) for _ in range(2))
    assert not torch.equal(first.pooler.dense.weight, second.pooler.dense.weight)  # random
    assert fingerprint(first, tokenizer) == fingerprint(second, tokenizer)


def test_recall_is_the_share_of_queries_that_find_a_passage():
    queries = [LabelledQuery(text, frozenset(answers)) for text, answers in (("a", [3]), ("b", [0, 5]), ("c", [9]))]
    found = np.array([[3, 1, 2, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 9]])
    assert recall(found, queries) == {"recall@1": 1 / 3, "recall@5": 2 / 3, "recall@10": 1.0}


def test_chance_is_the_mean_over_all_orders_of_six_passages():
    queries = [LabelledQuery("a", frozenset([3])), LabelledQuery("b", frozenset([0, 5]))]
    over_orders = [recall(np.array([order, order]), queries) for order in permutations(range(6))]
    expected = {depth: np.mean([scores[depth] for scores in over_orders]) for depth in over_orders[0]}
    assert chance_recall(queries, 6) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("passages", "queries", "sizes", "found"),
    [
        (["o gato dorme", "as universidades federais", "um rio"], ["Qual universidade?", "gatos"], (3, 5), [1, 0]),
        (["nesterov", "oliveira", "teste"], ["olvra"], (1, 3), [1]),  # shares no n-gram of 3
        (["gato", "rio", "gato"], ["gato", "xyz"], (3, 5), [0, 0]),  # the first of equals
    ],
)
def test_passages_are_found_by_shared_ngrams(passages, queries, sizes, found):
    scores = ngram_scores(passages, queries, sizes)
    assert nearest(scores, 2)[:, 0].tolist() == found
    assert nearest(scores, 2).shape == (len(queries), 2)


def test_the_nearest_of_many_queries_are_found_without_a_copy_of_all_scores():
    scores = np.random.default_rng(0).integers(9, size=(3_000, 1_000)).astype(float)  # with many equal ones
    tracemalloc.start()
    try:
        found = nearest(scores, 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    assert peak < scores.nbytes
    assert nearest(scores[:0], 3).shape == (0, 3)


def test_edits_are_counted_with_swaps_and_nearest_texts_leave_out_the_text_itself():
    np.testing.assert_allclose(edit_scores(["nesterov", "ana"], ["nesetrov"]), [[7 / 8, 0]])
    np.testing.assert_allclose(edit_scores(["joa\u0303o"], ["joão"]), [[1]])
    names = ["ana", "anna", "hanna", "pedro", "pedra"]
    assert nearest_texts(names, edit_scores, 1)[:, 0].tolist() == [1, 2, 1, 4, 3]  # relative to the longer name
    assert nearest_texts(names, edit_scores, 10).shape == (5, 4)
    assert all(row not in found for row, found in enumerate(nearest_texts(names, edit_scores, 10).tolist()))


def test_combined_scores_do_not_depend_on_scale_and_origin():
    generator = np.random.default_rng(0)
    scores, others = generator.random((2, 3, 5))
    expected = combine(scores, others, 0.3)
    np.testing.assert_allclose(combine(7 * scores + 2, others / 9, 0.3), expected)
    np.testing.assert_array_equal(nearest(combine(scores, others, 1), 5), nearest(scores, 5))
    np.testing.assert_array_equal(nearest(combine(scores, others, 0), 5), nearest(others, 5))
    assert combine(np.zeros((1, 2)), np.array([[0.0, 1.0]]), 0.5).argmax() == 1  # no query is divided by 0


def test_the_weight_of_a_combination_is_that_of_its_first_kind():
    model, edits, ngrams = np.random.default_rng(0).random((3, 3, 5))
    weights = {SPELLINGS: 0.6, ALL: 0.3}
    found = combine_kinds({MODEL: model, EDITS: edits, NGRAMS: ngrams}, weights)
    assert list(found) == [EDITS, NGRAMS, SPELLINGS, ALL, MODEL]
    np.testing.assert_array_equal(found[SPELLINGS], combine(edits, ngrams, 0.6))
    np.testing.assert_array_equal(found[ALL], combine(model, found[SPELLINGS], 0.3))
    assert found[MODEL] is model


def test_the_weight_is_the_one_that_ranks_best():
    queries = [LabelledQuery("a", frozenset([0])), LabelledQuery("b", frozenset([1]))]
    right, wrong = np.array([[1.0, 0, 0], [0, 1, 0]]), np.array([[0.0, 1, 0], [0, 0, 1]])
    assert choose_weight(right, wrong, queries) > 0.5
    assert choose_weight(wrong, right, queries) == 0
    assert choose_weight(right, right, queries) == 0


def test_reciprocal_ranks_count_the_first_correct_passage():
    queries = [LabelledQuery("a", frozenset([0, 2])), LabelledQuery("b", frozenset([1]))]
    assert mean_reciprocal_rank(np.array([[0.1, 0.9, 0.5], [0.1, 0.7, 0.2]]), queries) == (1 / 2 + 1) / 2
    assert mean_reciprocal_rank(np.zeros((2, 3)), queries) == 1 / 3  # equal scores are no answer
