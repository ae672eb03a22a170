"""Search, end to end: passages of files, an index made once, answers on the screen, recall counted by another way."""

import shutil

import numpy as np
import pytest

from atenta import AtentaTokenizer
from atenta.modeling import AtentaEncoderDecoderModel, AtentaEncoderForPreTraining
from atenta.recipes.reporting.tables import table
from atenta.recipes.retrieval.embedding import embed
from atenta.recipes.search import load_encoder, show
from support.models import tiny_model
from support.recipes import read_metrics, run_here, run_recipe, write_lines

NAME = "search"
PASSAGES = ["O gato dorme no sofá da sala.", "Um rio corre para o mar.", "A universidade abriu em março."]
QUERIES = {"gato no sofá": 0, "rio e mar": 1, "universidade": 2}


def save_encoder(folder, seed=0, model_class=AtentaEncoderForPreTraining):
    """A tiny model and its tokenizer, as pretrain_masked leaves them."""
    family = {AtentaEncoderForPreTraining: "encoder"}.get(model_class, "encoder-decoder")
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
    return [*several, *(word for name, value in options.items() for word in (f"--{name}", str(value)))]


@pytest.fixture(scope="module")
def searched(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched")
    options = arguments("--query", *QUERIES, **given, num_results=2, output_dir=folder / "index")
    return folder / "index", run_recipe(NAME, folder, *options)


def test_it_shows_passages_and_scores(searched, given):
    folder, done = searched
    assert f"Made an index of 3 passages in {folder}" in done.stdout
    assert f"\n{table(read_metrics(folder)['test'])}\n" in done.stdout
    tokenizer, model = load_encoder(str(given["model_name_or_path"]))
    for query in QUERIES:
        cosines = embed(model, tokenizer, [query], 1) @ embed(model, tokenizer, PASSAGES, 1).T
        first, second, last = np.argsort(-cosines[0])
        shown = done.stdout.split(f"“{query}”\n")[1].split("\n\n")[0]
        assert f"  1  {cosines[0, first]:.4f}  {first}.txt:1\n     {PASSAGES[first]}\n" in f"{shown}\n"
        assert f"  2  {cosines[0, second]:.4f}  {second}.txt:1\n     {PASSAGES[second]}\n" in f"{shown}\n"
        assert PASSAGES[last] not in shown


def test_of_a_long_passage_the_beginning_is_shown():
    lines = show("mar", [0.5, 0.25], {"id": ["a.txt:1", "b.txt:1"], "text": ["rio " * 1_000, "mar"]}).splitlines()
    assert lines[:2] == ["“mar”", "  1  0.5000  a.txt:1"]
    assert set(" ".join(lines[2:-2]).split()) == {"rio", "…"}
    assert lines[-3].endswith("rio …")
    assert lines[-2:] == ["  2  0.2500  b.txt:1", "     mar"]
    assert len(lines) < 20


def test_recall_is_counted_beside_chance_and_shared_characters(searched, given):
    folder, _ = searched
    scores = read_metrics(folder)["test"]
    tokenizer, model = load_encoder(str(given["model_name_or_path"]))
    best = (embed(model, tokenizer, list(QUERIES), 8) @ embed(model, tokenizer, PASSAGES, 8).T).argmax(1)
    assert scores["model"]["recall@1"] == pytest.approx(np.mean(best == list(QUERIES.values())))
    assert scores["n-grams (TF-IDF)"]["recall@1"] == 1
    assert scores["chance"]["recall@1"] == pytest.approx(1 / 3)
    assert {figures["recall@10"] for figures in scores.values()} == {1.0}  # of three passages


def test_the_index_is_loaded_again_and_nothing_is_embedded_but_queries(searched, given, tmp_path, monkeypatch, capsys):
    folder, done = searched
    embedded = []

    def note(model, tokenizer, texts, batch_size):
        embedded.extend(texts)
        return embed(model, tokenizer, texts, batch_size)

    monkeypatch.setattr("atenta.recipes.search.embed", note)
    run_here(NAME, tmp_path, *arguments("--query", *QUERIES, **given, num_results=2, output_dir=folder))
    assert sorted(embedded) == sorted([*QUERIES, *QUERIES])
    told = capsys.readouterr().out
    assert told.startswith("Loaded the index of 3 passages")
    assert told.partition("\n")[2] == done.stdout.partition("\n")[2]


def test_an_index_of_another_model_or_of_other_texts_is_refused_or_made_anew(searched, given, tmp_path, capsys):
    folder, _ = searched
    other = save_encoder(tmp_path / "other", seed=1)
    with pytest.raises(SystemExit, match=rf"made with {given['model_name_or_path']} .*, made with {other}"):
        run_here(NAME, tmp_path, *arguments(**given | {"model_name_or_path": other}, output_dir=folder))
    more = _with_one_more(given["text_folder"], tmp_path / "more")
    with pytest.raises(SystemExit, match=rf"an index of {given['text_folder']} .*; expected one of {more} "):
        run_here(NAME, tmp_path, *arguments(**given | {"text_folder": more}, output_dir=folder))
    copy = shutil.copytree(folder, tmp_path / "index")
    anew = arguments("--overwrite_output_dir", **given | {"model_name_or_path": other}, output_dir=copy)
    run_here(NAME, tmp_path, *anew)
    assert "Made an index" in capsys.readouterr().out


def _with_one_more(texts, folder):
    shutil.copytree(texts, folder)
    write_lines(folder / "9.txt", "mais um")
    return folder


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
def test_what_cannot_be_read_is_named_before_the_model_is_loaded(given, tmp_path, option, message):
    options = given | {"model_name_or_path": "nowhere", "output_dir": tmp_path / "index"} | option
    with pytest.raises(SystemExit, match=message):
        run_here(NAME, tmp_path, *arguments(**options))


def test_without_the_encoder_the_command_that_trains_it_is_named(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {name: value for name, value in given.items() if name != "model_name_or_path"}
    with pytest.raises(SystemExit, match=r"outputs/pretrain_masked: .*`python recipes/pretrain_masked\.py` makes one"):
        run_here(NAME, tmp_path, *arguments(**options))


def test_a_model_of_two_stacks_is_refused(given, tmp_path):
    model = save_encoder(tmp_path / "model", model_class=AtentaEncoderDecoderModel)
    with pytest.raises(SystemExit, match="found a model of two stacks; expected an encoder"):
        run_here(NAME, tmp_path, *arguments(**given | {"model_name_or_path": model}, output_dir=tmp_path / "index"))
