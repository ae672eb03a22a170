"""Taggers of characters end to end: accents and capitals, baselines, confidence, files, refusals."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from atenta import AtentaEncoderForMaskedLM, AtentaEncoderForTokenClassification, CharacterRestorer
from atenta.tokenization.base_letters import strip_accents
from support.recipes import (
    assert_complete,
    assert_picture,
    assert_reported,
    launch_two,
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

NAME = "finetune_characters"
BASELINES = {"left as it is", "most frequent spelling", "most frequent after the word before"}
SENTENCES = ["Ela está lá.", "Esta ação é só dela.", "E a mãe não vem.", "Já é café com pão."]
TEST = [*SENTENCES, "A ação não é dela.", "Está só, e não vem!"]
LEARNING = {
    **{"max_steps": 60, "eval_steps": 30, "save_steps": 30, "logging_steps": 20, "hidden_size": 32},
    **{"max_length": 64, "min_spelling_count": 1, "min_variant_count": 1, "min_character_count": 1},
}


def pairs(sentences):
    return [f"{strip_accents(sentence)}\t{sentence}" for sentence in sentences]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("characters")
    return {
        "train_file": write_lines(folder / "train.tsv", *pairs(SENTENCES * 8)),
        "validation_file": write_lines(folder / "validation.tsv", *pairs(SENTENCES)),
        "test_file": write_lines(folder / "test.tsv", *(f"{pair}\tnews" for pair in pairs(TEST))),
    }


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        "train_file": write_lines(folder / "train.txt", *SENTENCES * 8),
        "validation_file": write_lines(folder / "validation.txt", *TEST),
    }


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    options = {**files, **LEARNING, "output_dir": folder / "model"}
    return folder / "model", run_recorded(NAME, folder, *tiny(NAME, **options))


def settle(options):
    """The options of the default configuration that are meant for large data, set for a few sentences."""
    return {"min_variant_count": 1, "min_character_count": 1, "max_length": 64, **options}


def test_everything_is_saved_and_reported(trained):
    folder, done = trained
    assert_complete(folder, "AutoModelForTokenClassification", BASELINES)
    assert_reported(done, folder)
    assert_picture(folder / "reliability.png")
    assert_picture(folder / "scores_by_length.png")
    metrics = read_metrics(folder)
    assert metrics["rounding"]["characters"] == sum(map(len, TEST))
    assert metrics["characters_per_second"] > 0
    assert metrics["confidence"].keys() == {"0.9", "0.99"}
    assert metrics["temperature"] == CharacterRestorer.from_pretrained(folder).model.config.confidence_temperature
    wrong = sum(
        given != wanted
        for row in read_predictions(folder)
        for given, wanted in zip(row["output"].split(), row["gold"].split(), strict=True)
    )
    assert sum(metrics["wrong_words"].values()) == wrong
    assert "wrong_words:" in done.stdout
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert 'pipeline("character-restoration"' in card
    assert "Wrong words of the test" in card


def test_scores_are_those_of_the_saved_model(trained):
    folder, _ = trained
    metrics = read_metrics(folder)
    rows = read_predictions(folder)
    restored = CharacterRestorer.from_pretrained(folder).restore([row["source"] for row in rows])
    assert [row["output"] for row in rows] == [each.text for each in restored]
    assert [row["gold"] for row in rows] == TEST
    right = sum(row["output"] == row["gold"] for row in rows)
    assert metrics["test"]["model"]["exact_match"] == pytest.approx(right / len(rows))
    assert metrics["test"]["model"]["letters_kept"] == 1
    assert metrics["by_domain"].keys() == {"news"}
    assert sum(each["texts"] for each in metrics["by_length"].values()) == len(rows)


def test_the_model_has_learnt(trained):
    folder, _ = trained
    scored = read_metrics(folder)["test"]
    assert scored["model"]["choice_error_rate"] < scored["left as it is"]["choice_error_rate"] / 2


def test_weights_are_saved_in_half_precision_and_load_in_single(trained):
    folder, _ = trained
    saved = load_file(folder / "model.safetensors")
    assert {each.dtype for name, each in saved.items() if not name.startswith("classifier.")} == {torch.float16}
    assert saved["classifier.weight"].dtype == torch.float32
    _, model = load(folder, AutoModelForTokenClassification)
    assert {each.dtype for each in model.parameters()} == {torch.float32}


def test_a_finished_run_is_scored_again_without_training(trained, files, tmp_path):
    folder, _ = trained
    before = read_metrics(folder)
    options = {**files, **LEARNING, "output_dir": folder}
    done = run_recorded(NAME, tmp_path, *tiny(NAME, **options))
    assert "Resuming from" in done.stdout
    assert read_metrics(folder)["test"] == before["test"]


def test_texts_alone_with_accents_and_case_stripped(texts, tmp_path):
    options = settle({**texts, "output_dir": tmp_path / "model", "strip": ["accents", "case"]})
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    rows = read_predictions(tmp_path / "model")
    assert [row["source"] for row in rows] == [strip_accents(sentence).lower() for sentence in TEST]
    variants = CharacterRestorer.from_pretrained(tmp_path / "model").model.config.character_variants
    assert set(variants["e"]) == set("eéE")


def test_from_a_pretrained_encoder(texts, tmp_path):
    save_with_tokenizer(AtentaEncoderForMaskedLM, tmp_path / "pretrained", position_embedding_type="rotary")
    options = settle({**texts, "output_dir": tmp_path / "model", "strip": "accents"})
    run_here(NAME, tmp_path, *tiny(NAME, **options, model_name_or_path=tmp_path / "pretrained"))
    (restored,) = CharacterRestorer.from_pretrained(tmp_path / "model").restore(["nao"])
    assert strip_accents(restored.text) == "nao"


def test_a_saved_tagger_keeps_its_labels(trained, texts, tmp_path):
    folder, _ = trained
    options = settle({**texts, "output_dir": tmp_path / "model", "strip": "accents"})
    run_here(NAME, tmp_path, *tiny(NAME, **options, model_name_or_path=folder))
    before, after = (CharacterRestorer.from_pretrained(each).model.config for each in (folder, tmp_path / "model"))
    assert after.character_variants == before.character_variants
    assert after.id2label == before.id2label
    saved, kept = ((each / "spellings.txt").read_text(encoding="utf-8") for each in (folder, tmp_path / "model"))
    assert kept == saved


def test_without_spellings(files, tmp_path):
    options = settle({**files, "output_dir": tmp_path / "model", "spellings": False})
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    assert not (tmp_path / "model" / "spellings.txt").exists()
    assert CharacterRestorer.from_pretrained(tmp_path / "model").codes.spellings is None


@pytest.mark.slow
def test_two_processes_score_as_one(files, tmp_path):
    options = settle({**files, "output_dir": tmp_path / "model", "bf16": False, "use_cpu": True})
    launch_two(NAME, *tiny(NAME, **options))
    assert read_metrics(tmp_path / "model")["test"].keys() == {*BASELINES, "model"}


def _words(folder):
    save_with_tokenizer(AtentaEncoderForTokenClassification, folder / "words")
    return "--model_name_or_path", folder / "words"


def _named(files):
    return [part for name, path in files.items() for part in (f"--{name}", path)] + ["--min_variant_count", 1]


def test_refusals(files, texts, tmp_path):
    bad = write_lines(tmp_path / "bad.tsv", "a\tá", "acao\tações")
    assert "bad.tsv, line 2" in refusal(NAME, tmp_path, "--train_file", bad, "--validation_file", bad)
    same = write_lines(tmp_path / "same.tsv", "a\ta")
    assert "tags words" in refusal(NAME, tmp_path, *_words(tmp_path), *_named(files))
    assert "found no character" in refusal(NAME, tmp_path, "--train_file", same, "--validation_file", same)
    rare = refusal(NAME, tmp_path, *_named(files), "--min_character_count", 1000)
    assert rare.startswith("--min_character_count 1000: No character occurs 1000 times")


def test_texts_to_strip_have_to_be_named(tmp_path):
    assert "--strip case makes pairs of your own texts" in refusal(NAME, tmp_path, "--strip", "case")


def test_a_validation_without_choices_is_refused(files, tmp_path):
    none = write_lines(tmp_path / "none.tsv", "12\t12")
    given = "--train_file", files["train_file"], "--validation_file", none, "--min_variant_count", 1
    assert "Found none of" in refusal(NAME, tmp_path, *given)


def test_unknown_options_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, "--strip", "vowels")
    assert "expected some of accents, case" in capsys.readouterr().err


def test_a_window_of_no_characters_is_refused(tmp_path):
    assert refusal(NAME, tmp_path, "--max_length", 2).startswith("--max_length 2: expected 3 or more")


@pytest.mark.parametrize("name", ["min_variant_count", "min_character_count", "min_spelling_count"])
def test_counts_below_1_are_refused_by_the_command_line(name, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, f"--{name}", 0)
    assert f"--{name} 0: expected 1 or more" in capsys.readouterr().err
