"""Ids and texts as transformers makes them from the same saved tokenizer, without transformers; texts as a stream."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from atenta.engines.text_ids import TextIds
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS, AtentaTokenizer
from support.saved import edit_json

TEXTS = [
    "Olá, São João d'El-Rei!",
    "",
    " ",
    "a\u0301 e\u0327\u0301 \u0301",  # combining marks, also without a base
    "😀 é 中文 ﬁ \x00\r\n\t",
    "um <eos> dois <mask> três <V> <pad><bos> <0x41>",
    "x" * 50,
]


@pytest.fixture(scope="module", params=INPUT_FORMATS)
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    AtentaTokenizer.from_alphabet(family=request.param, tags=["<V>", "<PL>"]).save_pretrained(folder)
    return TextIds(folder), AutoTokenizer.from_pretrained(folder)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=3), st.sampled_from(["left", "right"]))
@example([*zip(TEXTS, TEXTS[::-1])], "left")
def test_ids_and_padded_inputs(both, rows, side):
    text_ids, tokenizer = both
    assert text_ids.encode([]) == []
    texts, pairs = map(list, zip(*rows))
    for others in (None, pairs):
        expected = tokenizer(texts, others, padding=True, return_tensors="np")
        inputs = text_ids.inputs(texts, others)
        assert list(inputs) == text_ids.model_input_names == tokenizer.model_input_names
        for name, array in inputs.items():
            assert array.dtype == np.int64
            np.testing.assert_array_equal(array, expected[name])
    assert text_ids.encode(texts) == tokenizer(texts).input_ids
    expected = tokenizer(texts, padding=True, padding_side=side, return_tensors="np")
    input_ids, attention_mask = text_ids.pad(text_ids.encode(texts), side)
    np.testing.assert_array_equal(input_ids, expected.input_ids)
    np.testing.assert_array_equal(attention_mask, expected.attention_mask)


@given(st.lists(st.integers(0, 500)))
def test_texts_of_any_ids(both, ids):
    text_ids, tokenizer = both
    assert text_ids.decode(ids) == tokenizer.decode(ids, skip_special_tokens=True)
    assert text_ids.decode(np.array(ids, np.int64)) == text_ids.decode(ids)


def test_the_vocabulary(both):
    text_ids, tokenizer = both
    assert text_ids.tokens == tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert text_ids.get_vocab() == tokenizer.get_vocab()
    assert text_ids.padding_side == tokenizer.padding_side
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "mask_token_id"):
        assert getattr(text_ids, name) == getattr(tokenizer, name)


@given(st.text())
def test_a_stream_is_the_text(both, text):
    text_ids, _ = both
    ids = text_ids.encode([text])[0]
    assert "".join(text_ids.stream(ids)) == text_ids.decode(ids)


def test_a_stream_yields_each_character_when_it_is_complete(both):
    text_ids, tokenizer = both
    ids = [
        *tokenizer.convert_tokens_to_ids(["a", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<V>", "é", "<0xC3>"]),
        *tokenizer.convert_tokens_to_ids(["<mask>", "<0xA9>", "b", "<eos>"]),
        len(tokenizer) + 5,
    ]
    taken = []

    def generated():
        for index in ids:
            taken.append(index)
            yield index

    pieces = [(piece, len(taken)) for piece in text_ids.stream(generated())]
    assert pieces == [("a", 1), ("😀", 5), ("é", 7), ("é", 10), ("b", 11)]
    assert "".join(piece for piece, _ in pieces) == tokenizer.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("after", [["b"], ["<eos>"], []])
def test_a_stream_replaces_bytes_that_never_become_a_character(both, after):
    text_ids, tokenizer = both
    ids = tokenizer.convert_tokens_to_ids(["a", "<0xC3>", *after])
    text = "".join(text_ids.stream(ids))
    assert text == tokenizer.decode(ids, skip_special_tokens=True)
    assert text == ("a\ufffdb" if after == ["b"] else "a\ufffd")


@pytest.mark.parametrize("splits", [True, False])
def test_special_tokens_are_read_and_split_as_saved(tmp_path, splits):
    tokenizer = AtentaTokenizer.from_alphabet(family="decoder")
    tokenizer.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tmp_path, split_special_tokens=splits).save_pretrained(tmp_path)
    text_ids, text = TextIds(tmp_path), "um <eos> dois"
    assert text_ids.encode([text]) == [AutoTokenizer.from_pretrained(tmp_path)(text).input_ids]
    assert (text_ids.eos_token_id in text_ids.encode([text])[0]) is not splits
    if splits:
        assert text_ids.decode(text_ids.encode([text])[0]) == unicodedata.normalize("NFC", text)
    edit_json(tmp_path / "tokenizer_config.json", eos_token={"content": "<eos>", "special": True})
    assert TextIds(tmp_path).eos_token_id == 2


def test_wrong_inputs_are_refused(both):
    text_ids, _ = both
    for call, error, message in (
        (lambda: text_ids.encode([["a"]]), TypeError, r"`texts\[0\]` is \['a'\] .*expected a str"),
        (lambda: text_ids.encode(["a"], "b"), TypeError, "`text_pairs` is 'b'.*list or tuple"),
        (lambda: text_ids.encode(["a", "\ud800"]), ValueError, r"texts\[1\].*lone surrogate"),
        (lambda: text_ids.encode(["a"], ["b", "c"]), ValueError, "Found 1 texts and 2 text_pairs"),
        (lambda: text_ids.pad([[1]], "middle"), ValueError, "side='middle'"),
        (lambda: text_ids.inputs([]), ValueError, "at least one text"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [None, b"{", b'{"a": 1}'])
def test_missing_and_damaged_files_and_those_of_another_kind_are_refused(tmp_path, name, content):
    AtentaTokenizer.from_alphabet(family="encoder").save_pretrained(tmp_path)
    path = tmp_path / name
    before = edit_json(tmp_path / "tokenizer.json", decoder={"type": "Fuse"})
    with pytest.raises(ValueError, match="another kind of tokenizer"):
        TextIds(tmp_path)
    edit_json(tmp_path / "tokenizer.json", **before)
    if content is None:
        path.unlink()
        expected, message = FileNotFoundError, rf"has no {name}; expected"
    else:
        path.write_bytes(content)
        expected, message = ValueError, name
    with pytest.raises(expected, match=message) as raised:
        TextIds(tmp_path)
    assert "\n" not in str(raised.value)
