"""Texts of other types and with lone surrogates are refused by name and place."""

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset

from atenta import AtentaTokenizer, check_texts
from atenta.tokenization.text_checks import list_of_texts
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

WRONG = [
    pytest.param(3, TypeError, r"`{}` is 3 \(int\)", id="number"),
    pytest.param(b"a", TypeError, r"`{}` is b'a' \(bytes\)", id="bytes"),
    pytest.param({"a": 1}, TypeError, r"`{}` is .* \(dict\)", id="dictionary"),
    pytest.param(["a", None], TypeError, r"`{}\[1\]` is None", id="nothing in a batch"),
    pytest.param([("a", "b"), (7, "c")], TypeError, r"`{}\[1\]\[0\]` is 7", id="number in a pair"),
    pytest.param("ab\ud83d", ValueError, r"`{}` .*'\\ud83d' at position 2", id="high surrogate"),
    pytest.param(["a", "\udc00b"], ValueError, r"`{}\[1\]` .*'\\udc00' at position 0", id="low surrogate in a batch"),
]
every_wrong_text = pytest.mark.parametrize(("texts", "error", "message"), WRONG)


@pytest.mark.parametrize("texts", ["", "é😀", [], ["a", "b"], ("a", "b"), [("a", "b")], [["a", "b"], ["c"]]])
def test_texts_pass(texts):
    check_texts(texts)


def test_the_advice_on_surrogates_works():
    joined, alone = "\ud83d\ude00", "a\ud83d"
    with pytest.raises(ValueError, match=r"encode\('utf-16', 'surrogatepass'\)"):
        check_texts(joined)
    repaired = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in (joined, alone)]
    assert repaired == ["😀", "a\ufffd"]


@pytest.mark.parametrize("family", INPUT_FORMATS)
@every_wrong_text
def test_wrong_texts_are_refused_by_name_and_place_in_each_argument(family, texts, error, message):
    with pytest.raises(error, match=message.format("sources")):
        check_texts(texts, "sources")
    tokenizer = AtentaTokenizer.from_alphabet("ab", family=family)
    with pytest.raises(TypeError, match=r"`text\[0\]\[1\]` is 5"):
        tokenizer([["um", 5]], is_split_into_words=True)
    good = ["a"] * len(texts) if isinstance(texts, list) else "a"
    for name in ("text", "text_pair", "text_target", "text_pair_target"):
        with pytest.raises(error, match=message.format(name)):
            tokenizer(**({"text": good, "text_target": good} | {name: texts}))
    for method, name in ((tokenizer.encode, "text_pair"), (tokenizer.tokenize, "pair")):
        with pytest.raises(error, match=message.format("text")):
            method(texts)
        with pytest.raises(error, match=message.format(name)):
            method("a", texts)


COLUMNS = {
    "list": ["ab", "ç"],
    "tuple": ("ab", "ç"),
    "datasets": Dataset.from_dict({"text": ["ab", "ç"]})["text"],
    "pandas": pd.Series(["ab", "ç"], index=[7, 0]),
    "numpy": np.array(["ab", "ç"]),
    "numpy objects": np.array(["ab", "ç"], object),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_any_column_of_texts_is_a_list_of_them(column):
    texts = list_of_texts(column)
    assert texts == ["ab", "ç"]
    assert {*map(type, texts)} == {str}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("ab", "`texts` is 'ab'"),
        ({"a"}, r"\(set\)"),
        ({"a": "b"}, r"\(dict\)"),
        ((text for text in "ab"), r"\(generator\)"),
        (np.array("ab"), r"\(ndarray\)"),
        (np.array([["a"], ["b"]]), r"\(ndarray\)"),
        (pd.DataFrame({"a": ["b"]}), r"\(DataFrame\)"),
        (pd.Series(["a", None], dtype=object), r"`texts\[1\]` is None"),
        (np.array([1]), r"`texts\[0\]` is .*1"),
    ],
)
def test_what_is_no_column_of_texts_is_refused(wrong, message):
    with pytest.raises(TypeError, match=message) as refused:
        list_of_texts(wrong)
    assert "\n" not in str(refused.value)
