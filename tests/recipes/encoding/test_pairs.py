import pytest
from datasets import Dataset

from atenta import AtentaTokenizer
from atenta.recipes.encoding.pairs import encode_pairs


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_alphabet("serou V<>", family="encoder-decoder", tags=["<V>", "<PL>"])


def test_tags_stand_before_the_source_by_id(tokenizer):
    rows = {"source": ["ser", "<V>"], "target": ["sou", "os"], "tags": [["<V>", "<PL>"], []]}
    encoded = encode_pairs(rows, tokenizer)
    ids = tokenizer.convert_tokens_to_ids
    assert encoded["input_ids"] == [ids(["<V>", "<PL>", *"ser", "<eos>"]), ids([*"<V>", "<eos>"])]
    assert encoded["labels"] == [ids([*"sou", "<eos>"]), ids([*"os", "<eos>"])]


def test_a_tag_that_the_tokenizer_lacks_is_named(tokenizer):
    rows = {"source": ["ser"] * 2, "target": ["sou"] * 2, "tags": [["<V>", "<SG>"], ["<1>"]]}
    with pytest.raises(ValueError, match=r"no tag <1>, <SG>; .*train a new model"):
        encode_pairs(rows, tokenizer)


def test_it_maps_a_dataset(tokenizer):
    rows = Dataset.from_dict({"source": ["s", "e"], "target": ["so", "er"], "tags": [["<V>"], ["<PL>"]]})
    encoded = rows.map(
        encode_pairs, batched=True, remove_columns=rows.column_names, fn_kwargs={"tokenizer": tokenizer}
    )
    assert encoded.column_names == ["input_ids", "labels"]
    assert encoded[:] == encode_pairs(rows[:], tokenizer)
