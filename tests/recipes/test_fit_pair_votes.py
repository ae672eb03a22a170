"""Tests of recipes/fit_pair_votes.py end to end: the distance, the scores and the saved model."""

import json
import math

import pytest
from transformers import AutoModelForCausalLM, pipeline

from atenta import AtentaDecoderForCausalLM, AtentaPairVotesForCausalLM, AtentaTokenizer
from atenta.recipes.training.results import table
from support.models import nats_at_once, tiny_model
from support.recipes import (
    arguments,
    assert_complete,
    load,
    read_metrics,
    run_here,
    run_recorded,
    write_jsonl,
    write_lines,
)
from support.saved import save, save_with_tokenizer

NAME = "fit_pair_votes"
VERSE = ["Ora direis ouvir estrelas.", "Certo perdeste o senso!", "E eu vos direi no entanto", "que para ouvi-las"]
TEST = ["muita vez desperto.", "e abro as janelas, pálido de espanto"]
BASELINES = {"uniform characters", "unigram characters", "decoder"}
MORE = {"prompt": "Ora ", "sample_length": 20}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        "train_file": write_lines(folder / "train.txt", "\n\n".join(VERSE * 4)),
        "validation_file": write_jsonl(folder / "validation.jsonl", [{"text": "\n\n".join(VERSE)}]),
        "test_file": write_lines(folder / "test.csv", "text", *(f'"{text}"' for text in TEST)),
    }


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A folder with a tiny decoder of rows of eight characters, as pretrain_causal.py saves it."""
    folder = tmp_path_factory.mktemp("decoder")
    tokenizer = AtentaTokenizer.from_texts(VERSE, family="decoder")
    sizes = {"vocab_size": len(tokenizer), "num_hidden_layers": 1, "max_position_embeddings": 8}
    save(tiny_model(AtentaDecoderForCausalLM, **sizes), tokenizer, folder)
    return folder


@pytest.fixture(scope="module")
def fitted(files, decoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    options = {**files, **MORE, "max_distance": [4, 1], "compare_with": decoder, "output_dir": folder / "model"}
    return folder / "model", run_recorded(NAME, folder, *arguments(**options))


def test_streams_are_refused(files, tmp_path):
    with pytest.raises(SystemExit, match="--streaming"):
        run_here(NAME, tmp_path, *arguments(**files, streaming=True))


def test_data_scores_and_a_sample_are_printed(fitted):
    folder, done = fitted
    metrics = read_metrics(folder)
    for scores in (metrics["validation"], metrics["test"]):
        assert f"\n{table(scores)}\n" in done.stdout
    assert done.stdout.index("outside the alphabet") < done.stdout.index("validation\n")
    assert "\r" not in done.stderr
    sample = (folder / "sample.txt").read_text(encoding="utf-8")
    assert sample in done.stdout
    assert len("Ora ") < len(sample) <= len("Ora ") + 20


def test_the_best_distance_on_the_validation_texts_is_kept(fitted):
    folder, _ = fitted
    by_distance = read_metrics(folder)["validation"]
    assert by_distance.keys() == {"max_distance 4", "max_distance 1"}
    best = min(by_distance, key=lambda name: by_distance[name]["bits_per_character"])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert best == f"max_distance {config['max_distance']}"


def test_the_score_is_the_loss_of_the_saved_model(fitted):
    folder, _ = fitted
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = nats_at_once(model, [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in TEST])
    characters = len("\n".join(TEST))
    scores = read_metrics(folder)["test"]
    assert scores["model"]["bits_per_character"] == pytest.approx(nats / characters / math.log(2), rel=1e-5)
    assert scores["uniform characters"]["bits_per_character"] == pytest.approx(math.log2(len(set("".join(VERSE))) + 1))


def test_the_saved_folder_is_complete_and_generates(fitted):
    folder, _ = fitted
    assert_complete(folder, "AutoModelForCausalLM", BASELINES, trained=False)
    (written,) = pipeline("text-generation", model=str(folder))("Ora d", max_new_tokens=3, do_sample=False)
    assert written["generated_text"] == "Ora dire"  # as in the verses


def test_a_model_is_replaced_only_with_the_option(fitted, files, tmp_path):
    folder, _ = fitted
    before = (folder / "metrics.json").stat().st_mtime_ns
    options = arguments(**files, **MORE, output_dir=folder)
    with pytest.raises(SystemExit, match=r"is there already; give another --output_dir, or --overwrite_output_dir"):
        run_here(NAME, tmp_path, *options)
    assert (folder / "metrics.json").stat().st_mtime_ns == before


def test_tokens_vote_only_within_their_sentence(files, tmp_path, capsys):
    text = write_lines(tmp_path / "text.txt", "ab cd. ab", "ce! x")
    both = {"train_file": text, "validation_file": text, "compare_with": tmp_path / "none"}
    run_here(NAME, tmp_path, *arguments(**both, sample_by="sentence", max_distance=9, output_dir=tmp_path / "model"))
    tokenizer, model = load(tmp_path / "model", AutoModelForCausalLM)
    votes = model(tokenizer("ab c", return_tensors="pt").input_ids).votes[0, -1]
    d, e, x = tokenizer.convert_tokens_to_ids(["d", "e", "x"])
    assert votes[d] > votes[e] > votes[x] == 0  # "ab\nce" has a line end where "ab c" has a space
    assert "found no decoder; `python recipes/pretrain_causal.py` trains one" in capsys.readouterr().out
    assert "decoder" not in read_metrics(tmp_path / "model")["test"]


def test_words_have_scores_per_word_and_the_share_of_unknown_words(files, tmp_path, capsys):
    folder = tmp_path / "model"
    run_here(NAME, tmp_path, *arguments(**files, level="words", vocab_size=12, output_dir=folder))
    scores = read_metrics(folder)["test"]
    assert scores.keys() == {"uniform words", "unigram words", "model"}
    predicted, words = 14, 12  # two ends are predicted too
    assert scores["uniform words"]["bits_per_word"] == pytest.approx(math.log2(12) * predicted / words)
    assert 0 < scores["model"]["unknown_words"] <= 1
    assert "No decoder is compared" in capsys.readouterr().out
    tokenizer, model = load(folder, AutoModelForCausalLM)
    nats = nats_at_once(model, [[*tokenizer(text).input_ids, tokenizer.eos_token_id] for text in TEST])
    assert scores["model"]["bits_per_word"] == pytest.approx(nats / words / math.log(2), rel=1e-5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"level": "bytes"}, "--level bytes"),
        ({"sample_by": "page"}, "--sample_by page"),
        ({"max_distance": 0}, "max_distance=0"),
        ({"smoothing": 0}, "smoothing=0.0"),
        ({"vocab_size": 4}, "--vocab_size 4: expected 5 or more: <pad>"),
        ({"sample_length": 0}, "--sample_length 0"),
        ({"seed": 2**32}, "--seed 4294967296"),
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_read(option, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, *arguments(train_file="nowhere.txt", validation_file="nowhere.txt", **option))
    assert message in " ".join(capsys.readouterr().err.split())


def test_comparison_with_another_kind_of_model_is_refused_at_once(tmp_path, capsys):
    save_with_tokenizer(AtentaPairVotesForCausalLM, tmp_path / "votes")
    for content in (None, "{", "[1]", "{}", "[" * 5000):
        if content is not None:
            write_lines(tmp_path / "votes" / "config.json", content)
        with pytest.raises(SystemExit):
            run_here(NAME, tmp_path, *arguments(train_file="nowhere.txt", compare_with=tmp_path / "votes"))
        printed = capsys.readouterr().err
        assert f"--compare_with {tmp_path / 'votes'}: " in printed
        assert ("atenta_pair_votes; expected atenta_decoder" if content is None else "config.json") in printed
