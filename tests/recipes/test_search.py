"""Tests of recipes/search.py end to end: passages, their vectors, results and recall."""

import re
import shutil
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest

from atenta import (
    AtentaEncoderDecoderModel,
    AtentaEncoderForPreTraining,
    AtentaEncoderForTokenClassification,
    AtentaPairVotesForCausalLM,
)
from atenta.recipes.retrieval import ALL, COMBINED, embed
from atenta.recipes.search import format_results, load_encoder
from atenta.recipes.training.results import table
from support.models import tiny_model
from support.recipes import arguments, read_metrics, run_here, write_lines
from support.saved import save, tokenizer_of

NAME = "search"
PASSAGES = ["O gato dorme no sofá da sala.", "Um rio corre para o mar.", "A universidade abriu em março."]
QUERIES = {"gato no sofá": 0, "rio e mar": 1, "universidade": 2}
MISSPELLED = {
    "train": [{"anchor": "rrio", "positive": "rio"}, {"anchor": "ri", "positive": "rio"}],
    "test": [{"anchor": "gatto", "positive": "gato"}, {"anchor": "sofa", "positive": "sofá"}],
}


def save_encoder(folder, seed=0, model_class=AtentaEncoderForPreTraining):
    """Save a tiny model and its tokenizer, as pretrain_masked.py does."""
    tokenizer = tokenizer_of(model_class, PASSAGES)
    sizes = {} if model_class is AtentaPairVotesForCausalLM else {"max_position_embeddings": 16}
    save(tiny_model(model_class, seed, vocab_size=len(tokenizer), **sizes), tokenizer, folder)
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


@pytest.fixture
def run(given, tmp_path):
    """A function that searches what is given, with these options and in a folder of its own."""

    def run(*several, **options):
        run_here(NAME, tmp_path, *arguments(*several, **given | {"output_dir": tmp_path / "index"} | options))

    return run


@pytest.fixture(scope="module")
def searched(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched")
    options = arguments("--query", *QUERIES, **given, num_results=2, output_dir=folder / "index")
    with redirect_stdout(StringIO()) as printed:
        run_here(NAME, folder, *options)
    return folder / "index", printed.getvalue()


def test_passages_and_scores_are_printed(searched, given):
    folder, printed_first = searched
    (vectors,) = folder.glob("vectors-*.safetensors")
    assert f"Saved the vectors of 3 passages: {vectors}\n" in printed_first
    assert f"\n{table(read_metrics(folder)['test'])}\n" in printed_first
    tokenizer, model = load_encoder(str(given["model_name_or_path"]))
    for query in QUERIES:
        cosines = embed(model, tokenizer, [query], 1) @ embed(model, tokenizer, PASSAGES, 1).T
        first, second, last = np.argsort(-cosines[0])
        shown = printed_first.split(f"“{query}”\n")[1].split("\n\n")[0]
        assert f"  1  {cosines[0, first]:.4f}  {first}.txt:1\n     {PASSAGES[first]}\n" in f"{shown}\n"
        assert f"  2  {cosines[0, second]:.4f}  {second}.txt:1\n     {PASSAGES[second]}\n" in f"{shown}\n"
        assert PASSAGES[last] not in shown


def test_the_sample_is_names(given, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("atenta.recipes.retrieval.misspellings", lambda: MISSPELLED)
    options = arguments(model_name_or_path=given["model_name_or_path"], output_dir=tmp_path / "index")
    run_here(NAME, tmp_path, *options, "--model_weight", 0)
    assert f"2 queries, 3 passages\n{table(read_metrics(tmp_path / 'index')['test'])}\n" in capsys.readouterr().out
    run_here(NAME, tmp_path, *options, "--model_weight", 0, "--num_results", 1, "--query", "GATTO")
    _, ranked, _, shown, first = capsys.readouterr().out.splitlines()
    assert ranked == f"Ranked by {COMBINED}; scores: weighted standard scores"
    assert shown == "“GATTO”"
    assert re.fullmatch(r"  1  1\.\d{4}  gato", first)


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
    assert COMBINED not in scores  # the encoder was not trained to search


@pytest.mark.parametrize(
    "metrics",
    [
        *("", "[]", "[" * 100_000),
        f'{{"weights": {{"{COMBINED}": NaN}}}}',
        f'{{"weights": {{"{ALL}": 0.5}}, "tfidf_sizes": [1, 3]}}',
        f'{{"weights": {{"{COMBINED}": 0.5}}, "tfidf_sizes": [1, Infinity]}}',
    ],
)
def test_metrics_of_other_recipes_have_no_weight(run, given, tmp_path, metrics):
    model = shutil.copytree(given["model_name_or_path"], tmp_path / "model")
    write_lines(model / "metrics.json", metrics)
    run(model_name_or_path=model)
    assert not {COMBINED, ALL} & read_metrics(tmp_path / "index")["test"].keys()


def test_saved_vectors_are_used_again(searched, run, given, tmp_path, monkeypatch, capsys):
    folder, printed_first = searched
    embedded = []

    def recording_embed(model, tokenizer, texts, batch_size):
        embedded.extend(texts)
        return embed(model, tokenizer, texts, batch_size)

    monkeypatch.setattr("atenta.recipes.retrieval.embed", recording_embed)
    moved = shutil.copytree(given["model_name_or_path"], tmp_path / "moved")
    run("--query", *QUERIES, model_name_or_path=moved, num_results=2, output_dir=folder)
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pickle", ".bin")]
    assert sorted(embedded) == sorted([*QUERIES, *QUERIES])  # as --query, and to measure recall
    printed = capsys.readouterr().out
    assert printed.startswith("Read the vectors of 3 passages")
    assert printed.partition("\n")[2] == printed_first.partition("\n")[2]


def test_vectors_of_another_model_or_other_texts_and_damaged_ones_are_new(searched, run, given, tmp_path, capsys):
    index = shutil.copytree(searched[0], tmp_path / "index")
    (vectors,) = index.glob("vectors-*.safetensors")
    more = shutil.copytree(given["text_folder"], tmp_path / "more")
    write_lines(more / "9.txt", "mais um")
    run(model_name_or_path=save_encoder(tmp_path / "other", seed=1))
    run(text_folder=more)
    assert capsys.readouterr().out.count("Saved the vectors of ") == 2
    assert len([*index.glob("vectors-*.safetensors")]) == 3
    vectors.write_bytes(b"IxFI")
    for saved in ("Saved", "Read"):
        run("--query", "rio")
        assert capsys.readouterr().out.startswith(f"{saved} the vectors of 3 passages: {vectors}\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"text_folder": "nowhere"}, "--text_folder nowhere"),
        ({"sample_by": "page"}, "--sample_by page"),
        ({"queries_file": "nowhere.tsv"}, "nowhere.tsv"),
    ],
)
def test_invalid_options_are_refused_before_the_model_is_loaded(run, tmp_path, monkeypatch, option, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        run(**{"model_name_or_path": "nowhere"} | option)


def test_a_missing_encoder_is_explained(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {name: value for name, value in given.items() if name != "model_name_or_path"}
    with pytest.raises(SystemExit, match=r"outputs/misspellings: .*`python recipes/train_embeddings\.py` saves one"):
        run_here(NAME, tmp_path, *arguments(**options))


@pytest.mark.parametrize("model_class", [AtentaEncoderDecoderModel, AtentaPairVotesForCausalLM])
def test_a_model_that_is_no_encoder_is_refused(run, tmp_path, model_class):
    model = save_encoder(tmp_path / "model", model_class=model_class)
    with pytest.raises(SystemExit, match=f"found {model_class.__name__}; expected an encoder"):
        run(model_name_or_path=model)


def test_the_head_of_an_encoder_does_not_matter(tmp_path):
    folder = save_encoder(tmp_path, model_class=AtentaEncoderForTokenClassification)
    assert type(load_encoder(str(folder))[1]).__name__ == "AtentaEncoderModel"


@pytest.mark.parametrize(("name", "value"), [("num_results", "0"), ("batch_size", "1.5"), ("model_weight", "nan")])
def test_numbers_out_of_range_are_refused(run, capsys, name, value):
    with pytest.raises(SystemExit):
        run(**{name: value})
    assert f"--{name}" in capsys.readouterr().err.splitlines()[-1]


def test_a_terminal_gets_no_commands_from_passages(run, tmp_path, capsys):
    (tmp_path / "texts").mkdir()
    write_lines(tmp_path / "texts" / "a.txt", "um \x1b[31mrio\x9b")
    queries = write_lines(tmp_path / "queries.tsv", "rio\ta.txt")
    run("--query", "rio\x1b[0m", text_folder=tmp_path / "texts", queries_file=queries)
    printed = capsys.readouterr().out
    assert "um \\x1b[31mrio\\x9b" in printed
    assert "“rio\\x1b[0m”" in printed
    assert not {"\x1b", "\x9b"} & set(printed)
