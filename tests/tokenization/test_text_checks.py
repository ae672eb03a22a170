"""Texts of other types and with lone surrogates are refused by name and place."""

import pytest

from atenta import AtentaTokenizer, check_texts
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

TOKENIZERS = [AtentaTokenizer.from_alphabet(family=family) for family in INPUT_FORMATS]
every_family = pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=INPUT_FORMATS)

WRONG = [
    pytest.param(3, TypeError, r"`{}` is 3 \(int\)", id="number"),
    pytest.param(b"a", TypeError, r"`{}` is b'a' \(bytes\)", id="bytes"),
    pytest.param({"a": 1}, TypeError, r"`{}` is .* \(dict\)", id="dictionary"),
    pytest.param(["a", None], TypeError, r"`{}\[1\]` is None", id="nothing in a batch"),
    pytest.param(["a", 1.5], TypeError, r"`{}\[1\]` is 1.5 \(float\)", id="number in a batch"),
    pytest.param("ab\ud83d", ValueError, r"`{}` .*'\\ud83d' at position 2", id="high surrogate"),
    pytest.param("\udc00", ValueError, r"`{}` .*'\\udc00' at position 0", id="low surrogate"),
    pytest.param(["a", "b\ud800"], ValueError, r"`{}\[1\]` .*position 1", id="surrogate in a batch"),
]


@pytest.mark.parametrize("texts", ["", "é😀", [], ["a", "b"], ("a", "b"), [("a", "b")], [["a", "b"], ["c"]]])
def test_texts_pass(texts):
    check_texts(texts)


@pytest.mark.parametrize(("texts", "error", "message"), WRONG)
def test_other_inputs_are_refused_by_name_and_place(texts, error, message):
    with pytest.raises(error, match=message.format("sources")):
        check_texts(texts, "sources")


def test_the_place_in_a_pair_is_named():
    with pytest.raises(TypeError, match=r"`text\[1\]\[0\]` is 7"):
        check_texts([("a", "b"), (7, "c")])


def test_the_advice_on_surrogates_works():
    joined, alone = "\ud83d\ude00", "a\ud83d"
    with pytest.raises(ValueError, match="replace the surrogates"):
        check_texts(joined)
    repaired = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in (joined, alone)]
    assert repaired == ["😀", "a\ufffd"]
    check_texts(repaired)


@pytest.mark.parametrize("name", ["text", "text_pair", "text_target", "text_pair_target"])
@pytest.mark.parametrize(("texts", "error", "message"), WRONG)
@every_family
def test_calls_refuse_them_in_each_argument(tokenizer, texts, error, message, name):
    good = ["a"] * len(texts) if isinstance(texts, list) else "a"
    arguments = {"text": good, "text_target": good} | {name: texts}
    with pytest.raises(error, match=message.format(name)):
        tokenizer(**arguments)


@pytest.mark.parametrize(("texts", "error", "message"), WRONG)
@every_family
def test_encode_and_tokenize_refuse_them(tokenizer, texts, error, message):
    with pytest.raises(error, match=message.format("text")):
        tokenizer.encode(texts)
    with pytest.raises(error, match=message.format("text")):
        tokenizer.tokenize(texts)
    with pytest.raises(error, match=message.format("text_pair")):
        tokenizer.encode("a", texts)
    with pytest.raises(error, match=message.format("pair")):
        tokenizer.tokenize("a", texts)


@every_family
def test_words_and_pairs_are_checked(tokenizer):
    with pytest.raises(TypeError, match=r"`text\[0\]\[1\]` is 5"):
        tokenizer([["um", 5]], is_split_into_words=True)
    with pytest.raises(ValueError, match=r"`text\[1\]\[1\]` .*position 0"):
        tokenizer([("um", "dois"), ("a", "\ud800")])
