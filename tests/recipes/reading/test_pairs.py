import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.reading.pairs import FEATURES, check, tag_tokens


@pytest.mark.parametrize("without_tags", [{}, {"tags": None}])
def test_a_pair_without_tags_stands_as_it_is(without_tags):
    row = check({"source": " cao  ", "target": "ca\u0303o", **without_tags})
    assert row == {"source": " cao  ", "target": "ca\u0303o", "tags": []}


@pytest.mark.parametrize(
    ("tags", "tokens"),
    [("V;3;PL", ["<V>", "<3>", "<PL>"]), ("V.PTCP;{M/F}", ["<V.PTCP>", "<{M/F}>"]), ("V", ["<V>"])],
)
def test_tags_are_tokens_in_the_order_given(tags, tokens):
    assert check({"source": "ser", "target": "foi", "tags": tags})["tags"] == tokens


def test_columns_that_the_task_does_not_have_are_left_out():
    assert check({"source": "a", "target": "b", "count": 3}) == {"source": "a", "target": "b", "tags": []}


@pytest.mark.parametrize("name", ["source", "target"])
@pytest.mark.parametrize(
    ("value", "message"),
    [("", "found an empty {}"), (None, "found no {}"), ("\udfff", "lone surrogate .* of the {};")],
)
def test_a_malformed_text_is_named(name, value, message):
    with pytest.raises(ValueError, match=message.format(name)):
        check({"source": "a", "target": "b", name: value})


@pytest.mark.parametrize("tags", ["", "V;", ";V", "V;;PL", "V PL", "V; PL", "<V>", "V>", "é", "V\n", "\ud800"])
def test_a_malformed_tag_is_named(tags):
    with pytest.raises(ValueError, match=r"found the tag .*expected tags parted by ';'"):
        check({"source": "a", "target": "b", "tags": tags})


@pytest.mark.parametrize("tag", ["pad", "bos", "eos", "mask", "0x41"])
def test_a_tag_cannot_be_named_like_another_token(tag):
    with pytest.raises(ValueError, match=f"found the tag '{tag}'"):
        check({"source": "a", "target": "b", "tags": f"V;{tag}"})
    assert check({"source": "a", "target": "b", "tags": f"V;{tag}s"})["tags"] == ["<V>", f"<{tag}s>"]


def test_tags_that_are_no_text_are_named():
    with pytest.raises(ValueError, match=r"found \['V'\] \(list\) as the tags; expected a text such as 'V;3;PL'"):
        check({"source": "a", "target": "b", "tags": ["V"]})


@given(st.lists(st.text("ABCXYZ0123456789.+/{}_-", min_size=1), min_size=1))
def test_tags_come_back_from_their_tokens(tags):
    tokens = check({"source": "a", "target": "b", "tags": ";".join(tags)})["tags"]
    assert [token[1:-1] for token in tokens] == tags


def test_rows_have_the_features():
    rows = [check({"source": "a", "target": "b"}), check({"source": "a", "target": "b", "tags": "V;3"})]
    assert Dataset.from_list(rows, features=FEATURES).to_list() == rows


def test_tag_tokens_are_sorted_and_distinct():
    rows = [{"tags": ["<V>", "<3>", "<PL>"]}, {"tags": []}, {"tags": ["<V>", "<2>"]}]
    assert tag_tokens(rows) == tag_tokens(reversed(rows)) == ["<2>", "<3>", "<PL>", "<V>"]
    assert tag_tokens([{"tags": []}]) == []
