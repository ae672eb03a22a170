from collections import Counter
from itertools import product
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.recipes.tasks import hallucination
from atenta.recipes.tasks.hallucination import hallucinate


def pair(source, target, *tags):
    return {"source": source, "target": target, "tags": list(tags)}


VERBS = [
    pair("lamentar", "lamentar", "<V>", "<FUT>"),
    pair("sondar", "sonde", "<V>", "<SBJV>"),
    pair("comunicar", "comunique", "<V>", "<SBJV>"),
    pair("extinguir", "extinguidas", "<V.PTCP>", "<PL>"),
    pair("engasgar", "engasgara", "<V>", "<PRF>"),
    pair("pressentir", "pressinto", "<V>", "<PRS>"),
    pair("alucinar", "alucinámos", "<V>", "<PFV>"),
]


def keep_two(rows, count, seed):
    """Invent rows in which two letters next to a change stay in every pass."""
    with patch.object(hallucination, "_KEPT_LETTERS", (2,)):
        return hallucinate(rows, count, seed)


def stem_of(row, ending, form_ending):
    assert row["source"].endswith(ending)
    assert row["target"].endswith(form_ending)
    stems = {row["source"].removesuffix(ending), row["target"].removesuffix(form_ending)}
    assert len(stems) == 1, "source and target have different stems"
    return stems.pop()


ENDINGS = [st.sampled_from(["ar", "er", "ir"]), st.sampled_from(["o", "asse", "ámos", "aria"])]
STEMS = st.lists(st.sampled_from("abcdeflmnorstu"), min_size=5, max_size=9, unique=True).map("".join)


@settings(max_examples=30)
@given(st.lists(st.tuples(STEMS, *ENDINGS), min_size=1, max_size=12), st.integers(0, 30), st.integers(0, 2**32))
def test_form_is_inflected_as_that_of_a_training_row(triples, count, seed):
    # The signs between stem and ending differ, so all of the ending is a change.
    rows = [pair(f"{stem}#{old}", f"{stem}@{new}", f"<{old}>", f"<{new}>") for stem, old, new in triples]
    invented = keep_two(rows, count, seed)
    assert len(invented) == count
    for row in invented:
        old, new = (tag[1:-1] for tag in row["tags"])
        stem = stem_of(row, f"#{old}", f"@{new}")
        assert any(tags == [old, new] and stem[-2:] == given_stem[-2:] for given_stem, *tags in triples)
        assert set(stem) <= {letter for of_row in rows for letter in of_row["source"]}
    assert not {row["source"] for row in invented} & {row["source"] for row in rows}
    assert len({(row["source"], *row["tags"]) for row in invented}) == count


def test_seed_decides():
    rows = [pair(row["source"], row["target"], *row["tags"]) for row in VERBS]
    invented = hallucinate(rows, 100, seed=1)
    assert invented == hallucinate(VERBS, 100, seed=1)
    assert invented != hallucinate(VERBS, 100, seed=2)
    assert len({len(row["source"]) for row in invented}) >= 5
    invented[0]["tags"].append("<X>")
    assert rows == VERBS  # training rows are unchanged


def test_rows_are_used_equally_often():
    rows = [{**row, "tags": [f"<{number}>"]} for number, row in enumerate(VERBS)]
    uses = Counter(row["tags"][0] for row in hallucinate(rows, 10 * len(rows) + 3, seed=0))
    assert sorted(uses.values()) == [10] * (len(rows) - 3) + [11] * 3


def test_ending_that_changes_in_another_row_is_kept():
    futures = [row for row in keep_two(VERBS, 100, seed=0) if row["tags"] == ["<V>", "<FUT>"]]
    assert futures
    assert all(row["source"] == row["target"] and row["source"].endswith("ntar") for row in futures)


def test_nothing_is_kept_at_a_side_that_never_changes():
    prefixed = [pair(verb, f"u{verb}") for verb in ("lamenta", "sondara", "comunica")]
    invented = keep_two(prefixed, 60, seed=0)
    assert {row["source"][:2] for row in invented} == {"la", "so", "co"}
    assert len({row["source"][-2:] for row in invented}) > 3
    assert all(row["target"] == f"u{row['source']}" for row in invented)


def test_letters_next_to_a_change_are_kept():
    others = [pair("discernir", "discernam", "<V>")]  # i belongs to what changes
    invented = keep_two(VERBS + others, 100, seed=0)
    participles = [row for row in invented if row["tags"][0] == "<V.PTCP>"]
    assert len(participles) > 10
    assert all(stem_of(row, "ir", "idas").endswith("gu") for row in participles)
    assert len({stem_of(row, "ir", "idas")[-3] for row in participles}) > 1


def test_each_number_of_letters_is_kept_in_turn():
    invented = hallucinate([pair("dormitar", "dormitou"), pair("coordenar", "coordenou")], 60, seed=0)
    stems = [stem_of(row, "ar", "ou") for row in invented]
    shares = [sum(stem.endswith(("it"[start:], "en"[start:])) for stem in stems) for start in (0, 1)]
    assert 20 <= shares[0] < shares[1] < 60


def test_change_within_the_stem_is_kept():
    invented = keep_two(VERBS, 100, seed=0)
    present = [row for row in invented if row["tags"] == ["<V>", "<PRS>"]]
    assert present
    assert all(stem_of(row, "entir", "into").endswith("ss") for row in present)


def test_letters_follow_each_other_as_in_lemmas():
    def trigrams(word):
        return {f"  {word} "[start : start + 3] for start in range(len(word) + 1)}

    # A sample of the words of two to four syllables, so that many others are left to be invented.
    words = ["".join(word) for length in (2, 3, 4) for word in product(["la", "bri", "me", "so"], repeat=length)]
    stems = Random(0).sample(words, 60)
    rows = [pair(f"{stem}dar", f"{stem}dou") for stem in stems]
    known = set().union(*(trigrams(row["source"]) for row in rows))
    assert all(trigrams(row["source"]) <= known for row in hallucinate(rows, 40, seed=0))


def test_one_row_is_enough():
    """With the trigrams of one word, there is no other word; single letters are drawn then."""
    invented = hallucinate([pair("dormitar", "dormitou")], 30, seed=0)
    assert len({stem_of(row, "ar", "ou") for row in invented}) == 30


@pytest.mark.parametrize("gap", [" ", "-", " - ", "\u00a0", "’", "1"])
def test_what_is_no_letter_is_kept(gap):
    rows = [pair(f"contra{gap}{verb}ar", f"contra{gap}{verb}ou", "<V>") for verb in ("atac", "sond", "lament")]
    for row in hallucinate(rows, 50, seed=0):
        assert row["source"].count(gap) == row["target"].count(gap) == 1
        words = row["source"].split(gap)
        assert all(word.isalpha() for word in words)
        assert row["target"].split(gap)[0] == words[0]
    assert len({row["source"].split(gap)[0] for row in hallucinate(rows, 50, seed=0)}) > 1


def test_marks_are_letters():
    """Vowels of Devanagari are marks, which do not begin a word."""
    rows = [pair(verb, f"{verb}ने") for verb in ("किताबिका", "बिलातिका", "कबूतिता", "तिकाबूला")]
    invented = hallucinate(rows, 8, seed=0)
    assert len({row["source"] for row in invented}) == 8
    assert all(row["source"][0].isalpha() and row["target"] == f"{row['source']}ने" for row in invented)


def test_rows_without_a_stem_are_not_used_and_too_many_are_refused():
    irregular = [pair("ser", "fui", "<IRREGULAR>"), pair("ir", "vai", "<IRREGULAR>")]
    assert not any("<IRREGULAR>" in row["tags"] for row in hallucinate([*VERBS, *irregular], 100, seed=0))
    for rows in ([], [pair("ser", "fui")], [pair("a - b", "a - b")]):
        with pytest.raises(ValueError, match=rf"None of the {len(rows)} training pairs"):
            hallucinate(rows, 1, seed=0)
    # Of aaba, the last two letters stay, and the others are a or b; aaba itself is known.
    rows = [pair("aaba", "aabax")]
    assert {row["source"] for row in keep_two(rows, 3, seed=0)} == {"abba", "baba", "bbba"}
    with pytest.raises(ValueError, match="Found 3 of 4 rows to invent from 1 training pairs with a stem; expected"):
        keep_two(rows, 4, seed=0)
