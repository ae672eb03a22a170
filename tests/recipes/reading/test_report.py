import unicodedata
from collections import Counter

import pytest
from datasets import Dataset, IterableDataset
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.reading import report as report_module
from atenta.recipes.reading.report import build_report

TOKENIZER = AtentaTokenizer.from_alphabet("abcã ", family="encoder-decoder")  # a text of n characters: n + 1 tokens


def split_of(texts=(), max_length=None, tokenizer=TOKENIZER, **columns):
    """The report on a split that has a column `text`, or else these columns."""
    columns = columns or {"text": texts}
    return build_report({"train": Dataset.from_dict(columns)}, list(columns), tokenizer, max_length).splits["train"]


def test_quantiles():
    split = split_of(["a" * length for length in range(20, 0, -1)])
    assert split.rows == 20
    assert split.quantiles("text") == [1, 10, 19, 20]
    assert not split.is_sample
    # After NFC:
    assert split_of(["a\u0303", "👋🏽", "\u0958"]).lengths["text"].tolist() == [1, 2, 2]


def test_several_columns_and_a_text_that_is_none():
    columns = {"text": ["axx", "a", "x"], "text_pair": [None, "b", "e\u0301a\u0303"], "other": ["y", "y", "y"]}
    split = build_report({"test": Dataset.from_dict(columns)}, ["text", "text_pair"], TOKENIZER, None).splits["test"]
    assert split.lengths["text_pair"].tolist() == [1, 2]
    assert (split.outsiders, split.rows_with_outsiders) == ({"x": 2, "é": 1}, 2)
    assert split.forms == {"NFC": 2, "NFD": 1}


def test_lists_of_words():
    split = split_of(words=[["ab", "ã"], ["c"], ["ab", "ã"], ["abã"]], max_length=4)
    assert split.quantiles("words") == [1, 3, 4, 4]
    assert split.first_too_long == (0, 5, "ab ã")
    assert not split.outsiders
    assert split.duplicates() == 1


def test_forms():
    composed, decomposed = "ã", "a\u0303"
    split = split_of(["abc", composed, decomposed, f"ab {decomposed}", composed + decomposed, "a\u0323\u0303\u0323"])
    assert split.forms == {"NFC": 2, "NFD": 2, "mixed": 2}
    split = split_of(source=[composed, "a"], target=[decomposed, decomposed])
    assert split.forms == {"mixed": 1, "NFD": 1}


def test_inputs_of_two_texts_and_of_tags_which_count_as_tokens():
    tokenizer = AtentaTokenizer.from_alphabet("ab", family="encoder")
    splits = {"train": Dataset.from_dict({"text": ["aa", "aaaaa"], "text_pair": ["bb", None]})}
    one_by_one = build_report(splits, ["text", "text_pair"], tokenizer, 6)
    together = build_report(splits, ["text", "text_pair"], tokenizer, 6, inputs=[["text", "text_pair"]])
    assert one_by_one.splits["train"].first_too_long == (1, 7, "aaaaa")
    assert together.splits["train"].first_too_long == (0, 7, "aa")  # <bos> aa <eos> bb <eos>
    assert together.splits["train"].rows_too_long == 2
    splits = {"train": Dataset.from_dict({"source": ["aa"], "target": ["b"], "tags": [["<V>", "<3>"]]})}
    four, five = (
        build_report(splits, ["source", "target"], TOKENIZER, length, inputs=[["tags", "source"], ["target"]])
        for length in (4, 5)
    )
    assert (four.splits["train"].first_too_long, five.splits["train"].rows_too_long) == ((0, 5, "aa"), 0)
    assert four.splits["train"].quantiles("source") == [2, 2, 2, 2]


def test_long_row_is_an_error():
    texts = [*["a"] * 1000, "aab" * 20, "aaaa"]
    splits = {"train": Dataset.from_dict({"text": ["a"]}), "test": Dataset.from_dict({"text": texts})}
    build_report(splits, ["text"], TOKENIZER, 61).check_lengths()
    build_report(splits, ["text"], TOKENIZER, None).check_lengths()
    beginning = ("aab" * 20)[:40]
    message = f"^test, row 1000, .* '{beginning}': found 61 tokens .* at most 3, .* 2 of the 1,002 rows.*--max_length"
    with pytest.raises(ValueError, match=message):
        build_report(splits, ["text"], TOKENIZER, 3).check_lengths()


def test_streamed_split(monkeypatch):
    monkeypatch.setattr(report_module, "_STREAMED_ROWS", 300)

    def endless():
        number = 0
        while True:
            yield {"text": "a" * (number % 7 + 1), "other": number}
            number += 1

    splits = {
        "train": IterableDataset.from_generator(endless),
        "test": Dataset.from_dict({"text": ["aa", "b"]}).to_iterable_dataset(),
    }
    found = build_report(splits, ["text"], TOKENIZER, None)
    assert [split.rows for split in found.splits.values()] == [300, 2]
    assert [split.is_sample for split in found.splits.values()] == [True, False]
    assert str(found).splitlines()[-1] == "train is streamed; its figures are those of the first 300 rows."
    assert next(iter(splits["train"])) == {"text": "a", "other": 0}


def test_rows_of_train_small_shares_and_many_outsiders_in_the_table():
    of_splits = {"train": ["a", "ã", "a"], "test": ["a\u0303", "b"], "empty": []}
    splits = {name: Dataset.from_dict({"text": of_split}) for name, of_split in of_splits.items()}
    printed = str(build_report(splits, ["text"], TOKENIZER, None))
    assert "same text as a row of train – 1 (50.0%) 0" in " ".join(printed.split())
    texts = [*map(chr, range(ord("А"), ord("А") + 24)), "\x1b", "я", "я", *["a"] * 3000, "aaaaa"]
    text = str(build_report({"test": Dataset.from_dict({"text": texts})}, ["text"], TOKENIZER, 5))
    lines = [line.split() for line in text.splitlines()]
    assert ["longer", "than", "5", "tokens", "1", "(<0.1%)"] in lines
    assert lines[-22][:2] == ["‘я’", "U+044F"]
    assert lines[-21] == ["U+001B", "(no", "name)", "1"]
    assert "\x1b" not in text
    assert [line[0] for line in lines[-20:-2]] == [f"‘{letter}’" for letter in texts[:18]]
    assert " ".join(lines[-2]) == "and 6 other characters"


texts = st.text("abcxé\u0303ã <mask>😀", min_size=1)


@given(st.lists(texts), st.integers(1, 12), st.sampled_from(["encoder", "decoder", "encoder-decoder"]))
def test_counts_equal_those_of_python_and_the_tokenizer(rows, max_length, family):
    tokenizer = AtentaTokenizer.from_alphabet("abcã ", family=family)
    split = split_of(rows, tokenizer=tokenizer, max_length=max_length)
    normal = [unicodedata.normalize("NFC", text) for text in rows]
    lengths = [len(ids) for ids in tokenizer(rows, split_special_tokens=True).input_ids] if rows else []
    long = [(index, length, normal[index]) for index, length in enumerate(lengths) if length > max_length]
    assert (split.rows_too_long, split.first_too_long) == (len(long), long[0] if long else None)
    assert split.lengths["text"].tolist() == [len(text) for text in normal] if rows else not split.lengths
    assert split.outsiders == Counter(character for text in normal for character in set(text) - set("abcã "))
    assert split.rows_with_outsiders == sum(not set(text) <= set("abcã ") for text in normal)
    assert split.forms["NFC"] == sum(unicodedata.is_normalized("NFC", text) for text in rows)
    assert split.forms["NFC"] + split.forms["NFD"] + split.forms["mixed"] == split.rows == len(rows)
    assert split.duplicates() == len(rows) - len(set(normal))
