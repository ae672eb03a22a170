import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atenta import AtentaTokenizer
from atenta.recipes.tasks.transduction import (
    PAIRS,
    check_pair,
    encode_pairs,
    measure_lengths,
    nearest_target,
)


@pytest.fixture
def tokenizer():
    return AtentaTokenizer.from_alphabet("serou V<>", family="encoder-decoder", tags=["<V>", "<PL>"])


# Rows


@pytest.mark.parametrize("others", [{}, {"tags": None}, {"tags": ""}, {"count": 3}])
def test_pair_without_tags(others):
    row = check_pair({"source": " cao  ", "target": "ca\u0303o", **others})
    assert row == {"source": " cao  ", "target": "ca\u0303o", "tags": []}


@given(st.lists(st.text("ABCXYZ0123456789.+/{}_-", min_size=1), min_size=1))
@example(["V", "eoss", "0x41s"])
def test_tags_round_trip(tags):
    tokens = check_pair({"source": "a", "target": "b", "tags": ";".join(tags)})["tags"]
    assert tokens == [f"<{tag}>" for tag in tags]


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        *((tags, ".*tag.*V;3;PL") for tags in (["V"], "V;;PL", "V; PL", "V>", "é", "V\n")),
        *((f"V;{tag}", f"the tag '{tag}'") for tag in ("eos", "0x41")),  # names of other tokens
    ],
)
def test_malformed_tag(tags, found):
    with pytest.raises(ValueError, match=f"found {found}"):
        check_pair({"source": "a", "target": "b", "tags": tags})


# Encoding


def test_tags_precede_the_source(tokenizer):
    rows = {"source": ["ser", "<V>"], "target": ["sou", "os"], "tags": [["<V>", "<PL>"], []]}
    encoded = encode_pairs(rows, tokenizer)
    ids = tokenizer.convert_tokens_to_ids
    assert encoded["input_ids"] == [ids(["<V>", "<PL>", *"ser", "<eos>"]), ids([*"<V>", "<eos>"])]
    assert encoded["labels"] == [ids([*"sou", "<eos>"]), ids([*"os", "<eos>"])]


def measured(tokenizer, pairs):
    rows = [{"source": source, "target": target, "tags": tags} for source, target, tags in pairs]
    columns = {name: [row[name] for row in rows] for name in ("source", "target", "tags")}
    return measure_lengths(rows, encode_pairs(columns, tokenizer))


def test_lengths_of_training_pairs(tokenizer):
    assert measured(tokenizer, [("ser", "o", ["<V>", "<PL>"]), ("se", "serou", ["<V>"])]) == {
        "window_length": None,  # single words
        "length_ratios": [2 / 4, 6 / 3],
    }
    assert measured(tokenizer, [("ser ou ser", "ser ou ser", []), ("ser", "ser", [])])["window_length"] == 11
    assert measured(tokenizer, [("ser ou ser", "ser", []), ("ser", "ser", [])])["window_length"] is None
    assert measured(tokenizer, [("ser  ou ser", "ser ou ser", []), ("ser", "ser", [])])["window_length"] is None


def test_a_few_very_long_texts_do_not_lengthen_the_windows(tokenizer):
    pairs = [("se ou", "se ou", [])] * 5000 + [("se " * 100, "se " * 100, [])] * 4
    assert measured(tokenizer, pairs)["window_length"] == 6


def test_the_nearest_target_has_the_fewest_edits_of_units():
    targets = ["k aːː", "k a z a"]
    assert nearest_target("k a", targets) == nearest_target("k a", targets, separator="") == "k aːː"
    assert nearest_target("k a z", ["t͡ʃː a z", "k o z e"], separator=" ") == "t͡ʃː a z"
    assert nearest_target("k a z", ["t͡ʃː a z", "k o z e"]) == "k o z e"
    assert nearest_target("p\u00e9", ["pe\u0301", "pe"]) == "pe\u0301"


WALK = ("V;NFIN\twalk", "V;PST\twalked", "V;V.PTCP;PST\twalked", "V;PRS;3;SG\twalks", "V;V.PTCP;PRS\twalking")


@pytest.mark.parametrize(
    ("lines", "second"),
    [
        (["ser\tV;1;SG\tsou", "ir\tV;1;SG\tvou", "ver\tV;3\tveem"], "tags"),
        (["ser\tsou\tV;1;SG", "ir\tvou\tV;1;SG", "ver\tveem\tV;3"], "target"),
        (["cão\tPL\tcães", "mão\tPL\tmãos"], "tags"),
        ([f"cão{n}\tpl\tcães{n}" for n in range(20)], "tags"),
        ([f"cao{n}\tcaes{n}\tpl" for n in range(20)], "target"),
        (["CASA\tCASAS\tpl", "ASA\tASAS\tpl"], "target"),  # targets in capitals
        (["I\t1\tN", "II\t2\tN"], "target"),
        ([f"walk\t{form}" for form in WALK], "tags"),  # though they are more varied than the forms
        (["cao\tcaes\tN;PL", "mao\tmaos\tN; PL"], "target"),  # malformed tags are refused, and no other order found
    ],
)
def test_tags_in_the_second_column_are_known(lines, second, tmp_path):
    """As newer data of SIGMORPHON have them: lemma, tags, form."""
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [fields for _, fields in PAIRS.read(str(path))]
    assert len(rows) == len(lines)
    for line, fields in zip(lines, rows):
        assert [fields["source"], fields[second]] == line.split("\t")[:2]
