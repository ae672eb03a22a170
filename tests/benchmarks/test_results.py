"""Medians, ratios and targets, on figures whose answers are plain."""

import pytest

from benchmarks.results import LIMIT, OURS, Spread, Target, Work


def times(**more):
    return Work("decode", "ms", {OURS: [2.0, 3.0, 4.0], "GPT-2": [4.0, 8.0, 10.0], "Llama": [9.0, 9.0, 9.0]}, **more)


def test_a_spread_is_median_least_and_greatest():
    assert Spread.of([5.0, 1.0, 2.0]) == Spread(2.0, 1.0, 5.0)


def test_a_ratio_is_that_of_the_medians_and_its_spread_that_of_the_rounds():
    assert Spread.of_ratio([2.0, 3.0, 4.0], [4.0, 8.0, 10.0]) == Spread(3 / 8, 3 / 8, 1 / 2)
    # A machine that is slow in one round is so for both.
    assert Spread.of_ratio([1.0, 100.0], [2.0, 200.0]) == Spread(0.5, 0.5, 0.5)


def test_a_difference_is_taken_within_rounds():
    assert Spread.of_difference([5.0, 7.0, 6.0], [4.0, 4.0, 4.0]) == Spread(2.0, 1.0, 3.0)


def test_figures_of_unlike_numbers_of_rounds_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        Spread.of_ratio([1.0, 2.0], [1.0])


def test_the_best_peer_is_neither_ours_nor_the_limit():
    figures = {OURS: [1.0], LIMIT: [0.5], "slow": [9.0], "fast": [3.0]}
    assert Work("decode", "ms", figures).best_peer == "fast"
    assert Work("encode", "Mchar/s", figures, more_is_better=True).best_peer == "slow"
    assert Work("decode", "ms", {OURS: [1.0], LIMIT: [0.5]}).best_peer is None


def test_rows_compare_each_contestant_with_the_best_peer_and_the_limit():
    work = Work("decode", "ms", {OURS: [3.0], "GPT-2": [6.0], LIMIT: [1.5]})
    rows = {row["contestant"]: row for row in work.rows()}
    assert {who: row["to_best_peer"]["middle"] for who, row in rows.items()} == {OURS: 0.5, "GPT-2": 1.0, LIMIT: 0.25}
    assert {who: row["to_limit"]["middle"] for who, row in rows.items()} == {OURS: 2.0, "GPT-2": 4.0, LIMIT: 1.0}


def test_what_has_no_peer_or_limit_has_no_ratio_to_it():
    (row,) = Work("decode", "ms", {OURS: [3.0]}).rows()
    assert row["to_best_peer"] is None
    assert row["to_limit"] is None


@pytest.mark.parametrize(
    ("target", "more_is_better", "met"),
    [
        (Target(0.375, "GPT-2"), False, True),
        (Target(0.374, "GPT-2"), False, False),
        (Target(0.374, "GPT-2"), True, True),
        (Target(0.376, "GPT-2"), True, False),
        (Target(-5.0, "GPT-2", kind="difference"), False, True),
        (Target(-5.1, "GPT-2", kind="difference"), False, False),
        (Target(3.0, kind="figure"), False, True),
        (Target(3.1, kind="figure"), True, False),
    ],
)
def test_a_target_is_met_at_its_bound_and_on_the_right_side_of_it(target, more_is_better, met):
    (goal,) = times(targets=[target], more_is_better=more_is_better).goals()
    assert goal["met"] is met
    assert goal["at"] == ("least" if more_is_better else "most")
