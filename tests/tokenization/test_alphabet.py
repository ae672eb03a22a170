"""The default alphabet, the vocabulary, and alphabets counted from a corpus."""

import re
import string
import unicodedata

import pytest

from atenta import DEFAULT_ALPHABET
from atenta.tokenization.alphabet import build_vocabulary, count_alphabet


def test_default_alphabet_is_printable_ascii_then_portuguese_once_in_both_cases():
    assert DEFAULT_ALPHABET.startswith(string.printable)
    portuguese = "áàâãéêíóôõúüç"
    assert set(portuguese + portuguese.upper() + "ªº«»“”‘’–—…§°€") <= set(DEFAULT_ALPHABET)
    assert len(set(DEFAULT_ALPHABET)) == len(DEFAULT_ALPHABET)
    assert unicodedata.normalize("NFC", DEFAULT_ALPHABET) == DEFAULT_ALPHABET
    letters = [character for character in DEFAULT_ALPHABET if character.isalpha() and character not in "ªº"]
    assert {letter.swapcase() for letter in letters} == set(letters)


def test_order_of_the_vocabulary():
    vocabulary = build_vocabulary("ab", ["<V>", "<3>"])
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    assert list(vocabulary) == ["<pad>", "<bos>", "<eos>", "a", "b", *byte_tokens, "<mask>", "<V>", "<3>"]
    assert list(vocabulary.values()) == list(range(len(vocabulary)))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *(
            ({"alphabet": characters}, wrong)
            for characters, wrong in [(["a", "bc"], "bc"), (["a", ""], ""), ("aba", "a")]
        ),
        ({"alphabet": ["a", "e\u0301"]}, "e\u0301"),
        ({"alphabet": ["\u212b"]}, "\u212b"),  # the ångström sign, which NFC replaces by a letter
        *(({"tags": ["<N>", tag]}, tag) for tag in ("V", "<V", "V>", "<>", "<a b>", "<<V>>", "<V>\n", "<N>")),
        *(({"tags": [token]}, token) for token in ("<pad>", "<bos>", "<eos>", "<mask>", "<0x41>")),
        *(({"units": units}, units[-1]) for units in (["a"], [" a", " a"], [" e\u0301"])),
    ],
)
def test_wrong_tokens_are_named(options, named):
    with pytest.raises(ValueError, match=re.escape(repr(named))):
        build_vocabulary(**({"alphabet": "abc"} | options))


@pytest.mark.parametrize("name", ["alphabet", "tags", "units"])
@pytest.mark.parametrize(("wrong", "error"), [(3, TypeError), ("\ud800", ValueError)])
def test_what_is_no_text_is_named(name, wrong, error):
    with pytest.raises(error, match=rf"{name}\[1\]"):
        build_vocabulary(**({"alphabet": "abc"} | {name: ["<V>", wrong]}))


@pytest.mark.parametrize(
    ("texts", "min_count", "alphabet"),
    [(["zebra", "cafe\u0301", "€"], 1, "abcefrzé€"), (["aab", "bbc"], 2, "ab"), (["aab", "bbc"], 3, "b")],
)
def test_characters_are_counted_after_nfc_and_sorted_by_code_point(texts, min_count, alphabet):
    """The corpus is read once; rare characters are left out."""
    assert count_alphabet(iter(texts), min_count) == alphabet


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
