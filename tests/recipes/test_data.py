"""Integrity of the sample data: encoding, format, licences, sizes, and splits without overlap."""

import json
import re
import unicodedata
from collections import Counter
from itertools import combinations

import pytest

from atenta.recipes.samples.files import DATA, SPLITS


def read(*parts):
    return DATA.joinpath(*parts).read_text(encoding="utf-8")


def blocks(*parts):
    """The sentences of a CoNLL file, each a list of lines."""
    return [block.split("\n") for block in read(*parts).strip("\n").split("\n\n")]


def assert_disjoint(*sets):
    assert all(sets)
    assert not any(one & other for one, other in combinations(sets, 2))


def test_texts_are_utf_8_in_nfc_with_unix_line_ends():
    for path in DATA.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("utf-8")
            assert "\r" not in text, path
            assert unicodedata.is_normalized("NFC", text), path


@pytest.mark.parametrize(
    ("folder", "file", "words"),
    [
        ("transliteration_he", "LICENSE", "CC0 1.0 Universal"),
        ("lener_br", "LICENSE", "Copyright (c) 2022 Pedro Henrique Luz de Araujo"),
        ("bosque", "LICENSE.txt", "http://creativecommons.org/licenses/by-sa/4.0/"),
        ("faquad", "LICENSE.txt", "http://creativecommons.org/licenses/by/4.0/"),
        ("simplification_pt", "LICENSE.txt", "http://creativecommons.org/licenses/by/4.0/"),
        ("g2p_pt", "LICENSE-ipa-dict.txt", "Copyright (c) 2016 dohliam"),
    ],
)
def test_licences(folder, file, words):
    assert words in read(folder, file)


@pytest.mark.parametrize(("language", "sizes"), [("fre", (8000, 1000, 1000)), ("ita", (800, 100, 100))])
def test_g2p(language, sizes):
    splits = []
    for part, size in zip(("train", "dev", "test"), sizes):
        rows = [line.split("\t") for line in read("g2p", f"{language}_{part}.tsv").splitlines()]
        assert all(word and all(phones.split(" ")) for word, phones in rows)
        splits.append({word for word, _ in rows})
        assert len(rows) == len(splits[-1]) == size
    assert_disjoint(*splits)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("fg2p", ((57561, 57561), (9594, 9594), (28782, 28782))),
        ("wikipron_br", ((28648, 77924), (1574, 4323), (1640, 4458))),
        ("wikipron_pt", ((44069, 65172), (2416, 3550), (2522, 3714))),
    ],
)
def test_portuguese_g2p(name, sizes):
    splits = []
    for split, (words, pronunciations) in zip(SPLITS, sizes):
        rows = [line.split("\t") for line in read("g2p_pt", f"{name}_{split}.tsv").splitlines()]
        splits.append({word for word, *_ in rows})
        assert len(rows) == len(splits[-1]) == words
        assert sum(len(set(pronounced)) for _, *pronounced in rows) == pronunciations
        assert not any(re.search(r"[ A-Z]", "".join(row)) for row in rows)
    assert_disjoint(*splits)


def test_transliteration():
    splits = []
    for split, size in zip(SPLITS, (16_000, 1000, 1000)):
        rows = [line.split("\t") for line in read("transliteration_he", f"{split}.tsv").splitlines()]
        splits.append({name for name, _ in rows})
        assert len(rows) == len(splits[-1]) == size
        assert not any(re.search(r"\s", name + letters) for name, letters in rows)
        assert all(any("א" <= letter <= "ת" for letter in letters) for name, letters in rows if not name.isdigit())
    assert_disjoint(*splits)


@pytest.mark.parametrize(
    ("file", "sizes"), [("train", (7827, 229277, 8894)), ("dev", (1176, 41166, 1818)), ("test", (1389, 47630, 1536))]
)
def test_lener_br(file, sizes):
    sentences = blocks("lener_br", f"{file}.conll")
    words, tags = zip(*(line.split(" ") for sentence in sentences for line in sentence))
    types = {"JURISPRUDENCIA", "LEGISLACAO", "LOCAL", "ORGANIZACAO", "PESSOA", "TEMPO"}
    assert set(tags) == {"O"} | {f"{prefix}-{type}" for prefix in "BI" for type in types}
    assert (len(sentences), len(words), sum(tag.startswith("B-") for tag in tags)) == sizes


@pytest.mark.parametrize(
    ("split", "sizes"), [("train", (295, 1361, 33051)), ("validation", (61, 285, 6928)), ("test", (61, 300, 7268))]
)
def test_bosque(split, sizes):
    """The files are CoNLL-U with four columns, and their words make up the text of the sentence."""
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
        # The text contains contractions instead of their words.
        ranges = [range(int(row[0].split("-")[0]), int(row[0].split("-")[1]) + 1) for row in rows if "-" in row[0]]
        contracted = {str(number) for numbers in ranges for number in numbers}
        written = "".join(row[1] for row in rows if row[0] not in contracted)
        assert written.replace(" ", "") == comments["text"].replace(" ", "")
        syntactic_words += len(words)
    assert (len(documents), len(sentences), syntactic_words) == sizes


def test_documents_of_bosque_are_in_one_split():
    pattern = re.compile(r"^# sent_id = (.+)-\d+$", re.MULTILINE)
    assert_disjoint(*(set(pattern.findall(read("bosque", f"{split}.conllu"))) for split in SPLITS))


def paragraphs_of_faquad(file):
    articles = json.loads(read("faquad", file))["data"]
    return [paragraph for article in articles for paragraph in article["paragraphs"]]


@pytest.mark.parametrize(
    ("file", "sizes"), [("train.json", (162, 657, 1971)), ("dev.json", (38, 63, 198)), ("test.json", (49, 180, 540))]
)
def test_faquad(file, sizes):
    paragraphs = paragraphs_of_faquad(file)
    questions = [question for paragraph in paragraphs for question in paragraph["qas"]]
    assert (len(paragraphs), len(questions), sum(len(question["answers"]) for question in questions)) == sizes


def test_paragraphs_of_faquad_are_in_one_file():
    files = [paragraphs_of_faquad(file) for file in ("train.json", "dev.json", "test.json")]
    assert_disjoint(*({paragraph["context"] for paragraph in file} for file in files))


def test_simplification():
    sources = []
    for split, size in zip(SPLITS, (6568, 673, 830)):
        head, *rows = (line.split("\t") for line in read("simplification_pt", f"{split}.tsv").splitlines())
        assert head == ["level", "changed", "split", "source", "target"]
        assert len(rows) == size
        assert {level for level, *_ in rows} == {"ORI>NAT", "NAT>STR", "ORI>STR"}
        assert {cell for _, changed, divided, *_ in rows for cell in (changed, divided)} == {"N", "S"}
        sources.append({source for _, changed, _, source, _ in rows if changed == "S"})
    assert_disjoint(*sources)
