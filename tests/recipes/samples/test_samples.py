"""The sample data: each sample is complete, has the row format of its task, and names its licence."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from inspect import getsource

import pytest
import yaml

from atenta.hub.card_words import LANGUAGES
from atenta.recipes.reading.file_formats import read_conll, read_conllu
from atenta.recipes.samples import SAMPLES
from atenta.recipes.samples.accents import accent_pairs
from atenta.recipes.samples.dialogue import dialogue_prompts
from atenta.recipes.samples.files import SPLITS, novels, read_samples
from atenta.recipes.samples.languages import language_words
from atenta.recipes.samples.misspellings import misspellings
from atenta.recipes.samples.portuguese_texts import portuguese_documents, portuguese_texts
from atenta.recipes.samples.romance import romance_words
from atenta.recipes.tasks.characters import CHARACTER_PAIRS
from atenta.recipes.tasks.classification import LABELLED_TEXTS
from atenta.recipes.tasks.documents import DOCUMENTS
from atenta.recipes.tasks.pairs import PAIRS
from atenta.recipes.tasks.prompts import PROMPTS
from atenta.recipes.tasks.questions import QUESTIONS
from atenta.recipes.tasks.tagging import TAGGED_SENTENCES
from atenta.recipes.tasks.text_pairs import TEXT_PAIRS
from atenta.recipes.training.parsing import CONFIGS

TAGGED = replace(TAGGED_SENTENCES, readers={".conll": read_conll, ".conllu": partial(read_conllu, tag_column="upos")})
FORMATS = {
    **dict.fromkeys(("accents", "french_g2p", "italian_g2p", "romance_g2p", "brazil_g2p", "hebrew"), PAIRS),
    **dict.fromkeys(("lener_br", "bosque"), TAGGED),
    **{
        "novels": DOCUMENTS,
        "portuguese_documents": DOCUMENTS,
        "plays": PROMPTS,
        "languages": LABELLED_TEXTS,
        "faquad": QUESTIONS,
    },
    **{"portuguese": CHARACTER_PAIRS, "misspellings": TEXT_PAIRS},
}
OF_FILES = [name for name, sample in SAMPLES.items() if sample.files]
OF_ROWS = [name for name, sample in SAMPLES.items() if sample.rows]
SIZES = {
    "accents": {"train": 38605, "validation": 2180, "test": 2210, "sentences": 600, "paragraphs": 100},
    "novels": {"train": 7, "validation": 1, "test": 1},
    "plays": {"train": 2975, "validation": 309, "test": 444},
    "languages": {"train": 1977, "validation": 243, "test": 228},
    "portuguese": {
        **{"train": 122795, "validation": 5522, "test": 5765, "documents": 48},
        **{"encyclopaedia": 1505, "essays": 1728, "everyday": 169, "plays": 3894},
    },
    "portuguese_documents": {"train": 1698, "validation": 19, "test": 19},
    "romance_g2p": {
        **{"train": 59610, "validation": 685, "test": 2012},
        **{"Brazil": 622, "Portugal": 539, "Galician": 228, "Spanish": 200, "Italian": 219, "French": 204},
    },
    "brazil_g2p": {"train": 9406, "validation": 272, "test": 622},
    "misspellings": {"train": 87280, "validation": 1000, "test": 1000, "hard": 1000, "random letters": 1000},
}
LICENCES = {"apache-2.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-4.0"}


def test_every_sample_is_tested():
    assert sorted(OF_FILES + OF_ROWS) == sorted(SAMPLES) == sorted(FORMATS)


def test_descriptions():
    for sample in SAMPLES.values():
        assert {"data", "licence"} <= sample.about.keys() <= {"data", "language", "licence", "task", "example"}
        for texts in (sample.about["data"], sample.about.get("task", sample.about["data"])):
            assert texts.keys() == set(LANGUAGES)
            assert all(texts.values())
        assert sample.about["licence"] in LICENCES
        assert sample.about.get("language", "several") in {"pt", "fr", "it", "he", "several"}
    assert len({tuple(sample.about["data"].values()) for sample in SAMPLES.values()}) == len(SAMPLES)


@pytest.mark.parametrize("name", OF_FILES)
def test_samples_of_files(name):
    files, row_format = SAMPLES[name].split_files(), FORMATS[name]
    assert list(files) == list(SPLITS[: len(files)])
    assert len(set(files.values())) == len(files)
    rows = dict.fromkeys(files, 0)
    for split, file in files.items():
        for _, fields in row_format.read(file):
            try:
                row_format.check(fields)
                rows[split] += 1
            except ValueError:
                assert name == "faquad"  # two of its questions have answers with ambiguous offsets
    assert all(rows.values())
    assert rows["train"] > rows["validation"]


@pytest.mark.parametrize("name", OF_ROWS)
def test_samples_of_rows(name):
    made, check = SAMPLES[name].rows(), FORMATS[name].check
    assert list(made)[:3] == list(SPLITS)  # and further tests
    assert {split: len(rows) for split, rows in made.items()} == SIZES[name]
    for rows in made.values():
        # In these rows tags are tokens, but `check` reads them as a text.
        for row in rows[:100]:
            given = {**row, "tags": ";".join(tag[1:-1] for tag in row["tags"]) or None} if "tags" in row else row
            assert check(given) == row


def digest_of_rows():
    import hashlib

    from atenta.recipes.samples import SAMPLES

    rows = {name: sample.rows() for name, sample in SAMPLES.items() if sample.rows}
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def test_rows_are_the_same_in_every_process():
    other = subprocess.run(
        [sys.executable, "-c", f"{getsource(digest_of_rows)}\nprint(digest_of_rows())"],
        env={**os.environ, "PYTHONHASHSEED": "1"},  # another order of sets; the seed of this process is random
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest_of_rows()


@pytest.mark.parametrize("make", [accent_pairs, language_words, misspellings])
def test_the_seed_decides(make):
    one, other = make(seed=0), make(seed=1)
    assert all(one[split] != other[split] for split in SPLITS)


@pytest.mark.parametrize(
    "make",
    [
        *(accent_pairs, dialogue_prompts, language_words, misspellings, novels),
        *(portuguese_documents, portuguese_texts, romance_words),
    ],
)
def test_missing_folder(make, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"--train_file and --validation_file"):
        make(tmp_path)


def test_texts_are_in_the_order_of_file_names(tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).write_text(f"é {name}", encoding="utf-8")
    assert read_samples(tmp_path) == ["é a.txt", "é b.txt"]
    assert read_samples(tmp_path, "c.tsv") == ["é c.tsv"]


def test_missing_files():
    with pytest.raises(FileNotFoundError, match=r"no nothing\.tsv in .*--train_file and --validation_file"):
        replace(SAMPLES["hebrew"], files=("hebrew/nothing.tsv",)).split_files()


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda config: config.stem)
def test_samples_of_configurations(config):
    sample = yaml.safe_load(config.read_text(encoding="utf-8")).get("sample")
    assert sample is None or sample in SAMPLES
