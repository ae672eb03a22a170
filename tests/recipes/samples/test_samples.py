"""The sample data: each sample is complete, has the row format of its task, names its licence and never changes."""

import hashlib
import sys

import pytest
import yaml

from atenta.hub.card_words import LANGUAGES
from atenta.recipes.samples import SAMPLES, files
from atenta.recipes.samples.files import SPLITS, read_samples
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
FORMATS_OF_FILES = {
    **dict.fromkeys(("french_g2p", "italian_g2p", "hebrew"), PAIRS),
    **{"lener_br": TAGGED, "bosque": TAGGED, "faquad": QUESTIONS},
}
FORMATS_OF_ROWS = {
    **{"accents": PAIRS, "romance_g2p": PAIRS, "brazil_g2p": PAIRS, "portuguese_g2p": PAIRS},
    "low_resource_g2p": PAIRS,
    **{"novels": DOCUMENTS, "portuguese_documents": DOCUMENTS, "plays": PROMPTS, "languages": LABELLED_TEXTS},
    **{"portuguese": CHARACTER_PAIRS, "portuguese_speech": CHARACTER_PAIRS, "misspellings": TEXT_PAIRS},
    **{"simpler_sentences": LABELLED_TEXTS, "simplification": PAIRS, "titles": PAIRS},
}
# Of the rows: they are the same on every machine and in every process, whatever the order of its sets.
DIGESTS = {
    "accents": "25f482fafa358ce3",
    "novels": "576f4b4627c1eae3",
    "plays": "988d5b362c838ed1",
    "languages": "ec3cfa76e4cee0f4",
    "portuguese": "8ac48fd335d3c253",
    "portuguese_speech": "2c702e087b87d1a6",
    "portuguese_documents": "ca9b42727353e0bb",
    "romance_g2p": "e4db6a7940b376bf",
    "low_resource_g2p": "dda3eefc0a534bf0",
    "brazil_g2p": "7e7fc55a28ffb464",
    "portuguese_g2p": "9f892da6b5322297",
    "misspellings": "13649aa562ae33a7",
    "simpler_sentences": "214eddf4c561e218",
    "simplification": "45cb2cc03b0100d0",
    "titles": "d8963b8759f94aee",
}
# What the splits may not share.
KEYS = {
    "accents": lambda row: strip_accents(row["source"]),
    "plays": lambda row: (row["prompt"], row["answer"]),
    "languages": lambda row: row["text"],
    "misspellings": lambda row: row["positive"],
    "simpler_sentences": lambda row: frozenset((row["text"], row["text_pair"])),
    "simplification": lambda row: row["source"],
    "titles": lambda row: row["target"].lower(),
    "portuguese_g2p": lambda row: (row["source"], row["tags"][0]),
    "romance_g2p": lambda row: (row["source"], "<pt>" if row["tags"][0] in ("<pt-BR>", "<pt-PT>") else row["tags"][0]),
}


def test_every_sample_is_tested():
    assert FORMATS_OF_FILES.keys() | FORMATS_OF_ROWS.keys() == SAMPLES.keys()


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


@pytest.mark.parametrize("name", FORMATS_OF_FILES)
def test_samples_of_files(name):
    paths, row_format = SAMPLES[name].split_files(), FORMATS_OF_FILES[name]
    assert {*row_format.columns} <= {*SAMPLES[name].columns} <= {*row_format.columns, *row_format.optional}
    assert list(paths) == list(SPLITS)
    assert len(set(paths.values())) == len(paths)
    rows = dict.fromkeys(paths, 0)
    for split, path in paths.items():
        for _, fields in row_format.read(path):
            try:
                row_format.check(fields)
                rows[split] += 1
            except ValueError:
                assert name == "faquad"  # two of its questions have answers with ambiguous offsets
    assert rows["train"] > rows["validation"] > 0 < rows["test"]


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.example])
def test_the_example_is_of_the_alphabet_that_is_trained_on(name, rows_of):
    made = SAMPLES[name].rows and rows_of(name)["train"]
    rows = made or [row for _, row in FORMATS_OF_FILES[name].read(SAMPLES[name].split_files()["train"])]
    assert {*SAMPLES[name].example} <= {*"".join(row.get("source") or row["text"] for row in rows)}


@pytest.mark.parametrize("name", FORMATS_OF_ROWS)
def test_samples_of_rows(rows_of, name):
    made, check = rows_of(name), FORMATS_OF_ROWS[name].check
    assert list(made)[:3] == list(SPLITS)  # and further tests
    assert all(tuple(row) == SAMPLES[name].columns for rows in made.values() for row in rows[:1])
    assert hashlib.sha256(repr(made).encode()).hexdigest()[:16] == DIGESTS[name]
    for rows in made.values():
        # In these rows tags are tokens, but `check` reads them as a text.
        for row in rows[:100]:
            fields = {**row, "tags": ";".join(tag[1:-1] for tag in row["tags"]) or None} if "tags" in row else row
            assert check(fields) == row


@pytest.mark.parametrize("name", KEYS)
def test_splits_share_no_row(rows_of, name):
    train, validation, test = (set(map(KEYS[name], rows_of(name)[split])) for split in SPLITS)
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
