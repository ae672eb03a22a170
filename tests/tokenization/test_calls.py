"""Calls with no texts, with special tokens in texts, of chat templates and in several threads."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from packaging.version import Version
from transformers import AutoTokenizer, BatchEncoding
from transformers import __version__ as transformers_version

from atenta import AtentaTokenizer
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

PAD, BOS, EOS = range(3)
TOKENIZERS = {family: AtentaTokenizer.from_alphabet(family=family, tags=["<V>"]) for family in INPUT_FORMATS}
every_family = pytest.mark.parametrize("family", INPUT_FORMATS)
families_that_split = pytest.mark.parametrize("family", ["decoder", "encoder-decoder"])

CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}"
MESSAGES = [{"role": "user", "content": "a<eos>"}, {"role": "assistant", "content": "b"}]


def ids(text):
    """Return the ids of the characters of `text`."""
    return TOKENIZERS["decoder"].convert_tokens_to_ids(list(text))


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves the tokenizer of a family with a chat template, and returns the folder."""

    def save(family):
        tokenizer = AtentaTokenizer.from_alphabet(family=family)
        tokenizer.chat_template = CHAT_TEMPLATE
        tokenizer.save_pretrained(tmp_path)
        return tmp_path

    return save


# No texts


@pytest.mark.parametrize("nothing", [[], ()])
@every_family
def test_no_texts_give_empty_lists(family, nothing):
    tokenizer = TOKENIZERS[family]
    encoded = tokenizer(nothing, padding=True, truncation=True, max_length=5)
    assert encoded.data == {name: [] for name in tokenizer.model_input_names}
    assert isinstance(encoded, BatchEncoding)
    assert encoded.is_fast
    assert tokenizer(nothing, nothing).data == encoded.data
    assert tokenizer(nothing, text_target=nothing).data == encoded.data | {"labels": []}
    offsets = tokenizer(nothing, return_offsets_mapping=True, return_overflowing_tokens=True)
    assert offsets.offset_mapping == offsets.overflow_to_sample_mapping == []
    assert tokenizer.encode(nothing) == []


def test_padding_nothing_is_refused_and_decoding_nothing_gives_no_texts():
    tokenizer = TOKENIZERS["decoder"]
    for nothing, options in (([], {}), ({}, {}), (BatchEncoding({}), {}), (tokenizer([]), {"return_tensors": "pt"})):
        with pytest.raises(ValueError, match="encoded_inputs"):
            tokenizer.pad(nothing, **options)
    assert tokenizer.pad(tokenizer([])).input_ids == []
    for sequences in ([], (), torch.zeros(0, 4, dtype=torch.long)):
        assert tokenizer.batch_decode(sequences) == []


@pytest.mark.parametrize("arguments", [{"text": []}, {"text": [], "text_pair": []}, {"text_target": ()}])
def test_no_texts_give_no_tensors(arguments):
    with pytest.raises(ValueError, match=r"\((\[\]|\(\))\).*return_tensors"):
        TOKENIZERS["encoder"](**arguments, return_tensors="pt")
    with pytest.raises(ValueError, match="batch length of `text`: 0 does not match"):
        TOKENIZERS["encoder"]([], ["a"])


@pytest.mark.parametrize(("texts", "least"), [(["ab"], 2), (["ab", "c"], 3)])
def test_what_is_too_short_for_special_tokens_is_refused(texts, least):
    """The library tokenizers would not truncate at all."""
    tokenizer = TOKENIZERS["encoder"]
    assert len(tokenizer(*texts, truncation=True, max_length=least).input_ids) == least
    with pytest.raises(ValueError, match=f"max_length={least - 1}; expected at least {least}"):
        tokenizer(*texts, truncation=True, max_length=least - 1)


def test_a_tokenizer_that_merges_characters_is_warned_of():
    with pytest.warns(UserWarning, match="from_texts"):
        TOKENIZERS["encoder"].train_new_from_iterator(["abab"], 300)


def test_tokenize_takes_one_text():
    tokenizer = TOKENIZERS["decoder"]
    for texts in ([], ["a", "b"]):  # of two texts, the second would be lost
        with pytest.raises(TypeError, match=r"`text` is \[.* \(list\), expected one str"):
            tokenizer.tokenize(texts)
    assert tokenizer.tokenize(["ab", "c"], is_split_into_words=True) == ["a", "b", "c"]


@every_family
def test_an_empty_text_has_only_special_tokens(family):
    tokenizer = TOKENIZERS[family]
    special = {"encoder": [BOS, EOS], "decoder": [BOS], "encoder-decoder": [EOS]}[family]
    assert tokenizer("").input_ids == special
    assert tokenizer(["", ""]).input_ids == [special, special]
    bare = tokenizer("", add_special_tokens=False, return_tensors="pt")
    assert (bare.input_ids.shape, bare.input_ids.dtype) == ((1, 0), torch.int64)
    assert tokenizer.decode([]) == ""


# Special tokens in texts


@every_family
def test_a_call_says_whether_special_tokens_are_split(family):
    tokenizer = TOKENIZERS[family]
    bare = {"add_special_tokens": False}
    for split, expected in ((True, ids("a<eos>")), (False, [*ids("a"), EOS])):
        options = bare | {"split_special_tokens": split}
        assert tokenizer("a<eos>", **options).input_ids == tokenizer.encode("a<eos>", **options) == expected
        assert tokenizer(text_target=["a<eos>"], **options).input_ids == [expected]
        assert tokenizer.tokenize("a<eos>", split_special_tokens=split) == tokenizer.convert_ids_to_tokens(expected)
    assert tokenizer("a", **bare).input_ids == ids("a")


@pytest.mark.parametrize("text", ["a<eos>", ["b", "<bos>a"], [("a", "<V>b")]])
@families_that_split
def test_a_split_special_token_is_warned_of(family, text):
    with pytest.warns(UserWarning, match=r"A text has '<(eos|bos|V)>', .* split_special_tokens=False") as caught:
        TOKENIZERS[family](text)
    assert caught[0].filename == __file__


@families_that_split
def test_what_the_call_asks_for_is_not_warned_of(family):
    tokenizer = TOKENIZERS[family]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer("a<eos>", split_special_tokens=True)
        tokenizer("a<eos>", split_special_tokens=False)
        tokenizer(["a < b > c", "<eo s>"], text_target=["<0x41>", ""])
        TOKENIZERS["encoder"]("a<mask>")


# Chat templates


SANITIZED = pytest.param(
    {"sanitize_control_tokens": True},
    "a<eos>",
    marks=pytest.mark.skipif(Version(transformers_version) < Version("5.20"), reason="5.20 brought the argument"),
)


@pytest.mark.parametrize("loader", [AtentaTokenizer, AutoTokenizer])
@pytest.mark.parametrize(("options", "first"), [({}, None), SANITIZED])
@families_that_split
def test_chat_templates_write_special_tokens_where_they_are_read(family, loader, options, first, saved):
    """And messages do too, unless they are sanitized."""
    tokenizer = loader.from_pretrained(saved(family), split_special_tokens=False)
    message = ids(first) if first else [*ids("a"), EOS]
    assert tokenizer.apply_chat_template(MESSAGES, **options).input_ids == [BOS, *message, EOS, *ids("b"), EOS]


@families_that_split
def test_a_chat_template_whose_special_tokens_are_split_is_warned_of(family, saved):
    tokenizer = AtentaTokenizer.from_pretrained(saved(family))
    with pytest.warns(UserWarning, match="A text has '<bos>'"):
        split = tokenizer.apply_chat_template(MESSAGES)
    assert split.input_ids == ids("<bos>a<eos><eos>b<eos>")


# Threads


@pytest.fixture
def many_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_calls_in_threads_keep_their_options(many_switches):
    """The options are kept in the tokenizer, so one thread could read `<eos>` in another's text, or truncate it."""
    tokenizer, text = TOKENIZERS["decoder"], "uma frase<eos> " * 20
    whole = [BOS, *ids(text)]

    def others():
        return tokenizer(text, split_special_tokens=False, truncation=True, max_length=5, padding=True).input_ids

    def user():
        return tokenizer(text, split_special_tokens=True).input_ids

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(call) for _ in range(400) for call in (others, user)]
    assert all(call.result() == whole[:5] for call in calls[::2])
    assert all(call.result() == whole for call in calls[1::2])
