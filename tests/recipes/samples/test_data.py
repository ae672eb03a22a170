"""Integrity of the sample data: encoding, licences, words without overlap, and the documents of Bosque.

`samples/test_samples.py` has the digests of what the samples make of them.
"""

import re
import unicodedata
from itertools import combinations

import pytest

from atenta.recipes.samples.files import DATA, SPLITS, read_cells


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


@pytest.mark.parametrize("name", ["fg2p", "wikipron_br", "wikipron_pt"])
def test_words_of_portuguese_lists_are_in_one_split(name):
    assert_disjoint(*({row[0] for row in read_cells(f"g2p_pt/{name}_{split}.tsv")} for split in SPLITS))


def test_documents_of_bosque_are_in_one_split():
    texts = ((DATA / "bosque" / f"{split}.conllu").read_text(encoding="utf-8") for split in SPLITS)
    assert_disjoint(*(set(re.findall(r"# sent_id = (.+)-\d+", text)) for text in texts))
