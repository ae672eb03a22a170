"""Portuguese running text: splits that do not meet, sentences, spelling, the files of the repository.

The slow tests are about rows whose digest `test_samples.py` knows.
"""

import re

import pytest

from atenta.recipes.reading.file_formats import read_conll
from atenta.recipes.samples.files import DATA
from atenta.recipes.samples.portuguese_texts import cut_into_sentences
from atenta.tokenization.base_letters import strip_accents


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of("portuguese")


@pytest.mark.slow
def test_no_text_of_a_test_is_trained_on(rows):
    known = {strip_accents(each).lower() for each in cut_into_sentences(row["target"] for row in rows["train"])}
    for name in rows.keys() - {"train"}:
        assert not known & {line for row in rows[name] for line in row["source"].lower().split("\n")}


@pytest.mark.slow
def test_no_test_sentence_repeats_half_of_a_training_text(rows):
    trained = "\n".join({" ".join(re.findall(r"\w+", row["source"].lower())) for row in rows["train"]})
    for row in rows["test"][::100]:
        words = re.findall(r"\w+", row["source"].lower())
        runs = [" ".join(words[start : start + 8]) for start in range(len(words) - 7)]
        repeated = sum(run in trained for run in runs)
        assert repeated == 0 or 2 * repeated < len(runs) + 2, row


@pytest.mark.slow
def test_sources_of_the_further_tests_are_unknown_to_training(rows):
    trained = {row["domain"] for row in rows["train"]}
    assert {row["domain"] for row in rows["test"]} < {row["domain"] for row in rows["validation"]} < trained
    assert not trained & {"essays", "everyday", "plays"}
    sources = {row["source"] for row in rows["train"]}
    for line in (DATA / "portugues" / "enciclopedia-wikipedia.txt").read_text(encoding="utf-8").splitlines():
        assert strip_accents(line) not in sources


@pytest.mark.slow
def test_old_spelling_is_left_out(rows):
    literature = " ".join(row["target"] for row in rows["train"] if row["domain"] == "literature")
    assert "idéia" not in literature
    assert "ü" not in literature
    assert "ideias" not in literature  # the reform of 2009 is later than the edition
    assert len(literature) > 1_500_000


def test_sentences_are_cut_after_their_ends():
    lines = ["Uma. Duas! três? Quatro… “Cinco”", "A seção 1.2 vale. 7 vezes"]
    assert list(cut_into_sentences(lines)) == [
        *("Uma.", "Duas! três?", "Quatro…", "“Cinco”"),
        *("A seção 1.2 vale.", "7 vezes"),
    ]


@pytest.mark.slow
def test_documents_have_no_text_of_other_tasks_tests(rows, rows_of):
    documents = rows_of("portuguese_documents")
    trained = {line for row in documents["train"] for line in row["text"].splitlines()}
    text = "\n".join(trained)
    assert len(text) > 10_000_000
    sentences = [" ".join(fields["words"]) for _, fields in read_conll(DATA / "lener_br" / "test.conll")]
    assert not {sentence for sentence in sentences if len(sentence.split()) > 12} & trained
    for split in ("validation", "test"):
        lines = (DATA / "bosque" / f"{split}.conllu").read_text(encoding="utf-8").splitlines()
        sentences = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        assert not any(sentence in text for sentence in sentences if len(sentence.split()) > 8)
    for context in ("validation", "test"):
        for row in documents[context]:
            assert not {line for line in row["text"].splitlines() if len(line) > 200} & trained
    # Nor is the news that the accents are tested on.
    news = [row["target"] for row in rows["test"] if row["domain"] == "news" and len(row["target"]) > 60]
    assert news
    assert not any(sentence in text for sentence in news)
