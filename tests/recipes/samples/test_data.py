"""Integrity of the sample data: encoding, licences, words without overlap, and the documents of Bosque.

`samples/test_samples.py` has the digests of what the samples make of them.
"""

import hashlib
import re
import unicodedata
from itertools import combinations

import pytest

from atenta.recipes.samples.files import DATA, SPLITS, read_cells


def blocks(split):
    """The sentences of Bosque, each a list of lines."""
    text = (DATA / "bosque" / f"{split}.conllu").read_text(encoding="utf-8")
    return [block.split("\n") for block in text.strip("\n").split("\n\n")]


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
    ("file", "words"),
    [
        ("transliteration_he/LICENSE", "CC0 1.0 Universal"),
        ("lener_br/LICENSE", "Copyright (c) 2022 Pedro Henrique Luz de Araujo"),
        ("bosque/LICENSE.txt", "http://creativecommons.org/licenses/by-sa/4.0/"),
        ("faquad/LICENSE.txt", "http://creativecommons.org/licenses/by/4.0/"),
        ("simplification_pt/LICENSE.txt", "http://creativecommons.org/licenses/by/4.0/"),
        ("g2p_pt/LICENSE-ipa-dict.txt", "Copyright (c) 2016 dohliam"),
    ],
)
def test_licences(file, words):
    assert words in (DATA / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "digest"),
    [("fg2p", "057a60952dc8211f"), ("wikipron_br", "0fed03229663b57d"), ("wikipron_pt", "9232038b7143f86a")],
)
def test_words_of_portuguese_lists_are_in_one_split(name, digest):
    splits = [read_cells(f"g2p_pt/{name}_{split}.tsv") for split in SPLITS]
    assert hashlib.sha256(repr(splits).encode()).hexdigest()[:16] == digest
    assert all(len(row) > 1 and not re.search(r"[ A-Z]", "".join(row)) for rows in splits for row in rows)
    words = [{row[0] for row in rows} for rows in splits]
    assert [*map(len, words)] == [*map(len, splits)]  # each once
    assert_disjoint(*words)


@pytest.mark.parametrize("split", SPLITS)
def test_words_of_bosque_make_up_the_text_of_their_sentence(split):
    for sentence in blocks(split):
        comments = dict(line.removeprefix("# ").split(" = ", 1) for line in sentence if line.startswith("#"))
        rows = [line.split("\t") for line in sentence if not line.startswith("#")]
        # The text contains contractions instead of their words.
        ranges = [range(int(row[0].split("-")[0]), int(row[0].split("-")[1]) + 1) for row in rows if "-" in row[0]]
        contracted = {str(number) for numbers in ranges for number in numbers}
        written = "".join(row[1] for row in rows if row[0] not in contracted)
        assert written.replace(" ", "") == comments["text"].replace(" ", "")


def test_documents_of_bosque_are_in_one_split():
    identifiers = [re.findall(r"# sent_id = (.+)-\d+", "\n".join(map("\n".join, blocks(split)))) for split in SPLITS]
    assert_disjoint(*map(set, identifiers))
