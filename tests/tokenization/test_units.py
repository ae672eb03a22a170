"""Units of targets, such as phones separated by spaces: one token each, without loss."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from atenta import AtentaTokenizer
from atenta.engines.text_ids import TextIds
from atenta.tokenization.alphabet import find_units

WORDS = ["pagina", "città", "gli"]
PHONES = ["p a d͡ʒ i n a", "t͡ʃ i t t a", "ʎ i", "aː d͡ʒ"]


def build(family="encoder-decoder", **options):
    return AtentaTokenizer.from_texts(
        [*WORDS, *PHONES], family=family, targets=PHONES, target_separator=" ", **options
    )


def tokens(tokenizer, text):
    return tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False).input_ids)


def test_units_are_found_as_they_are_in_texts():
    assert find_units(["t͡ʃ i t", "i"], " ") == sorted({"t͡ʃ", " i", " t", "i"})
    assert find_units(["a|b", "e\u0301|"], "|") == sorted({"a", "|b", "é", "|"})
    assert find_units(["ab"], "::") == ["ab"]
    plain, same = (
        AtentaTokenizer.from_texts(PHONES, family="encoder-decoder", targets=targets) for targets in (None, PHONES)
    )
    assert same.backend_tokenizer.to_str() == plain.backend_tokenizer.to_str()  # without a separator


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("p a d͡ʒ i", ["p", " a", " d͡ʒ", " i"]),
        ("aː d͡ʒ", ["aː", " d͡ʒ"]),
        ("pagina", list("pagina")),  # a word
        ("p pa", ["p", " ", "p", "a"]),  # an unknown unit
        ("a ç", ["a", " ", "<0xC3>", "<0xA7>"]),
    ],
)
def test_a_known_unit_is_one_token_and_all_else_is_read_by_characters(text, read):
    tokenizer = build()
    assert tokens(tokenizer, text) == read
    assert tokenizer(text_target=text).input_ids == tokenizer(text).input_ids


@pytest.mark.parametrize("family", ["encoder", "decoder", "encoder-decoder"])
@given(text=st.text(st.sampled_from("padʒ͡ iː\u0303ç\n<>"), max_size=30) | st.text(st.characters(codec="utf-8")))
def test_nothing_is_lost(family, text):
    tokenizer = build(family)
    ids = tokenizer(text, split_special_tokens=True).input_ids
    normal = tokenizer.backend_tokenizer.normalizer.normalize_str(text)
    assert tokenizer.decode(ids, skip_special_tokens=True) == normal


def test_saved_tokenizers_and_engines_read_the_same_units(tmp_path):
    tokenizer = build(tags=["<it>"])
    tokenizer.save_pretrained(tmp_path)
    loaded, engine = AutoTokenizer.from_pretrained(tmp_path), TextIds(tmp_path)
    for text in [*WORDS, *PHONES, "un gatto", "t͡ʃ͡ʃ ç"]:
        ids = tokenizer(text).input_ids
        assert loaded(text).input_ids == ids == engine.encode([text])[0]
        assert loaded.decode(ids, skip_special_tokens=True) == engine.decode(ids) == text
        assert "".join(engine.stream(ids)) == text
    assert loaded.convert_tokens_to_ids("<it>") == tokenizer.convert_tokens_to_ids("<it>")


def test_texts_that_read_like_special_tokens_are_texts():
    tokenizer = AtentaTokenizer.from_texts(
        ["a"], family="encoder-decoder", tags=["<V>"], targets=["<pad> <V> b_<"], target_separator=" "
    )
    for text in ("<pad>", "<V>", "<0x41>", "<mask>", "a <eos>"):
        ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert not set(ids) & set(tokenizer.all_special_ids)
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert tokens(tokenizer, "a b_<") == ["a", " b_<"]


@pytest.mark.parametrize(("separator", "named"), [(None, "None"), ("<|", "'<|'")])
def test_separators_in_the_wrong_form(separator, named):
    with pytest.raises(ValueError, match=f"target_separator.*{re.escape(named)}"):
        AtentaTokenizer.from_alphabet("ab", family="decoder", units=["<|a"], target_separator=separator)
    with pytest.raises(ValueError, match="separator of units is ''"):
        find_units(["a b"], "")
