"""What recipes/data/README.md says of the files holds of the files."""

import json
import re
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "recipes" / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
FOLDERS = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
SPLITS = ("train", "validation", "test")


def read(*parts):
    return DATA.joinpath(*parts).read_text(encoding="utf-8")


def blocks(*parts):
    """Return the sentences of a CoNLL file, each a list of lines."""
    return [block.split("\n") for block in read(*parts).strip("\n").split("\n\n")]


def test_all_data_stay_under_ten_megabytes():
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 9_500_000


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_has_a_section_and_its_size_in_the_table(folder):
    size = sum(path.stat().st_size for path in (DATA / folder).rglob("*") if path.is_file())
    row = next(line for line in README.splitlines() if line.startswith(f"| [{folder}]"))
    assert row.endswith(f"| {size:,} |")
    heading = next(line for line in README.splitlines() if line.startswith(f"## {folder}: "))
    anchor = re.sub(r"[^\w -]", "", heading.removeprefix("## ").lower()).replace(" ", "-")
    assert f"(#{anchor})" in row


@pytest.mark.parametrize(
    ("folder", "file", "words", "licence"),
    [
        ("transliteration_he", "LICENSE", "CC0 1.0 Universal", "CC0 1.0"),
        ("lener_br", "LICENSE", "Copyright (c) 2022 Pedro Henrique Luz de Araujo", "MIT"),
        ("bosque", "LICENSE.txt", "http://creativecommons.org/licenses/by-sa/4.0/", "CC BY-SA 4.0"),
        ("faquad", "LICENSE.txt", "http://creativecommons.org/licenses/by/4.0/", "CC BY 4.0"),
    ],
)
def test_a_licence_stands_beside_the_data(folder, file, words, licence):
    assert words in read(folder, file)
    assert re.search(rf"^\| \[{folder}\].*\| {licence} \|", README, re.MULTILINE)


def test_the_licence_of_the_phones_is_named():
    section = README.split("## g2p: ")[1].split("\n## ")[0]
    assert "https://creativecommons.org/licenses/by-sa/3.0/legalcode" in section
    assert "Wiktionary" in section


def test_every_text_is_utf8_in_nfc_with_unix_line_endings():
    for path in DATA.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("utf-8")
            assert "\r" not in text, path
            assert unicodedata.is_normalized("NFC", text), path


@pytest.mark.parametrize(("language", "sizes"), [("fre", (8000, 1000, 1000)), ("ita", (800, 100, 100))])
def test_g2p(language, sizes):
    words = {}
    for part, size in zip(("train", "dev", "test"), sizes):
        rows = [line.split("\t") for line in read("g2p", f"{language}_{part}.tsv").splitlines()]
        assert len(rows) == size
        assert all(word and all(phones.split(" ")) for word, phones in rows)
        words[part] = {word for word, _ in rows}
        assert len(words[part]) == size
    assert not any(words[one] & words[other] for one, other in combinations(words, 2))


def test_transliteration():
    names = {}
    for split, size in zip(SPLITS, (16_000, 1000, 1000)):
        rows = [line.split("\t") for line in read("transliteration_he", f"{split}.tsv").splitlines()]
        assert len(rows) == size
        names[split] = {name for name, _ in rows}
        assert len(names[split]) == size
        assert not any(re.search(r"\s", name + letters) for name, letters in rows)
        assert all(any("א" <= letter <= "ת" for letter in letters) for name, letters in rows if not name.isdigit())
    assert not any(names[one] & names[other] for one, other in combinations(SPLITS, 2))


@pytest.mark.parametrize(("split", "file"), [("train", "train"), ("validation", "dev"), ("test", "test")])
def test_lener_br(split, file):
    sentences = blocks("lener_br", f"{file}.conll")
    words, tags = zip(*(line.split(" ") for sentence in sentences for line in sentence))
    lengths = [len(" ".join(line.split(" ")[0] for line in sentence)) for sentence in sentences]
    types = {"JURISPRUDENCIA", "LEGISLACAO", "LOCAL", "ORGANIZACAO", "PESSOA", "TEMPO"}
    assert set(tags) == {"O"} | {f"{prefix}-{type}" for prefix in "BI" for type in types}
    entities = sum(tag.startswith("B-") for tag in tags)
    assert (
        f"| {split} | {file}.conll | {len(sentences):,} | {len(words):,} | {entities:,} "
        f"| {sum(lengths) / len(lengths):.1f}, {max(lengths):,} |"
    ) in README


@pytest.mark.parametrize("split", SPLITS)
def test_bosque_is_conllu_with_four_columns(split):
    sentences = blocks("bosque", f"{split}.conllu")
    documents, syntactic_words = Counter(), 0
    for sentence in sentences:
        comments = dict(line.removeprefix("# ").split(" = ", 1) for line in sentence if line.startswith("#"))
        assert comments.keys() == {"sent_id", "text"}
        documents[comments["sent_id"].rsplit("-", 1)[0]] += 1
        rows = [line.split("\t") for line in sentence if not line.startswith("#")]
        assert all(len(row) == 10 and row[4:] == ["_"] * 6 for row in rows)
        words = [row for row in rows if "-" not in row[0]]
        assert [row[0] for row in words] == [str(number) for number in range(1, len(words) + 1)]
        assert all(row[3].isupper() for row in words)
        # The words of a contraction stand in the text as the contraction only.
        ranges = [range(int(row[0].split("-")[0]), int(row[0].split("-")[1]) + 1) for row in rows if "-" in row[0]]
        contracted = {str(number) for numbers in ranges for number in numbers}
        written = "".join(row[1] for row in rows if row[0] not in contracted)
        assert written.replace(" ", "") == comments["text"].replace(" ", "")
        syntactic_words += len(words)
    row = f"| {split} | {split}.conllu | {len(documents)} | {len(sentences):,} | {syntactic_words:,} |"
    assert row in README


def test_no_document_of_bosque_is_in_two_splits():
    documents = {
        split: set(re.findall(r"^# sent_id = (.+)-\d+$", read("bosque", f"{split}.conllu"), re.MULTILINE))
        for split in SPLITS
    }
    assert all(documents.values())
    assert not any(documents[one] & documents[other] for one, other in combinations(SPLITS, 2))


@pytest.mark.parametrize("file", ["train.json", "dev.json"])
def test_faquad(file):
    paragraphs = [
        paragraph for article in json.loads(read("faquad", file))["data"] for paragraph in article["paragraphs"]
    ]
    lengths = [len(paragraph["context"]) for paragraph in paragraphs]
    questions = [question for paragraph in paragraphs for question in paragraph["qas"]]
    answers = [
        (paragraph["context"], answer)
        for paragraph in paragraphs
        for question in paragraph["qas"]
        for answer in question["answers"]
    ]
    wrong = sum(not context.startswith(answer["text"], answer["answer_start"]) for context, answer in answers)
    assert (
        f"| {file} | {len(paragraphs)} | {len(questions)} | {len(answers):,} | {wrong} "
        f"| {sum(lengths) / len(lengths):.1f}, {max(lengths):,} |"
    ) in README


def test_faquad_has_no_paragraph_in_both_files():
    contexts = [
        {
            paragraph["context"]
            for article in json.loads(read("faquad", file))["data"]
            for paragraph in article["paragraphs"]
        }
        for file in ("train.json", "dev.json")
    ]
    assert not contexts[0] & contexts[1]
