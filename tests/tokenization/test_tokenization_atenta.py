"""The tokenizer: ids, templates, lossless decoding, padding, truncation, saving and loading."""

import json
import unicodedata
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from atenta import DEFAULT_ALPHABET, AtentaTokenizer
from atenta.tokenization.alphabet import NORMALIZER
from atenta.tokenization.tokenization_atenta import INPUT_FORMATS

pytestmark = pytest.mark.filterwarnings("ignore:A text has")  # on purpose; test_calls.py has the warning's tests

DOCUMENT_ALPHABET = "abcdefghijklmnopqrstuvwxyz .,"  # document 3: a is 3, z 28, the space 29
PAD, BOS, EOS, A, B, C = range(6)
WITHOUT_TYPES = ["input_ids", "attention_mask"]
WITH_TYPES = ["input_ids", "token_type_ids", "attention_mask"]

TOKENIZERS = {
    family: AtentaTokenizer.from_alphabet(DOCUMENT_ALPHABET, family=family, tags=["<V>", "<3>"])
    for family in INPUT_FORMATS
}
every_family = pytest.mark.parametrize("family", INPUT_FORMATS)
DEFAULT = AtentaTokenizer.from_alphabet(family="decoder")
unicode_texts = settings(derandomize=True, max_examples=300)
SPECIAL_TEXTS = ["<eos>", "a<eos>b", "<pad><bos><mask>", "<V>", "V <3>", "<0x41>"]
texts = st.text(st.characters(exclude_categories=["Cs"]))


def saved(tokenizer, folder):
    tokenizer.save_pretrained(folder)
    return folder


# Ids


@every_family
def test_special_tokens(family):
    tokenizer = TOKENIZERS[family]
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1, 2)
    assert tokenizer.mask_token_id == 3 + len(DOCUMENT_ALPHABET) + 256
    assert tokenizer.extra_special_tokens == ["<V>", "<3>"]
    assert len(tokenizer) == tokenizer.vocab_size == tokenizer.mask_token_id + 3
    assert tokenizer.is_fast


@pytest.mark.parametrize(
    ("family", "names", "single", "pair", "types"),
    [
        ("encoder", WITH_TYPES, [BOS, A, B, EOS], [BOS, A, B, EOS, C, EOS], [0, 0, 0, 0, 1, 1]),
        ("decoder", WITHOUT_TYPES, [BOS, A, B], [BOS, A, B, BOS, C], [0, 0, 0, 1, 1]),
        ("encoder-decoder", WITHOUT_TYPES, [A, B, EOS], [A, B, EOS, C, EOS], [0, 0, 0, 1, 1]),
    ],
)
def test_templates(family, names, single, pair, types):
    tokenizer = TOKENIZERS[family]
    assert list(tokenizer("a")) == names
    encoded = tokenizer("ab", return_token_type_ids=True, return_special_tokens_mask=True)
    assert (encoded.input_ids, encoded.token_type_ids) == (single, [0] * len(single))
    assert encoded.special_tokens_mask == [int(index in (BOS, EOS)) for index in single]
    encoded = tokenizer("ab", "c", return_token_type_ids=True)
    assert (encoded.input_ids, encoded.token_type_ids) == (pair, types)
    batch = tokenizer([("ab", "c")], return_token_type_ids=True)
    assert (batch.input_ids, batch.token_type_ids) == ([pair], [types])
    assert tokenizer(["ab"], ["c"]).input_ids == [pair]


def test_from_texts_has_only_the_characters_of_the_texts():
    tokenizer = AtentaTokenizer.from_texts((text for text in ("ação", "cao\u0303")), family="decoder", tags=["<V>"])
    assert tokenizer.convert_ids_to_tokens(range(3, 9)) == ["a", "c", "o", "ã", "ç", "õ"]
    assert len(tokenizer) == 9 + 256 + 2
    assert AtentaTokenizer.from_texts(["aab"], family="decoder", min_count=2).tokenize("ab") == ["a", "<0x62>"]
    with pytest.raises(ValueError, match=r"'seq2seq'.*'encoder', 'decoder', 'encoder-decoder'"):
        AtentaTokenizer.from_texts(["aab"], family="seq2seq")


# Round trip


@unicode_texts
@given(texts | st.lists(texts | st.sampled_from(SPECIAL_TEXTS)).map("".join))
def test_nothing_is_lost(text):
    """Special tokens and tags in a text are characters: by default, but for the encoder, whose texts have `<mask>`."""
    alone = {"add_special_tokens": False}
    for family, tokenizer in TOKENIZERS.items():
        ids = tokenizer(text, split_special_tokens=True, **alone).input_ids
        assert not set(ids) & set(tokenizer.all_special_ids)
        if family != "encoder":
            assert tokenizer.encode(text, **alone) == tokenizer(text_target=text, **alone).input_ids == ids
        decoded = tokenizer.decode(ids, skip_special_tokens=True)
        assert decoded == NORMALIZER.normalize_str(text)
        # Python's tables have newer marks than the normalizer's. By them the texts are canonically equivalent.
        assert unicodedata.normalize("NFC", decoded) == unicodedata.normalize("NFC", text)
        if all(unicodedata.ucd_3_2_0.category(character) != "Cn" for character in text):
            assert decoded == unicodedata.normalize("NFC", text)


@unicode_texts
@given(st.lists(texts))
def test_a_batch_equals_its_texts_one_by_one(batch):
    tokenizer = TOKENIZERS["encoder-decoder"]
    one_by_one = [tokenizer(text).input_ids for text in batch]
    assert tokenizer(batch).input_ids == one_by_one
    assert tokenizer.batch_decode(one_by_one, skip_special_tokens=True) == [
        NORMALIZER.normalize_str(text) for text in batch
    ]


@unicode_texts
@given(st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(DEFAULT_ALPHABET))))
def test_each_character_is_one_token_or_its_bytes(text):
    expected = []
    for character in NORMALIZER.normalize_str(text):
        known = character in DEFAULT_ALPHABET
        expected += [character] if known else [f"<0x{byte:02X}>" for byte in character.encode()]
    assert DEFAULT.tokenize(text) == expected


# Special tokens and tags in texts


def test_the_encoder_reads_special_tokens_in_a_text_by_default():
    """Also after a call that splits them."""
    tokenizer = TOKENIZERS["encoder"]
    assert tokenizer("a<mask>", split_special_tokens=True).input_ids != [BOS, A, tokenizer.mask_token_id, EOS]
    assert tokenizer("a<mask>").input_ids == [BOS, A, tokenizer.mask_token_id, EOS]


@every_family
def test_tags_are_given_by_id_and_not_decoded(family):
    tokenizer = TOKENIZERS[family]
    tags = tokenizer.convert_tokens_to_ids(["<V>", "<3>"])
    assert tags == [len(tokenizer) - 2, len(tokenizer) - 1]
    ids = tags + tokenizer("ab").input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[:2] == ["<V>", "<3>"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab"


# Padding, truncation, overflow


@pytest.mark.parametrize(
    ("family", "rows"),
    [
        ("encoder", [[BOS, A, EOS, PAD, PAD], [BOS, A, B, C, EOS]]),
        ("decoder", [[PAD, PAD, BOS, A], [BOS, A, B, C]]),
        ("encoder-decoder", [[A, EOS, PAD, PAD], [A, B, C, EOS]]),
    ],
)
def test_padding_to_the_longest_and_to_a_length(family, rows):
    tokenizer = TOKENIZERS[family]
    encoded = tokenizer(["a", "abc"], padding=True)
    assert encoded.input_ids == rows
    assert encoded.attention_mask == [[int(index != PAD) for index in row] for row in rows]

    more = [PAD] * (8 - len(rows[0]))
    to_length = tokenizer(["a", "abc"], padding="max_length", max_length=8)
    on_left = tokenizer.padding_side == "left"
    assert to_length.input_ids == [more + row if on_left else row + more for row in rows]
    assert tokenizer.pad({"input_ids": tokenizer(["a", "abc"]).input_ids}).input_ids == rows


@pytest.mark.parametrize("side", ["left", "right"])
def test_truncation_on_either_side_keeps_the_template(side, tmp_path):
    tokenizer = AtentaTokenizer.from_pretrained(saved(TOKENIZERS["encoder"], tmp_path), truncation_side=side)
    kept = {"right": [BOS, A, B, EOS], "left": [BOS, B, C, EOS]}[side]
    assert tokenizer("abc", truncation=True, max_length=4).input_ids == kept


@pytest.mark.parametrize("family", INPUT_FORMATS)
def test_stride_and_overflow_cover_the_text(family):
    tokenizer = TOKENIZERS[family]
    text = "abcdefghij"
    special = tokenizer.num_special_tokens_to_add()
    encoded = tokenizer(
        [text, "ab"],
        truncation=True,
        max_length=4 + special,
        stride=1,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    decoded = tokenizer.batch_decode(encoded.input_ids, skip_special_tokens=True)
    assert decoded == ["abcd", "defg", "ghij", "ab"]
    assert encoded.overflow_to_sample_mapping == [0, 0, 0, 1]
    assert [row[-1] == EOS for row in encoded.input_ids] == [family != "decoder"] * 4
    for piece, offsets in zip(decoded, encoded.offset_mapping):
        covered = [text[start:end] for start, end in offsets if end > start]
        assert "".join(covered) == piece


def test_targets_become_labels():
    encoded = TOKENIZERS["encoder-decoder"](["a", "b"], text_target=["ab", "c"])
    assert (encoded.input_ids, encoded.labels) == ([[A, EOS], [B, EOS]], [[A, B, EOS], [C, EOS]])
    assert TOKENIZERS["encoder-decoder"](text_target="ab").input_ids == [A, B, EOS]


@every_family
def test_spaces_are_kept_and_words_are_joined(family):
    tokenizer = TOKENIZERS[family]
    assert tokenizer.tokenize("ab  c ") == list("ab  c ")
    words = tokenizer(["ab", "c"], is_split_into_words=True, add_special_tokens=False)
    assert words.tokens() == ["a", "b", "c"]
    assert words.word_ids() == [0, 0, 1]


# Words


def test_word_ids_number_runs_of_letters_and_of_signs():
    text = "Foi Pedro,  é às 10h30… 😀\n"
    encoded = AtentaTokenizer.from_alphabet(family="encoder")(text)
    words = [text[slice(*encoded.word_to_chars(word))] for word in range(max(encoded.word_ids()[1:-1]) + 1)]
    assert words == ["Foi", " Pedro", ",", "  é", " às", " 10h30", "…", " 😀", "\n"]


@unicode_texts
@given(texts | st.text("ab, .\u0301\n\u00a0ç😀<>"))
def test_words_change_neither_ids_nor_offsets(text):
    words = TOKENIZERS["encoder"].backend_tokenizer
    assert words.pre_tokenizer is not None
    whole = Tokenizer.from_str(json.dumps(json.loads(words.to_str()) | {"pre_tokenizer": None}))
    found, expected = words.encode(text), whole.encode(text)
    assert (found.ids, found.offsets) == (expected.ids, expected.offsets)


@every_family
def test_words_that_nothing_parts_are_warned_of(family):
    tokenizer, words = TOKENIZERS[family], ["um", "dois", "tres"]
    for glued in (words, [["um"], words]):
        with pytest.warns(UserWarning, match="'um' and 'dois' of `text`") as caught:
            tokenizer(glued, is_split_into_words=True)
        assert caught[0].filename == __file__
    with warnings.catch_warnings(action="error"):
        tokenizer(["um"], is_split_into_words=True)
        parted = tokenizer(["um", " dois", " tres"], is_split_into_words=True, add_special_tokens=False)
    joined = tokenizer(" ".join(words), add_special_tokens=False)
    assert parted.input_ids == joined.input_ids
    assert parted.word_ids() == [0] * 2 + [1] * 5 + [2] * 5
    if family == "encoder":
        assert joined.word_ids() == parted.word_ids()


# Saving and loading

PROBES = ["gato", "a<eos>b", "<V>", "<mask>", "e\u0301 😀\u0000", "A\u030a"]


def behaviour(tokenizer):
    return {
        "ids": tokenizer(PROBES).input_ids,
        "pairs": tokenizer(PROBES, PROBES[::-1]).data,
        "padded": tokenizer(PROBES, padding=True).data,
        "decoded": tokenizer.batch_decode(tokenizer(PROBES).input_ids, skip_special_tokens=True),
        "special": tokenizer.special_tokens_map,
        "tags": tokenizer.extra_special_tokens,
        "split": tokenizer.split_special_tokens,
        "sides": [tokenizer.padding_side, tokenizer.truncation_side],
        "names": tokenizer.model_input_names,
        "longest": tokenizer.model_max_length,
        "fast": tokenizer.is_fast,
    }


@every_family
@pytest.mark.parametrize("loader", [AtentaTokenizer, AutoTokenizer, PreTrainedTokenizerFast])
def test_saved_and_loaded_the_same(family, loader, tmp_path):
    tokenizer = AtentaTokenizer.from_alphabet(family=family, tags=["<V>"], model_max_length=77)
    expected = behaviour(tokenizer)
    once = loader.from_pretrained(saved(tokenizer, tmp_path / "once"))
    twice = loader.from_pretrained(saved(once, tmp_path / "twice"))
    assert behaviour(once) == expected
    assert behaviour(twice) == expected
    assert (tmp_path / "twice/tokenizer.json").read_bytes() == (tmp_path / "once/tokenizer.json").read_bytes()
    assert behaviour(tokenizer) == expected  # saving does not change the tokenizer
    assert type(tokenizer) is AtentaTokenizer


@every_family
def test_saved_files_need_no_code(family, tmp_path):
    saved(TOKENIZERS[family], tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    # transformers 4 knows no TokenizersBackend, and no list of extra_special_tokens.
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert config["additional_special_tokens"] == ["<V>", "<3>"]
    assert config.keys().isdisjoint(["auto_map", "extra_special_tokens"])
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["byte_fallback"] is True


def test_changed_settings_are_saved_and_those_of_a_call_are_not(tmp_path):
    tokenizer = AtentaTokenizer.from_texts(["abc"], family="encoder", model_max_length=4)
    assert tokenizer("abcabc", truncation=True).input_ids == [BOS, A, B, EOS]
    tokenizer.padding_side, tokenizer.truncation_side, tokenizer.model_max_length = "left", "left", 5
    tokenizer(["abc", "a"], padding="max_length", truncation=True, max_length=2, padding_side="right")
    backend = json.loads((saved(tokenizer, tmp_path) / "tokenizer.json").read_text())
    assert (backend["padding"], backend["truncation"]) == (None, None)
    loaded = AtentaTokenizer.from_pretrained(tmp_path)
    assert (loaded.padding_side, loaded.truncation_side, loaded.model_max_length) == ("left", "left", 5)
