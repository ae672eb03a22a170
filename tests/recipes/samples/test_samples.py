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
from atenta.recipes.samples.files import SPLITS
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
    for rows in made.values():
        assert rows
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


def test_missing_files():
    with pytest.raises(FileNotFoundError, match=r"no nothing\.tsv in .*--train_file and --validation_file"):
        replace(SAMPLES["hebrew"], files=("hebrew/nothing.tsv",)).split_files()


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda config: config.stem)
def test_samples_of_configurations(config):
    sample = yaml.safe_load(config.read_text(encoding="utf-8")).get("sample")
    assert sample is None or sample in SAMPLES
