"""Taggers of characters: accents and capitals, confidence, half precision, spellings, refusals."""

import re

import datasets
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from atenta import AtentaEncoderForMaskedLM, CharacterRestorer
from atenta.recipes import finetune_characters
from atenta.recipes.reading.records import BadRow
from atenta.recipes.tasks.documents import DocumentArguments
from atenta.recipes.training.options import RecipeArguments
from atenta.tokenization.base_letters import strip_accents
from support.recipe_cases import ACCENTED, CASES, TEST_ACCENTED, refused_files, write_files
from support.recipes import assert_picture, load, read_metrics, read_predictions, refusal, run_here, tiny, write_lines
from support.saved import save_with_tokenizer

NAME = "finetune_characters"
# The options of the default configuration that are meant for large data, set for a few sentences.
FEW = {"min_variant_count": 1, "min_character_count": 1, "max_length": 64}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        "train_file": write_lines(folder / "train.txt", *ACCENTED * 8),
        "validation_file": write_lines(folder / "validation.txt", *TEST_ACCENTED),
    }


def test_all_that_is_saved_and_reported(trained):
    run = trained(NAME)
    assert_picture(run.folder / "reliability.png")
    assert_picture(run.folder / "scores_by_length.png")
    metrics, rows = read_metrics(run.folder), read_predictions(run.folder)
    assert metrics["rounding"]["characters"] == sum(map(len, TEST_ACCENTED))
    assert metrics["characters_per_second"] > 0
    assert metrics["confidence"].keys() == {"0.9", "0.99"}
    assert metrics["by_domain"].keys() == {"news"}
    assert sum(each["texts"] for each in metrics["by_length"].values()) == len(rows)
    wrong = sum(
        output != gold for row in rows for output, gold in zip(row["output"].split(), row["gold"].split(), strict=True)
    )
    assert sum(metrics["wrong_words"].values()) == wrong
    assert "wrong_words:" in run.done.stdout
    card = (run.folder / "README.md").read_text(encoding="utf-8")
    assert 'pipeline("character-restoration"' in card
    assert "Wrong words of the test" in card


def test_scores_are_those_of_the_saved_model_which_has_learnt(trained):
    folder = trained(NAME).folder
    metrics, rows = read_metrics(folder), read_predictions(folder)
    restorer = CharacterRestorer.from_pretrained(folder)
    assert metrics["temperature"] == restorer.model.config.confidence_temperature
    assert [row["output"] for row in rows] == [each.text for each in restorer.restore([row["source"] for row in rows])]
    scores = metrics["test"]
    right = sum(row["output"] == row["gold"] for row in rows)
    assert scores["model"]["exact_match"] == pytest.approx(right / len(rows))
    assert scores["model"]["letters_kept"] == 1
    assert scores["model"]["choice_error_rate"] < scores["left as it is"]["choice_error_rate"] / 2


def test_weights_are_saved_in_half_precision_and_load_in_single(trained):
    folder = trained(NAME).folder
    saved = load_file(folder / "model.safetensors")
    assert {each.dtype for name, each in saved.items() if not name.startswith("classifier.")} == {torch.float16}
    assert saved["classifier.weight"].dtype == torch.float32
    _, model = load(folder, AutoModelForTokenClassification)
    assert {each.dtype for each in model.parameters()} == {torch.float32}


def test_from_a_pretrained_encoder_on_texts_alone_without_accents_case_and_spellings(texts, tmp_path):
    save_with_tokenizer(AtentaEncoderForMaskedLM, tmp_path / "pretrained", position_embedding_type="rotary")
    options = {**texts, **FEW, "output_dir": tmp_path / "model", "strip": ["accents", "case"], "spellings": False}
    run_here(NAME, tmp_path, *tiny(NAME, **options, model_name_or_path=tmp_path / "pretrained"))
    rows = read_predictions(tmp_path / "model")
    assert [row["source"] for row in rows] == [strip_accents(sentence).lower() for sentence in TEST_ACCENTED]
    assert not (tmp_path / "model" / "spellings.txt").exists()
    restorer = CharacterRestorer.from_pretrained(tmp_path / "model")
    assert set(restorer.model.config.character_variants["e"]) == set("eéE")
    assert restorer.codes.spellings is None
    (restored,) = restorer.restore(["nao"])
    assert strip_accents(restored.text).lower() == "nao"


def test_a_saved_tagger_keeps_its_labels_and_spellings(trained, texts, tmp_path):
    folder = trained(NAME).folder
    options = {**texts, **FEW, "output_dir": tmp_path / "model", "strip": "accents"}
    run_here(NAME, tmp_path, *tiny(NAME, **options, model_name_or_path=folder))
    before, after = (CharacterRestorer.from_pretrained(each).model.config for each in (folder, tmp_path / "model"))
    assert after.character_variants == before.character_variants
    assert after.id2label == before.id2label
    assert (tmp_path / "model" / "spellings.txt").read_bytes() == (folder / "spellings.txt").read_bytes()


def test_words_of_a_list_that_the_model_is_not_sure_of_join_the_spellings(tmp_path):
    words = ["jiló", "jilós", "camada", "não", "vôlei", "volei", "hm"]  # not: known, of two, without a choice
    options = {**write_files(CASES[NAME], tmp_path), **CASES[NAME].options, "output_dir": tmp_path / "model"}
    options["word_list"] = write_lines(tmp_path / "words.txt", *words)
    run_here(NAME, tmp_path, *tiny(NAME, **options))
    restorer = CharacterRestorer.from_pretrained(tmp_path / "model")
    assert [each.text for each in restorer.restore(["jilo", "jilos", "camada"])] == ["jiló", "jilós", "camada"]
    added = {word for word in words if restorer.codes.spellings.of(word) == (word,)} - {"não"}
    assert added <= {"jiló", "jilós", "camada"}
    assert read_metrics(tmp_path / "model")["listed_words"] == {"read": len(words), "added": len(added)}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("jiló\ndois nomes\n", {}, "words.txt, line 2: found dois nomes; expected one word"),
        (None, {}, "words.txt: No such file"),
        ("jiló\n", {"spellings": False}, "--spellings true"),
        ("jiló\n", {"strip": ["case"]}, "restores no capitals"),
    ],
)
def test_a_list_of_words_that_cannot_be_read_or_used_is_refused(content, options, message, texts, tmp_path):
    if content is not None:
        (tmp_path / "words.txt").write_text(content, encoding="utf-8")
    options = {**texts, **FEW, "strip": ["accents"], "word_list": tmp_path / "words.txt", **options}
    reason = refusal(NAME, tmp_path, *tiny(NAME, **options, output_dir=tmp_path / "model"))
    assert reason.startswith("--word_list ")
    assert message in reason


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ("a\ta\n", {}, "found no character"),
        (None, {"min_character_count": 1000}, "--min_character_count 1000: No character occurs 1000 times"),
        (None, {"max_length": 2}, "--max_length 2: expected 3 or more"),
    ],
)
def test_data_that_leave_nothing_to_learn_are_refused(pairs, options, message, tmp_path):
    if pairs:
        (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    words = refused_files(NAME, tmp_path, tmp_path / "pairs.tsv" if pairs else None, **options)
    assert message in refusal(NAME, tmp_path, *words)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_rows_without_choices_cannot_be_scored(split, tmp_path):
    none = write_lines(tmp_path / "none.tsv", "12\t12")
    reason = refusal(NAME, tmp_path, *refused_files(NAME, tmp_path), f"--{split}_file", none)
    assert re.search(f"Found none of .* {split}", reason)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_text_that_cannot_be_stripped_is_named_by_its_line_and_may_be_skipped(tmp_path, monkeypatch, streaming):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    files = {"train_file": [str(write_lines(tmp_path / "train.txt", "Já é", "x\u0304 é", "Não"))]}
    files["validation_file"] = [str(write_lines(tmp_path / "validation.txt", "Só"))]
    training = RecipeArguments(output_dir=str(tmp_path / "model"), use_cpu=True, report_to="none")

    def sources(**options):
        data = DocumentArguments(**files, sample_by="line", streaming=streaming, **options)
        rows = finetune_characters._load_pairs(data, finetune_characters.CharacterArguments(["accents"]), training)
        return [row["source"] for row in rows["train"]]

    with pytest.raises((SystemExit, BadRow), match=r"train\.txt, line 2: .*--skip_bad_rows"):
        sources()
    assert sources(skip_bad_rows=True) == ["Ja e", "Nao"]


def test_what_is_stripped_is_known_and_of_texts_of_ones_own(tmp_path, capsys):
    assert "--strip case makes pairs of your own texts" in refusal(NAME, tmp_path, "--strip", "case")
    with pytest.raises(SystemExit):
        run_here(NAME, tmp_path, "--strip", "vowels")
    assert "expected one of accents, case" in capsys.readouterr().err
