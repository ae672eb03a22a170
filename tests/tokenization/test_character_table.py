"""Ids from a table of code points, against the tokenizer that the table was made from."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizerFast

from atenta import DEFAULT_ALPHABET, AtentaTokenizer, CharacterTable
from atenta.tokenization.alphabet import NORMALIZER
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

DEVANAGARI = "".join(map(chr, range(0x0900, 0x0980)))
HEBREW = "".join(map(chr, (*range(0x05B0, 0x05C8), *range(0x05D0, 0x05EB), *range(0xFB1D, 0xFB50))))
VIETNAMESE = "aăâeêioôơuưy" + "".join(map(chr, range(0x1EA0, 0x1EFA)))
HANGUL = "".join(map(chr, (*range(0x1100, 0x1200), *range(0xAC00, 0xAC80))))
MARKS = "".join(map(chr, range(0x0300, 0x0345)))
SCRIPTS = {
    "Portuguese": DEFAULT_ALPHABET,
    "Devanagari": DEVANAGARI + " a<eos>",
    "Hebrew": HEBREW + " ",
    "Vietnamese": VIETNAMESE + MARKS + " ",
    "Hangul": HANGUL + " 😀",
}


def in_nfc(characters):
    return "".join(dict.fromkeys(c for c in characters if NORMALIZER.normalize_str(c) == c))


TOKENIZERS = {
    script: AtentaTokenizer.from_alphabet(in_nfc(characters), family="decoder", tags=["<V>"])
    for script, characters in SCRIPTS.items()
}
TABLES = {script: CharacterTable(tokenizer) for script, tokenizer in TOKENIZERS.items()}

SPECIAL = ["<eos>", "<mask>", "<V>", "<0x41>"]
texts = st.one_of(
    st.text(),
    st.text(st.sampled_from("aeiou" + MARKS)),
    st.text(st.sampled_from("가\u1100\u1161\u11a8\u1162 a\U00011131\U00011127\u09c7\u09be\u0b47\u0b56")),
    *[st.text(st.sampled_from(characters)) for characters in SCRIPTS.values()],
    st.lists(st.one_of(st.sampled_from(SPECIAL), st.text("ação e\u0301😀\u212b"))).map("".join),
)
many_texts = settings(derandomize=True, max_examples=300)


def ids_of(tokenizer, texts):
    return tokenizer(texts, add_special_tokens=False, split_special_tokens=True).input_ids


@many_texts
@given(st.lists(texts, max_size=6))
@example(["", "\u0301", "a\u0301", "a\u0301\u0323 b\u0327\u0301"])
def test_ids_equal_the_tokenizers(batch):
    for script, table in TABLES.items():
        expected = [ids_of(TOKENIZERS[script], text) for text in batch]
        assert [ids.tolist() for ids in table.encode_batch(batch)] == expected, script
        assert [table.encode(text).tolist() for text in batch] == expected, script


def test_each_character_of_the_first_planes_after_a_letter():
    """Some are newer than the tokenizer's tables. The only marks in the other planes are U+E0100 to U+E01EF."""
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0100, 0xE01F0)]
    texts = ["e" + "e".join(map(chr, codes[start : start + 256])) for start in range(0, len(codes), 256)]
    encoded = TABLES["Portuguese"].encode_batch(texts)
    assert [ids.tolist() for ids in encoded] == ids_of(TOKENIZERS["Portuguese"], texts)


def test_calls_and_changes_of_the_tokenizer_do_not_change_the_table():
    tokenizer = AtentaTokenizer.from_alphabet("abc", family="encoder", model_max_length=4)
    tokenizer(["a", "abcabc"], padding=True, truncation=True)
    table = CharacterTable(tokenizer)
    tokenizer(["a", "abcabc"], padding=True, truncation=True)
    tokenizer.add_tokens(["é"])
    expected = AtentaTokenizer.from_alphabet("abc", family="encoder")
    texts = ["é", "éabcabcabc", "a<mask>é"]
    assert [ids.tolist() for ids in table.encode_batch(texts)] == ids_of(expected, texts)


def composed():
    """Yield each pair of characters that Unicode composes, and the composed character."""
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            yield "".join(chr(int(part, 16)) for part in parts), chr(code)


def test_every_pair_that_composes():
    pairs = [pair for pair, _ in composed()] + ["\u1100\u1161", "가\u11a8"]
    alphabet = in_nfc("".join(pairs) + "".join(one for _, one in composed()))
    tokenizer = AtentaTokenizer.from_alphabet(alphabet, family="encoder")
    table = CharacterTable(tokenizer)
    assert len(pairs) > 1000
    assert [table.encode(pair).tolist() for pair in pairs] == [ids_of(tokenizer, pair) for pair in pairs]


@pytest.mark.parametrize("rare", ["", "e\u0301", "😀"])
def test_a_long_text(rare):
    text = ("Não há nada melhor.\n" * 5000 + rare) * 3
    assert TABLES["Portuguese"].encode(text).tolist() == ids_of(TOKENIZERS["Portuguese"], text)


@pytest.mark.parametrize("family", INPUT_FORMATS)
def test_a_saved_tokenizer_has_the_same_table(family, tmp_path):
    tokenizer = AtentaTokenizer.from_alphabet("ação ", family=family, tags=["<V>"])
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    loaded.add_special_tokens({"extra_special_tokens": ["<N>", "x"]})  # tokens that the model does not have
    for text in ("ação", "ac\u0327a\u0303o <eos><V><N>x", ""):
        assert CharacterTable(loaded).encode(text).tolist() == ids_of(tokenizer, text)


def test_ids_have_the_smallest_data_type():
    assert TABLES["Portuguese"].dtype == TABLES["Portuguese"].encode("a😀").dtype == np.uint16
    assigned = (chr(code) for code in range(0x3400, 0x32000) if unicodedata.category(chr(code)) == "Lo")
    tokenizer = AtentaTokenizer.from_alphabet(in_nfc("".join(assigned)), family="decoder")
    table = CharacterTable(tokenizer)
    text = "\u3400\U0002a6d0a"
    assert len(tokenizer) > 1 << 16
    assert table.dtype == table.encode(text).dtype == np.int32
    assert table.encode(text).tolist() == ids_of(tokenizer, text)


@pytest.mark.parametrize("text", ["ab\ud83d", "\udc00\u0301"])
@pytest.mark.parametrize("script", ["Portuguese", "Hebrew"])
def test_lone_surrogates_are_refused(text, script):
    with pytest.raises(ValueError, match=r"`text` has the lone surrogate '.*' at position"):
        TABLES[script].encode(text)
    with pytest.raises(ValueError, match=r"`texts\[1\]` has the lone surrogate"):
        TABLES[script].encode_batch(["a", text])


@pytest.mark.parametrize(
    ("method", "wrong", "named"),
    [
        ("encode", b"a", r"`text` is b'.*' \(bytes\)"),
        ("encode_batch", ["a", None], r"`texts\[1\]` is None \(NoneType\)"),
        ("encode_batch", "abc", r"`texts` is 'abc' \(str\)"),
        ("encode_batch", map(str, "ab"), r"`texts` is .* \(map\)"),
    ],
)
def test_other_types_are_refused(method, wrong, named):
    with pytest.raises(TypeError, match=named):
        getattr(TABLES["Portuguese"], method)(wrong)


def character_tokenizer(normalizer=NORMALIZER, added=(), **options):
    """Return a tokenizer like that of `AtentaTokenizer`, with other parts or options of its model."""
    model = {"vocab": {"a": 0, "b": 1, "ab": 2, "<0x41>": 3}, "merges": [], "byte_fallback": True}
    backend = Tokenizer(BPE(**model | options))
    if normalizer is not None:
        backend.normalizer = normalizer
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    tokenizer.add_tokens(list(added))
    return tokenizer


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"merges": [("a", "b")]}, r"merges \[\['a', 'b'\]\]"),
        ({"byte_fallback": False}, "byte_fallback False"),
        ({"ignore_merges": True}, "ignore_merges True"),
        ({"end_of_word_suffix": "b"}, "end_of_word_suffix 'b'"),
        ({"added": ["ab"]}, r"added_tokens \['ab'\]"),
        ({"normalizer": None}, "normalizer None"),
    ],
)
def test_other_tokenizers_are_refused(options, named):
    CharacterTable(character_tokenizer())
    with pytest.raises(ValueError, match=f"found {named}.*AtentaTokenizer"):
        CharacterTable(character_tokenizer(**options))
    with pytest.raises(ValueError, match=r"\(ByT5Tokenizer\)"):
        CharacterTable(ByT5Tokenizer())
