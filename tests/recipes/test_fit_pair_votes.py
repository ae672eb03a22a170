"""Votes counted from texts, end to end: the distance chosen, scores counted by another way, a model that loads."""

import json
import math

import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM, pipeline

from atenta import AtentaTokenizer
from atenta.modeling import AtentaDecoderForCausalLM
from atenta.recipes.reporting.tables import table
from support.models import tiny_model
from support.recipes import load, read_metrics, run_here, run_recipe, write_jsonl, write_lines

NAME = "fit_pair_votes"
VERSE = ["Ora direis ouvir estrelas.", "Certo perdeste o senso!", "E eu vos direi no entanto", "que para ouvi-las"]
TEST = ["muita vez desperto.", "e abro as janelas, pálido de espanto"]
MORE = {"prompt": "Ora ", "sample_length": 20}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        "train_file": write_lines(folder / "train.txt", *(line for verse in VERSE * 4 for line in (verse, ""))),
        "validation_file": write_jsonl(folder / "validation.jsonl", [{"text": "\n\n".join(VERSE)}]),
        "test_file": write_lines(folder / "test.csv", "text", *(f'"{text}"' for text in TEST)),
    }


def arguments(*several, **options):
    """Options as a command line has them."""
    return [*several, *(word for name, value in options.items() for word in (f"--{name}", *str(value).split("|")))]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A tiny decoder, as pretrain_causal leaves one, that has learned rows of eight characters."""
    folder = tmp_path_factory.mktemp("decoder")
    tokenizer = AtentaTokenizer.from_texts(VERSE, family="decoder")
    sizes = {"vocab_size": len(tokenizer), "num_hidden_layers": 1, "max_position_embeddings": 8}
    tiny_model(AtentaDecoderForCausalLM, **sizes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def fitted(files, decoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    options = {**files, **MORE, "max_distance": "4|1", "compare_with": decoder, "output_dir": folder / "model"}
    return folder / "model", run_recipe(NAME, folder, *arguments(**options))


def test_it_shows_data_the_choice_scores_and_a_sample(fitted):
    folder, done = fitted
    metrics = read_metrics(folder)
    for scores in (metrics["validation"], metrics["test"]):
        assert f"\n{table(scores)}\n" in done.stdout
    assert done.stdout.index("outside the alphabet") < done.stdout.index("validation\n")
    assert "counting, distance 4" in done.stderr
    sample = (folder / "sample.txt").read_text(encoding="utf-8")
    assert sample in done.stdout
    assert len("Ora ") < len(sample) <= len("Ora ") + 20


def test_the_distance_that_is_best_on_the_validation_texts_is_kept(fitted):
    folder, _ = fitted
    by_distance = read_metrics(folder)["validation"]
    assert by_distance.keys() == {"max_distance 4", "max_distance 1"}
    best = min(by_distance, key=lambda name: by_distance[name]["bits_per_character"])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert best == f"max_distance {config['max_distance']}"


def test_its_score_is_what_the_saved_model_gives_the_texts_read_whole(fitted):
    folder, _ = fitted
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = 0.0
    for text in TEST:
        ids = torch.tensor([[*tokenizer(text).input_ids, tokenizer.eos_token_id]])
        nats += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
    characters = len("\n".join(TEST))
    scores = read_metrics(folder)["test"]
    assert scores.keys() == {"uniform characters", "unigram characters", "model", "decoder"}
    assert scores["model"]["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-5)
    assert scores["uniform characters"]["bits_per_character"] == pytest.approx(math.log2(len(set("".join(VERSE))) + 1))


def test_the_folder_is_complete_and_generates_elsewhere(fitted):
    folder, _ = fitted
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md", "metrics.json"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl"))]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    code, class_name = config["auto_map"]["AutoModelForCausalLM"].split(".")
    assert f"class {class_name}" in (folder / f"{code}.py").read_text(encoding="utf-8")
    card = (folder / "README.md").read_text(encoding="utf-8")
    results = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    told = {metric["type"]: metric["value"] for result in results for metric in result["metrics"]}
    assert told == pytest.approx(read_metrics(folder)["test"]["model"])
    (written,) = pipeline("text-generation", model=str(folder))("Ora d", max_new_tokens=3, do_sample=False)
    assert written["generated_text"] == "Ora dire"  # as the verses go on


def test_a_finished_run_is_replaced_only_where_asked_for(fitted, files, tmp_path):
    folder, _ = fitted
    before = (folder / "metrics.json").stat().st_mtime_ns
    options = arguments(**files, **MORE, output_dir=folder)
    with pytest.raises(SystemExit, match=r"holds a model: give another --output_dir, or --overwrite_output_dir"):
        run_here(NAME, tmp_path, *options)
    assert (folder / "metrics.json").stat().st_mtime_ns == before


def test_sentences_are_what_no_vote_reaches_across(files, tmp_path, capsys):
    text = write_lines(tmp_path / "text.txt", "ab cd. ab", "ce! x")
    both = {"train_file": text, "validation_file": text, "compare_with": tmp_path / "none"}
    run_here(NAME, tmp_path, *arguments(**both, sample_by="sentence", max_distance=9, output_dir=tmp_path / "model"))
    tokenizer, model = load(tmp_path / "model", AutoModelForCausalLM)
    votes = model(tokenizer("ab c", return_tensors="pt").input_ids).votes[0, -1]
    d, e, x = tokenizer.convert_tokens_to_ids(["d", "e", "x"])
    assert votes[d] > votes[e] > votes[x] == 0  # "ab\nce" has a line end where "ab c" has a space
    assert "no decoder is there; `python recipes/pretrain_causal.py` trains one" in capsys.readouterr().out
    assert "decoder" not in read_metrics(tmp_path / "model")["test"]


def test_words_are_scored_by_the_word_with_the_share_of_unknown_ones(files, tmp_path, capsys):
    folder = tmp_path / "model"
    run_here(NAME, tmp_path, *arguments(**files, level="words", vocab_size=12, output_dir=folder))
    scores = read_metrics(folder)["test"]
    assert scores.keys() == {"uniform words", "unigram words", "model"}
    assert scores["uniform words"]["bits_per_word"] == pytest.approx(math.log2(12) * 14 / 12)  # two ends, too
    assert 0 < scores["model"]["unknown_words"] <= 1
    assert "they are not compared" in capsys.readouterr().out
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = 0.0
    for text in TEST:
        ids = torch.tensor([[*tokenizer(text).input_ids, tokenizer.eos_token_id]])
        nats += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
    assert scores["model"]["bits_per_word"] == pytest.approx(nats / 12 / math.log(2), rel=1e-5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"level": "bytes"}, "--level bytes: expected one of characters, words"),
        ({"sample_by": "page"}, "--sample_by page: expected document, paragraph, line or sentence"),
        ({"max_distance": 0}, "max_distance=0: it must be at least 1"),
        ({"smoothing": 0}, "smoothing=0.0: a finite number"),
        ({"vocab_size": 4}, "--vocab_size is 4; expected 5 or more"),
        ({"sample_length": 0}, "--sample_length is 0; expected 1 or more"),
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_read(option, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *arguments(train_file="nowhere.txt", validation_file="nowhere.txt", **option))
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_model_to_compare_with_that_is_no_decoder_is_refused_before_anything_is_read(fitted, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *arguments(train_file="nowhere.txt", compare_with=fitted[0]))
    assert "found a model of type atenta_pair_votes; expected atenta_decoder" in capsys.readouterr().err


def test_missing_texts_are_named(tmp_path):
    options = {"train_file": "nowhere.txt", "validation_file": "nowhere.txt", "output_dir": tmp_path / "model"}
    with pytest.raises(SystemExit, match=r"nowhere\.txt"):
        run_here(NAME, tmp_path, *arguments(**options))
