"""Words whose letters become units: alignment, rare units, marks of tags, encoding, what is saved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atenta import AtentaEncoderConfig, AtentaTokenizer
from atenta.engines.kinds import kind_of
from atenta.recipes.tasks.letters import (
    Alignment,
    LetterTask,
    absent_units,
    choose_marks,
    count_unit,
    encode_letters,
    join_units,
)
from atenta.restoration.character_codes import CharacterCodes

UNITS = {"a": ("x",), "b": ("y", "t͡ʃ"), "c": (), "d": ("z",)}  # what the letters of random words become
WORDS = st.lists(st.text("".join(UNITS), min_size=1, max_size=8).filter(lambda word: {*word} != {"c"}), min_size=1)
ROWS = [("casa", "k a z a"), ("cada", "k a d a"), ("saca", "s a k a"), ("asa", "a z a"), ("as", "a s")]


def pair(source, target, *tags):
    return {"source": source, "target": target, "tags": [f"<{tag}>" for tag in tags]}


def make_task(**options):
    return LetterTask(**{"target_separator": " ", "tag_characters": {"br": "1", "x": "2"}, **options})


@given(WORDS, st.integers(1, 3))
@pytest.mark.parametrize("separator", [" ", None])
def test_what_letters_become_joins_to_the_target(separator, words, min_count):
    units_of = UNITS if separator else {letter: tuple("".join(units)) for letter, units in UNITS.items()}
    rows = [
        pair(word, (separator or "").join(unit for letter in word for unit in units_of[letter]), "br")
        for word in words
    ]
    alignment = Alignment(rows, separator, min_count)
    variants = alignment.variants()
    task = make_task(target_separator=separator)
    for (row, parts), made in zip(alignment.aligned, task.with_pieces(alignment.aligned), strict=True):
        assert len(parts) == len(row["source"])
        assert made["text"] == "1" + row["source"]
        assert (made["pieces"][0], "".join(made["pieces"])) == ("", row["target"] + (separator or ""))
        assert all(piece in variants[letter] for letter, piece in zip(row["source"], made["pieces"][1:], strict=True))
    rows = [row for row, _ in alignment.aligned]
    assert [row for row, _ in alignment.align(rows)] == rows
    if min_count == 1:
        assert [row for row, _ in alignment.aligned] == rows


@given(WORDS)
def test_without_rare_ways_every_way_that_is_learnt_is_frequent(words):
    """What a letter becomes once in all words is neither learned nor made."""
    rows = [pair(letter, " ".join(units)) for letter, units in UNITS.items() if units] * 2
    rows += [pair(word, " ".join(unit for letter in word for unit in UNITS[letter])) for word in words]
    alignment = Alignment([*rows, pair("a", "q")], " ", 2)
    assert "q " not in alignment.variants()["a"]
    assert pair("a", "q") not in [row for row, _ in alignment.aligned]
    assert alignment.align([pair("aba", "x q x")]) == []


def test_letters_are_aligned_with_their_phones():
    alignment = Alignment([pair(*row) for row in ROWS], " ", 1)
    parts = {row["source"]: found for row, found in alignment.aligned}
    assert parts == {word: [(unit,) for unit in phones.split()] for word, phones in ROWS}
    assert alignment.divide(pair("sas", "z a s")) == [("z",), ("a",), ("s",)]
    assert alignment.divide(pair("sas", "ʒ a s")) == []
    assert make_task().row_format.check({"source": "e\u0301", "target": "ɛ"})["source"] == "\xe9"  # counted in NFC


@given(st.lists(st.text("aeis", min_size=1, max_size=9), min_size=1))
def test_of_two_equal_letters_the_second_always_becomes_their_one_phone(words):
    """With sums of logarithms compared exactly, rounding would decide, and half of the words would be labelled so."""
    rows = [pair(word, " ".join(word.replace("ss", "s"))) for word in [*words, "assa", "sessa"]]
    for row, parts in Alignment(rows, " ", 1).aligned:
        for start in [start for start in range(len(parts) - 1) if row["source"][start : start + 2] == "ss"]:
            if "sss" not in row["source"]:
                assert parts[start : start + 2] == [(), ("s",)]


def test_variants_are_sorted_pieces_with_a_separator_after_each_unit():
    alignment = Alignment([pair("ba", "y z x"), *[pair("a", "x"), pair("b", "y z")] * 3], " ", 1)
    assert alignment.variants() == {"a": ["x "], "b": ["y z "]}
    assert join_units(("t͡ʃ", "i"), None) == "t͡ʃi"
    assert join_units((), " ") == ""


@given(st.sets(st.sampled_from([f"<t{number}>" for number in range(30)])), st.text(max_size=40))
def test_marks_are_characters_of_no_word(tags, letters):
    marks = choose_marks([*tags], letters)
    assert marks.keys() == {tag[1:-1] for tag in tags}
    assert len({*marks.values()}) == len(marks)
    assert not {*marks.values()} & {*letters}
    assert all(len(mark) == 1 and mark.isalnum() for mark in marks.values())
    for texts, expected in (("abc", {"br": "1", "pt": "2"}), ("a1b3", {"br": "2", "pt": "4"})):  # digits, if there are
        assert choose_marks(["<pt>", "<br>"], texts) == expected


def test_a_unit_is_counted_by_the_tags_under_which_its_count_never_varies():
    rows = [pair("a", "ˈ a", "br"), pair("b", "ˈ b a", "br"), pair("a", "a", "pt"), pair("a", "a", "x", "pt")]
    assert count_unit(rows, "ˈ", " ") == {"br": 1, "pt": 0, "x;pt": 0}
    assert count_unit([*rows, pair("de", "d e", "br")], "ˈ", " ") == {"pt": 0, "x;pt": 0}
    assert count_unit([pair("aa", "ˈa ˈa"), pair("b", "b")], "ˈ", None) == {}


def test_units_are_absent_under_tags_where_they_would_occur_ten_times():
    rows = [pair("ab", "x y", "br")] * 10 + [pair("ac", "x z", "pt")] * 10
    assert absent_units(rows, " ") == {}  # each would occur five times
    assert absent_units(rows * 2, " ") == {"br": ["z"], "pt": ["y"]}
    assert absent_units([*(rows * 3), pair("b", "y", "pt"), pair("d", "w", "x", "br")], " ") == {"br": ["z"]}


def test_words_are_encoded_with_a_label_for_each_letter_that_has_a_choice():
    labels, variants = ["", "k ", "z ", "a ", "ˈ a "], {"1": [""], "c": ["k "], "s": ["z ", "k "], "a": ["a ", "ˈ a "]}
    tokenizer = AtentaTokenizer.from_alphabet(family="encoder")
    config = AtentaEncoderConfig(
        id2label=dict(enumerate(labels)), character_variants=variants, window_length=8, vocab_size=len(tokenizer)
    )
    codes = CharacterCodes(tokenizer, config, None)
    batch = {
        "text": ["1casa", "1caca-"],
        "pieces": [["", "k ", "ˈ a ", "z ", "a "], ["", "k ", "a ", "z ", "k ", "a "]],
    }
    encoded = encode_letters(batch, codes, (tokenizer.bos_token_id, tokenizer.eos_token_id))
    assert encoded["labels"] == [
        [-100, 0, 1, 4, 2, 3, -100],
        [-100, 0, 1, 3, -100, -100, -100, -100],  # c becomes no z, a no k, and the hyphen nothing at all
    ]
    assert encoded["input_ids"][0] == tokenizer("<bos>1casa<eos>", add_special_tokens=False)["input_ids"]
    assert encoded["token_type_ids"] == [[0] * 7, [0] * 8]


def test_a_saved_model_says_that_it_writes_units():
    task = make_task(unique_unit="ˈ", unique_unit_counts={"br": 1})
    saved = {
        "architectures": ["AtentaEncoderForTokenClassification"],
        "character_variants": {"a": ["a "]},
        "task_specific_params": task.task_specific_params,
    }
    assert kind_of(saved).name == LetterTask.kind
    assert LetterTask(saved).mark(pair("casa", "", "x", "br")) == "21casa"
    # Earlier versions saved no name of a kind.
    assert kind_of({**saved, "task_specific_params": {"character-restoration": task.options}}).name == LetterTask.kind
    options = {name: value for name, value in task.options.items() if name != "tag_characters"}
    restored = {**saved, "task_specific_params": {"character-restoration": options}}
    assert kind_of(restored).name == "character-restoration"


def test_letters_in_context_are_a_baseline_of_aligned_pairs():
    train = [pair(*row) for row in ROWS]
    task = make_task()
    assert "letters in context" not in task.baselines(train)
    baselines = task.baselines(train, aligned=Alignment(train, " ", 1).aligned)
    assert baselines["letters in context"](train[:2]) == [row["target"] for row in train[:2]]
