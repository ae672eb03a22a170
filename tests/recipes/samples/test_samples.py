"""The registry of sample data: each is there, reads as its task's rows, and says whose it is."""

from dataclasses import replace
from functools import partial

import pytest
import yaml

from atenta.recipes.reading import conll, documents, labelled, pairs, prompts, questions, squad, tables, tagged
from atenta.recipes.samples import SAMPLES
from atenta.recipes.samples.files import SPLITS
from atenta.recipes.training.command_line import CONFIGS

CHECKS = {
    **dict.fromkeys(("accents", "french_g2p", "italian_g2p", "hebrew"), pairs.check),
    **dict.fromkeys(("lener_br", "bosque"), tagged.check),
    **{"novels": documents.check, "plays": prompts.check, "languages": labelled.check, "faquad": questions.check},
}
READERS = {
    ".tsv": partial(tables.read_table, columns=["source", "target"]),
    ".conll": conll.read_conll,
    ".conllu": partial(conll.read_conllu, tag_column="upos"),
    ".json": squad.read_squad,
}
LICENCES = {"apache-2.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-4.0"}

every_sample = pytest.mark.parametrize("name", SAMPLES)


def test_each_sample_is_held_here():
    assert CHECKS.keys() == SAMPLES.keys()


@every_sample
def test_a_sample_is_files_or_rows_and_says_whose_it_is(name):
    sample = SAMPLES[name]
    assert bool(sample.files) != bool(sample.rows)
    assert {"data", "licence"} <= sample.about.keys() <= {"data", "language", "licence"}
    assert sample.about["licence"] in LICENCES
    assert sample.about.get("language", "several") in {"pt", "fr", "it", "he", "several"}


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.files])
def test_files_are_there_and_read_as_rows_of_the_task(name):
    files = SAMPLES[name].split_files()
    assert list(files) == list(SPLITS[: len(files)])
    assert len(set(files.values())) == len(files)
    rows = dict.fromkeys(files, 0)
    for split, file in files.items():
        for _, fields in READERS[file[file.rindex(".") :]](file):
            try:
                CHECKS[name](fields)
                rows[split] += 1
            except ValueError:
                assert name == "faquad"  # two of its answers stand in several places
    assert all(rows.values())
    assert rows["train"] > rows["validation"]


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.rows])
def test_rows_are_those_of_the_task(name):
    made = SAMPLES[name].rows()
    assert list(made) == list(SPLITS)
    for rows in made.values():
        assert rows
        # Tags are tokens here, and texts in files.
        assert all(CHECKS[name]({**row, "tags": None} if "tags" in row else row) == row for row in rows[:100])


@every_sample
def test_what_is_said_of_the_data_is_not_shared(name):
    about = [sample.about["data"] for sample in SAMPLES.values()]
    assert about.count(SAMPLES[name].about["data"]) == 1


def test_missing_files_name_the_flags():
    with pytest.raises(FileNotFoundError, match=r"no nothing\.tsv in .*--train_file and --validation_file"):
        replace(SAMPLES["hebrew"], files=("hebrew/nothing.tsv",)).split_files()


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda config: config.stem)
def test_a_configuration_names_a_sample_or_leaves_the_data_to_the_user(config):
    sample = yaml.safe_load(config.read_text(encoding="utf-8")).get("sample")
    assert sample is None or sample in SAMPLES
