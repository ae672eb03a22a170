"""Tests of recipes/search.py end to end: passages, the index, results and recall."""

import shutil
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest

from atenta import AtentaTokenizer
from atenta.modeling import AtentaEncoderDecoderModel, AtentaEncoderForPreTraining
from atenta.recipes.retrieval import embed
from atenta.recipes.search import format_results, load_encoder
from atenta.recipes.training.results import table
from support.models import tiny_model
from support.recipes import read_metrics, run_here, write_lines

NAME = "search"
PASSAGES = ["O gato dorme no sofá da sala.", "Um rio corre para o mar.", "A universidade abriu em março."]
QUERIES = {"gato no sofá": 0, "rio e mar": 1, "universidade": 2}


def save_encoder(folder, seed=0, model_class=AtentaEncoderForPreTraining):
    """Save a tiny model and its tokenizer, as pretrain_masked.py does."""
    family = "encoder" if model_class is AtentaEncoderForPreTraining else "encoder-decoder"
    tokenizer = AtentaTokenizer.from_texts(PASSAGES, family=family)
    tiny_model(model_class, seed, vocab_size=len(tokenizer), max_position_embeddings=16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    (folder / "texts").mkdir()
    for number, passage in enumerate(PASSAGES):
        write_lines(folder / "texts" / f"{number}.txt", passage)
    labelled = (f"{query}\t{number}.txt" for query, number in QUERIES.items())
    return {
        "text_folder": folder / "texts",
        "queries_file": write_lines(folder / "queries.tsv", *labelled),
        "model_name_or_path": save_encoder(folder / "encoder"),
    }


def arguments(*several, **options):
    """Return options as a command line has them."""
    return [*several, *(word for name, value in options.items() for word in (f"--{name}", str(value)))]


@pytest.fixture(scope="module")
def searched(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched")
    options = arguments("--query", *QUERIES, **given, num_results=2, output_dir=folder / "index")
    with redirect_stdout(StringIO()) as printed:
        run_here(NAME, folder, *options)
    return folder / "index", printed.getvalue()


def test_passages_and_scores_are_printed(searched, given):
    folder, printed_first = searched
    assert f"Made an index of 3 passages in {folder}" in printed_first
    assert f"\n{table(read_metrics(folder)['test'])}\n" in printed_first
    tokenizer, model = load_encoder(str(given["model_name_or_path"]))
    for query in QUERIES:
        cosines = embed(model, tokenizer, [query], 1) @ embed(model, tokenizer, PASSAGES, 1).T
        first, second, last = np.argsort(-cosines[0])
        shown = printed_first.split(f"“{query}”\n")[1].split("\n\n")[0]
        assert f"  1  {cosines[0, first]:.4f}  {first}.txt:1\n     {PASSAGES[first]}\n" in f"{shown}\n"
        assert f"  2  {cosines[0, second]:.4f}  {second}.txt:1\n     {PASSAGES[second]}\n" in f"{shown}\n"
        assert PASSAGES[last] not in shown


def test_a_long_passage_is_shortened():
    passages = {"id": ["a.txt:1", "b.txt:1"], "text": ["rio " * 1_000, "mar"]}
    lines = format_results("mar", [0.5, 0.25], passages).splitlines()
    assert lines[:2] == ["“mar”", "  1  0.5000  a.txt:1"]
    assert set(" ".join(lines[2:-2]).split()) == {"rio", "…"}
    assert lines[-3].endswith("rio …")
    assert lines[-2:] == ["  2  0.2500  b.txt:1", "     mar"]
    assert len(lines) < 20


def test_recall_is_that_of_the_cosines(searched, given):
    folder, _ = searched
    scores = read_metrics(folder)["test"]
    tokenizer, model = load_encoder(str(given["model_name_or_path"]))
    best = (embed(model, tokenizer, list(QUERIES), 8) @ embed(model, tokenizer, PASSAGES, 8).T).argmax(1)
    assert scores["model"]["recall@1"] == pytest.approx(np.mean(best == list(QUERIES.values())))
    assert scores["n-grams (TF-IDF)"]["recall@1"] == 1
    assert scores["chance"]["recall@1"] == pytest.approx(1 / 3)
    assert {figures["recall@10"] for figures in scores.values()} == {1.0}  # of three passages


def test_a_saved_index_is_reused(searched, given, tmp_path, monkeypatch, capsys):
    folder, printed_first = searched
    embedded = []

    def recording_embed(model, tokenizer, texts, batch_size):
        embedded.extend(texts)
        return embed(model, tokenizer, texts, batch_size)

    monkeypatch.setattr("atenta.recipes.search.embed", recording_embed)
    run_here(NAME, tmp_path, *arguments("--query", *QUERIES, **given, num_results=2, output_dir=folder))
    assert sorted(embedded) == sorted([*QUERIES, *QUERIES])  # as --query, and to measure recall
    printed = capsys.readouterr().out
    assert printed.startswith("Loaded the index of 3 passages")
    assert printed.partition("\n")[2] == printed_first.partition("\n")[2]


def test_an_index_from_another_model_or_other_texts_is_refused_or_replaced(searched, given, tmp_path, capsys):
    folder, _ = searched
    other = save_encoder(tmp_path / "other", seed=1)
    with pytest.raises(SystemExit, match=rf"made with {given['model_name_or_path']} .*, made with {other}"):
        run_here(NAME, tmp_path, *arguments(**given | {"model_name_or_path": other}, output_dir=folder))
    more = shutil.copytree(given["text_folder"], tmp_path / "more")
    write_lines(more / "9.txt", "mais um")
    with pytest.raises(SystemExit, match=rf"an index of {given['text_folder']} .*; expected one of {more} "):
        run_here(NAME, tmp_path, *arguments(**given | {"text_folder": more}, output_dir=folder))
    copy = shutil.copytree(folder, tmp_path / "index")
    replacing = arguments("--overwrite_output_dir", **given | {"model_name_or_path": other}, output_dir=copy)
    run_here(NAME, tmp_path, *replacing)
    assert "Made an index" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"text_folder": "nowhere"}, "--text_folder nowhere: found no txt file"),
        ({"num_results": 0}, "--num_results is 0; expected 1 or more"),
        ({"batch_size": -1}, "--batch_size is -1; expected 1 or more"),
        ({"sample_by": "page"}, "--sample_by page: expected document, paragraph, line or sentence"),
        ({"queries_file": "nowhere.tsv"}, "nowhere.tsv"),
    ],
)
def test_invalid_options_are_refused_before_the_model_is_loaded(given, tmp_path, option, message):
    options = given | {"model_name_or_path": "nowhere", "output_dir": tmp_path / "index"} | option
    with pytest.raises(SystemExit, match=message):
        run_here(NAME, tmp_path, *arguments(**options))


def test_a_missing_encoder_is_explained(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {name: value for name, value in given.items() if name != "model_name_or_path"}
    with pytest.raises(SystemExit, match=r"outputs/pretrain_masked: .*`python recipes/pretrain_masked\.py` saves one"):
        run_here(NAME, tmp_path, *arguments(**options))


def test_an_encoder_decoder_is_refused(given, tmp_path):
    model = save_encoder(tmp_path / "model", model_class=AtentaEncoderDecoderModel)
    with pytest.raises(SystemExit, match="found an encoder-decoder; expected an encoder"):
        run_here(NAME, tmp_path, *arguments(**given | {"model_name_or_path": model}, output_dir=tmp_path / "index"))
