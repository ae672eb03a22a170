"""What stands for a token in a picture."""

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from atenta import AtentaTokenizer
from atenta.recipes.pictures.labels import end_of, readable_text, readable_tokens, start_of


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Não é", ["N", "ã", "o", "␣", "é"]),
        ("a\tb\n", ["a", "⇥", "b", "↵"]),
        ("x\u0303", ["x", "◌\u0303"]),
        ("a\u00a0\u200b", ["a", "U+00A0", "U+200B"]),
    ],
    ids=["letters", "white space", "an accent alone", "no shape"],
)
def test_characters_are_visible(text, labels):
    tokenizer = AtentaTokenizer.from_texts([text], family="encoder-decoder")
    assert readable_tokens(tokenizer, tokenizer(text).input_ids) == [*labels, "⟨eos⟩"]


def test_bytes_stand_for_themselves_or_for_their_character():
    tokenizer = AtentaTokenizer.from_texts(["a"], family="decoder")
    assert readable_tokens(tokenizer, tokenizer("a<\né").input_ids) == ["⟨bos⟩", "a", "<", "↵", "0xC3", "0xA9"]


def test_tags_and_masks_are_special_tokens():
    tokenizer = AtentaTokenizer.from_texts(["a"], family="encoder", tags=["<PL>"])
    assert readable_tokens(tokenizer, tokenizer("<PL>a<mask>").input_ids) == ["⟨bos⟩", "⟨PL⟩", "a", "⟨mask⟩", "⟨eos⟩"]


def test_words_stay_words():
    words = Tokenizer(WordLevel({"[UNK]": 0, "ação": 1, "um dia": 2}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    assert readable_tokens(tokenizer, [1, 2, 0]) == ["ação", "um␣dia", "⟨UNK⟩"]


def test_text_that_looks_like_a_special_token_is_told_from_one():
    tokenizer = AtentaTokenizer.from_texts(["<eos> \n"], family="decoder")
    spelled = tokenizer.convert_tokens_to_ids([*"<eos>", " ", "\n"])
    shown = readable_text(tokenizer, [tokenizer.bos_token_id, *spelled, tokenizer.eos_token_id])
    assert shown == "⟨bos⟩<eos>␣↵⟨eos⟩"


@pytest.mark.parametrize(
    ("text", "start", "end"), [("abcd", "abcd", "abcd"), ("abcde", "abc…", "…cde")], ids=["short", "long"]
)
def test_long_texts_are_cut_where_dots_tell(text, start, end):
    assert (start_of(text, 4), end_of(text, 4)) == (start, end)
