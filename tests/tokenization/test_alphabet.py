"""The default alphabet, the vocabulary, and alphabets counted from a corpus."""

import re
import string
import unicodedata

import pytest

from atenta import DEFAULT_ALPHABET
from atenta.tokenization.alphabet import build_vocabulary, count_alphabet


def test_default_alphabet_is_printable_ascii_then_portuguese():
    assert DEFAULT_ALPHABET.startswith(string.printable)
    portuguese = "áàâãéêíóôõúüç"
    assert set(portuguese + portuguese.upper() + "ªº«»“”‘’–—…§°€") <= set(DEFAULT_ALPHABET)


def test_default_alphabet_has_each_composed_character_once_in_both_cases():
    assert len(set(DEFAULT_ALPHABET)) == len(DEFAULT_ALPHABET)
    assert unicodedata.normalize("NFC", DEFAULT_ALPHABET) == DEFAULT_ALPHABET
    letters = [character for character in DEFAULT_ALPHABET if character.isalpha() and character not in "ªº"]
    assert {letter.swapcase() for letter in letters} == set(letters)


def test_order_of_the_vocabulary():
    vocabulary = build_vocabulary("ab", ["<V>", "<3>"])
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    assert list(vocabulary) == ["<pad>", "<bos>", "<eos>", "a", "b", *byte_tokens, "<mask>", "<V>", "<3>"]
    assert list(vocabulary.values()) == list(range(len(vocabulary)))


def test_ids_of_printable_ascii():
    """The ids are those of document 3, corrected: digits come first."""
    vocabulary = build_vocabulary(DEFAULT_ALPHABET)
    assert (vocabulary["0"], vocabulary["a"]) == (3, 13)


@pytest.mark.parametrize(
    ("alphabet", "named"),
    [
        (["a", "bc"], "'bc'"),
        (["a", ""], "''"),
        (["a", "e\u0301"], "'e\u0301'"),
        (["\u212b"], "'\u212b'"),  # the ångström sign, which NFC replaces by a letter
        ("aba", "'a'"),
        (["a", "\ud800"], "alphabet\\[1\\]"),
    ],
)
def test_wrong_characters_are_named(alphabet, named):
    with pytest.raises(ValueError, match=named):
        build_vocabulary(alphabet)


def test_characters_of_other_types_are_named():
    with pytest.raises(TypeError, match=r"alphabet\[1\].*int"):
        build_vocabulary(["a", 3])


@pytest.mark.parametrize(
    "tag", ["V", "<V", "V>", "<>", "<a b>", "<<V>>", "<V>\n", "<pad>", "<bos>", "<eos>", "<mask>", "<0x41>"]
)
def test_wrong_tags_are_named(tag):
    with pytest.raises(ValueError, match=re.escape(repr(tag))):
        build_vocabulary("abc", ["<N>", tag])


def test_repeated_tags_are_named():
    with pytest.raises(ValueError, match="'<V>'"):
        build_vocabulary("abc", ["<V>", "<N>", "<V>"])


def test_tags_of_other_types_are_named():
    with pytest.raises(TypeError, match=r"tags\[0\].*int"):
        build_vocabulary("abc", [3])


def test_characters_are_counted_after_nfc_and_sorted_by_code_point():
    assert count_alphabet(["zebra", "cafe\u0301", "€"]) == "abcefrzé€"


def test_rare_characters_are_left_out():
    assert count_alphabet(["aab", "bbc"], min_count=2) == "ab"
    assert count_alphabet(["aab", "bbc"], min_count=3) == "b"


def test_a_corpus_is_read_once():
    read = []

    def corpus():
        for text in ("um", "dois"):
            read.append(text)
            yield text

    assert count_alphabet(corpus()) == "dimosu"
    assert read == ["um", "dois"]


@pytest.mark.parametrize(
    ("texts", "min_count", "error", "message"),
    [
        ("one text", 1, TypeError, "iterable of texts"),
        (["a", None], 1, TypeError, r"texts\[1\].*None"),
        (["a", "b\udc80"], 1, ValueError, r"texts\[1\].*position 1"),
        (["a"], 0, ValueError, "min_count.*0"),
        ([], 1, ValueError, "No character"),
        (["abc"], 2, ValueError, "No character occurs 2 times"),
    ],
)
def test_wrong_corpora_are_refused(texts, min_count, error, message):
    with pytest.raises(error, match=message):
        count_alphabet(texts, min_count)
