"""The sample data: each sample is complete, has the row format of its task, names its licence and never changes."""

import hashlib
import sys
from contextlib import suppress
from functools import cache
from operator import ne

import pytest
import yaml

from atenta.hub.card_words import LANGUAGES
from atenta.recipes.samples import files
from atenta.recipes.samples.files import SPLITS, read_samples
from atenta.recipes.samples.registry import SAMPLES
from atenta.recipes.tasks.characters import CHARACTER_PAIRS
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.documents import DOCUMENTS
from atenta.recipes.tasks.prompts import PROMPTS
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TaggingTask
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.tasks.transduction import PAIRS
from atenta.recipes.training.parsing import CONFIGS
from atenta.tokenization.base_letters import strip_accents

TAGGED = TaggingTask().row_format
# Format and digest: rows are the same on every machine and in every process, whatever the order of its sets.
ROWS = {
    "accents": (PAIRS, "25f482fafa358ce3"),
    "novels": (DOCUMENTS, "576f4b4627c1eae3"),
    "plays": (PROMPTS, "988d5b362c838ed1"),
    "languages": (LABELLED_TEXTS, "ec3cfa76e4cee0f4"),
    "portuguese": (CHARACTER_PAIRS, "8ac48fd335d3c253"),
    "portuguese_speech": (CHARACTER_PAIRS, "2c702e087b87d1a6"),
    "portuguese_documents": (DOCUMENTS, "ce83ae758e2dd35c"),
    "french_g2p": (PAIRS, "ec6458c37aeca176"),
    "italian_g2p": (PAIRS, "154e23c5ed9b45b5"),
    "romance_g2p": (PAIRS, "e4db6a7940b376bf"),
    "low_resource_g2p": (PAIRS, "dda3eefc0a534bf0"),
    "medium_resource_g2p": (PAIRS, "9ad07bbb168ab6e1"),
    "brazil_g2p": (PAIRS, "7e7fc55a28ffb464"),
    "portuguese_g2p": (PAIRS, "03fa2be28c919815"),
    "misspellings": (TEXT_PAIRS, "13649aa562ae33a7"),
    "hebrew": (PAIRS, "22266619ed6d5496"),
    "lener_br": (TAGGED, "2a4a7bb8a455585d"),
    "bosque": (TAGGED, "a32f463f457e47a8"),
    "faquad": (QUESTIONS, "82d9e1f1dc48e887"),
    "simpler_sentences": (LABELLED_TEXTS, "214eddf4c561e218"),
    "simplification": (PAIRS, "45cb2cc03b0100d0"),
    "titles": (PAIRS, "d8963b8759f94aee"),
}
LARGE = ("portuguese", "portuguese_speech", "portuguese_documents")  # made of 600,000 lines, in a minute
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in SAMPLES]
# What the splits may not share.
KEYS = {
    **dict.fromkeys(("french_g2p", "italian_g2p", "hebrew", "simplification"), lambda row: row["source"]),
    "accents": lambda row: strip_accents(row["source"]),
    "plays": lambda row: (row["prompt"], row["answer"]),
    "languages": lambda row: row["text"],
    "misspellings": lambda row: row["positive"],
    "simpler_sentences": lambda row: frozenset((row["text"], row["text_pair"])),
    "faquad": lambda row: row["context"],
    "titles": lambda row: row["target"].lower(),
    "portuguese_g2p": lambda row: (row["source"], row["tags"][0]),
    "romance_g2p": lambda row: (row["source"], "<pt>" if row["tags"][0] in ("<pt-BR>", "<pt-PT>") else row["tags"][0]),
}


@pytest.fixture(scope="session")
def read(rows_of):
    """Return a function that makes the rows of a sample or reads them from its files, without bad ones."""

    @cache
    def read(name):
        if SAMPLES[name].rows:
            return rows_of(name)
        return {split: good_rows(ROWS[name][0], path) for split, path in SAMPLES[name].split_files().items()}

    return read


def good_rows(row_format, path):
    rows = []
    for _, fields in row_format.read(path):
        with suppress(ValueError):  # two questions of FaQuAD have answers with ambiguous offsets
            rows.append(row_format.check(fields))
    return rows


@pytest.mark.slow
def test_words_of_a_list_have_one_spelling():
    words = read_samples("", SAMPLES["portuguese"].word_list)[0].splitlines()
    bare = [strip_accents(word) for word in words]
    assert len(words) == len(set(bare)) == 724_705
    assert sum(map(ne, words, bare)) == 384_864


def test_descriptions():
    for sample in SAMPLES.values():
        about = sample.about
        assert {"data", "licence"} <= about.keys() <= {"data", "language", "licence", "task", "example"}
        for texts in (about["data"], about.get("task", about["data"])):
            assert texts.keys() == set(LANGUAGES)
            assert all(texts.values())
        assert about["licence"] in {"apache-2.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-4.0"}
        assert about.get("language", "several") in {"pt", "fr", "it", "he", "several"}
    assert len({sample.data for sample in SAMPLES.values()}) == len(SAMPLES)


@pytest.mark.parametrize("name", [name for name in EACH if SAMPLES[name.values[0]].example])
def test_the_example_is_of_the_alphabet_that_is_trained_on(name, read):
    assert {*SAMPLES[name].example} <= {*"".join(row.get("source") or row["text"] for row in read(name)["train"])}


@pytest.mark.parametrize("name", EACH)
def test_rows_never_change(read, name):
    assert list(read(name))[:3] == list(SPLITS)  # and further tests
    assert hashlib.sha256(repr(read(name)).encode()).hexdigest()[:16] == ROWS[name][1]


@pytest.mark.parametrize("name", EACH)
def test_a_sample_says_its_columns_and_has_the_rows_of_its_task(read, name):
    sample, row_format = SAMPLES[name], ROWS[name][0]
    if not sample.rows:
        assert {*row_format.columns} <= {*sample.columns} <= {*row_format.columns, *row_format.optional}
        return
    assert tuple(read(name)["train"][0]) == sample.columns
    for row in (row for rows in read(name).values() for row in rows[:100]):
        # In these rows tags are tokens, but `check` reads them as a text.
        fields = {**row, "tags": ";".join(tag[1:-1] for tag in row["tags"]) or None} if "tags" in row else row
        assert row_format.check(fields) == row


@pytest.mark.slow  # rows of one digest
@pytest.mark.parametrize("name", KEYS)
def test_splits_share_no_row(read, name):
    train, validation, test = (set(map(KEYS[name], read(name)[split])) for split in SPLITS)
    assert not train & (validation | test)
    assert name == "accents" or not validation & test  # whose short spans, such as `a vida`, are in many works


@pytest.mark.parametrize("name", SAMPLES)
def test_missing_files(monkeypatch, tmp_path, name):
    monkeypatch.setattr(files, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path}.*--train_file and --validation_file"):
        (SAMPLES[name].rows or SAMPLES[name].split_files)()


def test_an_installed_package_finds_the_data_of_the_clone_that_it_runs_in(monkeypatch, tmp_path):
    clone, installed = tmp_path / "clone", tmp_path / "site" / "recipes"
    (clone / "recipes" / "data" / "machado").mkdir(parents=True)
    monkeypatch.setattr(files, "__file__", str(installed / "samples" / "files.py"))
    monkeypatch.setattr(sys, "argv", ["atenta train seq2seq"])
    monkeypatch.chdir(tmp_path)
    assert files.find_data() == installed / "data"
    (clone / "docs").mkdir()
    monkeypatch.chdir(clone / "docs")
    assert files.find_data() == clone / "recipes" / "data"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["clone/recipes/seq2seq.py"])
    assert files.find_data() == clone / "recipes" / "data"


def test_texts_are_in_the_order_of_file_names(tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).write_text(f"é {name}", encoding="utf-8")
    assert read_samples(tmp_path) == ["é a.txt", "é b.txt"]
    assert read_samples(tmp_path, "c.tsv") == ["é c.tsv"]


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda config: config.stem)
def test_samples_of_configurations(config):
    sample = yaml.safe_load(config.read_text(encoding="utf-8")).get("sample")
    assert sample is None or sample in SAMPLES
